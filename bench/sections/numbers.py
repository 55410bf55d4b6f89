"""The bundle's numpy and pandas beside earlier ones, whose default integer has 32 bits, and beside native CPython."""

import os
import tempfile

from harness.contestants import BENCH, WHEELS, Native
from harness.figures import Summary, decimal, geometric_mean, paired_ratio
from harness.processes import run_once
from harness.report import Section
from harness.turns import in_turns
from harness.wheels import as_package

SCRIPT = BENCH / "inside" / "number_widths.py"
PROJECTS = ("numpy", "pandas")
# The order of a sum differs with the width of vectors.
TOLERANCE = 1e-4


def figures(command):
    """Seconds and a number to compare, by kind of numbers and name."""
    lines = (line.split("\t") for line in run_once(command, "numbers").rest)
    return {(kind, name): (float(seconds), float(check)) for kind, name, seconds, check in lines}


def wheels_of(directory):
    return [next(directory.glob(f"{project}-*.whl")) for project in PROJECTS]


def measure(contestants, options):
    result = Section("The same numbers")
    if not options.earlier_wheels or not options.science_python:
        result.notes.append(
            "Not measured: it wants `--earlier-wheels`, a directory with numpy and pandas of before, and `--science-python`."
        )
        return result
    os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    native = Native(options.science_python)
    with tempfile.TemporaryDirectory() as directory:
        as_package("earlier_numbers", wheels_of(options.earlier_wheels), directory)
        as_package("bundled_numbers", wheels_of(WHEELS), directory)

        def sandbox(name, integers):
            depend = ["--offline", "--find-links", directory, "--deps", name]
            return contestants.brumate.command("exec", *depend, str(SCRIPT), name, integers)

        commands = {
            "before": sandbox("earlier_numbers", "int32"),
            "now": sandbox("bundled_numbers", "int64"),
            "native 32": [*native.execute(SCRIPT), "-", "int32"],
            "native": [*native.execute(SCRIPT), "-", "int64"],
        }
        samples = in_turns(commands, figures, options.rounds, TOLERANCE)
    tables(result, samples)
    result.notes.append(
        f"10⁶ elements; the best of twelve in a process, median and spread of {options.rounds} processes in turns. Before, integers have 32 bits, "
        "and are compared with native ones of 32; now they have 64."
    )
    result.raw = {
        side: {" ".join(work): seconds for work, seconds in sample.items()} for side, sample in samples.items()
    }
    return result


def tables(result, samples):
    for kind in ("floats", "integers"):
        rows, ratios = [], []
        for work, now in samples["now"].items():
            if work[0] != kind:
                continue
            before = samples["before"][work]
            then = samples["native 32" if kind == "integers" else "native"][work]
            ratios.append(paired_ratio(now, before))
            rows.append(
                [
                    work[1],
                    *(Summary.of(sample[work]).milliseconds() for sample in samples.values()),
                    decimal(ratios[-1]),
                    decimal(paired_ratio(before, then)),
                    decimal(paired_ratio(now, samples["native"][work])),
                ]
            )
        heads = [
            kind,
            *(f"{side}, ms" for side in samples),
            "now ÷ before",
            "before ÷ native of its width",
            "now ÷ native",
        ]
        result.table(heads, rows)
        result.notes.append(f"Geometric mean of now ÷ before, {kind}: {decimal(geometric_mean(ratios))}.")
