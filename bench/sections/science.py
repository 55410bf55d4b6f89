"""Linear algebra beside Pyodide and native CPython; a script with scikit-learn, imports included, beside native CPython."""

import os
import subprocess
import time

from harness.contestants import BENCH, Native
from harness.figures import Summary, decimal, paired_ratio
from harness.processes import Failed, run_once
from harness.report import Section

DEPENDENCIES = ["--offline", "--deps", "scikit-learn"]


def figures(command):
    """Seconds by name, as a run of `numerics.py` prints them."""
    lines = (line.split("\t") for line in run_once(command, "numerics").rest)
    return {name: float(seconds) for name, seconds in lines}


def numerics(result, contestants, native, options):
    path = BENCH / "inside" / "numerics.py"
    sides = [contestants.brumate, contestants.pyodide, *native]
    samples = [{} for _ in sides]
    for _ in range(options.rounds):
        for side, sample in zip(sides, samples, strict=True):
            for name, seconds in figures(side.execute(path, "all")).items():
                sample.setdefault(name, []).append(seconds)
    rows = []
    for name, ours in samples[0].items():
        times = [Summary.of(sample[name]).milliseconds() for sample in samples]
        rows.append([name, *times, *(decimal(paired_ratio(sample[name], ours)) for sample in samples[1:])])
    result.table(
        ["numpy, pandas", *(f"{side.name}, ms" for side in sides), *(f"{side.name} ÷ Brumate" for side in sides[1:])],
        rows,
    )
    result.notes.append(
        f"The best of seven in a process, median and spread of {options.rounds} processes in turns; one thread each. Brumate and Pyodide "
        "have the same wheels."
    )
    return {side.name: sample for side, sample in zip(sides, samples, strict=True)}


def whole(command):
    """Seconds of a run, and what it printed."""
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if done.returncode != 0:
        raise Failed(f"{command}: {done.stderr}")
    return seconds, done.stdout


def script(result, contestants, native, options):
    path = BENCH / "inside" / "machine_learning.py"
    subprocess.run(contestants.brumate.command("warmup", *DEPENDENCIES), check=True, stdout=subprocess.DEVNULL)
    commands = {contestants.brumate.name: contestants.brumate.command("exec", *DEPENDENCIES, str(path))}
    commands |= {side.name: side.execute(path) for side in native}
    seconds, printed = {name: [] for name in commands}, {}
    for _ in range(options.rounds):
        for name, command in commands.items():
            one, printed[name] = whole(command)
            seconds[name].append(one)
    if len(set(printed.values())) != 1:
        raise Failed(f"the script does not print the same everywhere: {printed}")
    ours = seconds[contestants.brumate.name]
    rows = [
        [name, Summary.of(sample).milliseconds(), decimal(paired_ratio(ours, sample))]
        for name, sample in seconds.items()
    ]
    result.table(["machine_learning.py", "process, ms", "Brumate ÷ it"], rows)
    result.notes.append(
        "Load, split, cross-validate and fit two models, plot, report; imports included, each run a process of its own. Brumate forks it "
        "from the image that `brumate warmup --deps scikit-learn` has built. All print the same."
    )
    return seconds


def measure(contestants, options):
    # Native libraries would take all processors.
    os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    native = [Native(options.science_python)] if options.science_python else []
    result = Section("Science")
    result.raw = {
        "numerics": numerics(result, contestants, native, options),
        "script": script(result, contestants, native, options),
    }
    if not native:
        result.notes.append("Without `--science-python`, a Python with the same packages, native CPython is left out.")
    return result
