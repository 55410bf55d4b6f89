"""Named pieces of work that a script does in the sandbox and in native CPython."""

from harness.contestants import BENCH
from harness.figures import Summary, decimal, geometric_mean, paired_ratio
from harness.processes import run_once
from harness.report import Section
from harness.turns import in_turns


def measure(title, contestants, options):
    """A section about `inside/TITLE.py`, which prints its name, and then for each work its name, the seconds and a number that both sides
    have to agree on."""
    name = title.lower()
    script = BENCH / "inside" / f"{name}.py"

    def figures(command):
        lines = (line.split("\t") for line in run_once(command, name).rest)
        return {work: (float(seconds), float(check)) for work, seconds, check in lines}

    commands = {side.name: side.execute(script) for side in (contestants.brumate, contestants.native)}
    samples = in_turns(commands, figures, options.rounds, 0.0)
    ours, native = samples.values()
    rows, ratios = [], []
    for work, sample in ours.items():
        ratios.append(paired_ratio(sample, native[work]))
        times = (Summary.of(side[work]).milliseconds() for side in samples.values())
        rows.append([work, *times, decimal(ratios[-1])])
    result = Section(title)
    result.table(["work", *(f"{side}, ms" for side in samples), "Brumate ÷ native"], rows)
    result.notes.append(
        f"The best of five in a process, median and spread of {options.rounds} processes in turns; geometric mean of the ratios "
        f"{decimal(geometric_mean(ratios))}. Below 1 Brumate is faster."
    )
    result.raw = samples
    return result
