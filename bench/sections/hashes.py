"""Digests in the sandbox, which the host computes, beside native CPython and its OpenSSL."""

from harness.contestants import BENCH
from harness.figures import Summary, decimal, geometric_mean, paired_ratio
from harness.processes import run_once
from harness.report import Section
from harness.turns import in_turns

SCRIPT = BENCH / "inside" / "hashes.py"


def figures(command):
    """Seconds and a number made of the digest, by name."""
    lines = (line.split("\t") for line in run_once(command, "hashes").rest)
    return {name: (float(seconds), float(check)) for name, seconds, check in lines}


def measure(contestants, options):
    commands = {side.name: side.execute(SCRIPT) for side in (contestants.brumate, contestants.native)}
    samples = in_turns(commands, figures, options.rounds, 0.0)
    ours, native = samples.values()
    rows, ratios = [], []
    for name, sample in ours.items():
        ratios.append(paired_ratio(sample, native[name]))
        times = (Summary.of(side[name]).milliseconds() for side in samples.values())
        rows.append([name, *times, decimal(ratios[-1])])
    result = Section("Digests")
    result.table(["work", *(f"{side}, ms" for side in samples), "Brumate ÷ native"], rows)
    result.notes.append(
        f"The best of five in a process, median and spread of {options.rounds} processes in turns; geometric mean of the ratios "
        f"{decimal(geometric_mean(ratios))}. Below 1 Brumate is faster."
    )
    result.raw = samples
    return result
