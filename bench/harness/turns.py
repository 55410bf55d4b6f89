"""Commands that do the same work, measured in turns."""

import math

from harness.processes import Failed


def in_turns(commands, figures, rounds, tolerance):
    """Runs the commands once each to compile, then `rounds` times in turns.

    `figures` runs one and gives (seconds, a number of the result) by work. Returns the seconds by command and work.
    `Failed` if the results of a round differ by more than the relative `tolerance`.
    """
    samples = {side: {} for side in commands}
    for command in commands.values():
        figures(command)
    for _ in range(rounds):
        checks = {}
        for side, command in commands.items():
            for work, (seconds, check) in figures(command).items():
                samples[side].setdefault(work, []).append(seconds)
                if not math.isclose(checks.setdefault(work, check), check, rel_tol=tolerance):
                    raise Failed(f"{work}: {check} instead of {checks[work]}")
    return samples
