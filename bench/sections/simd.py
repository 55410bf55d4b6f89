"""The bundle's numpy and OpenBLAS beside the same without WebAssembly's SIMD, in the sandbox."""

import tempfile

from harness.contestants import BENCH, WHEELS
from harness.figures import Summary, decimal, geometric_mean, paired_ratio
from harness.processes import run_once
from harness.report import Section
from harness.turns import in_turns
from harness.wheels import as_package, without_kernels

SCRIPT = BENCH / "inside" / "simd.py"
# The order of a sum differs with the width of vectors.
TOLERANCE = 1e-4


def figures(command):
    """Seconds and a number to compare, by name."""
    lines = (line.split("\t") for line in run_once(command, "simd").rest)
    return {name: (float(seconds), float(check)) for name, seconds, check in lines}


def measure(contestants, options):
    result = Section("With and without SIMD")
    if not options.plain_numpy:
        result.notes.append(
            "Not measured: it wants `--plain-numpy`, the wheel that `runtime/recipes/build-plain.sh` makes."
        )
        return result
    bundled = next(WHEELS.glob("numpy-*.whl"))
    sides = {
        "SIMD": ("numpy_simd", bundled, False),
        "no SIMD": ("numpy_no_simd", options.plain_numpy, False),
        "SIMD, kernels of the host": ("numpy_host", bundled, True),
    }
    with tempfile.TemporaryDirectory() as directory:
        commands = {}
        for side, (name, wheel, kernels) in sides.items():
            as_package(name, [wheel], directory, None if kernels else without_kernels)
            depend = ["--offline", "--find-links", directory, "--deps", name]
            commands[side] = contestants.brumate.command("exec", *depend, str(SCRIPT), name)
        samples = in_turns(commands, figures, options.rounds, TOLERANCE)
    with_simd, without, kernels = samples.values()
    rows = []
    for name, ours in with_simd.items():
        times = [Summary.of(sample[name]).milliseconds() for sample in samples.values()]
        rows.append([name, *times, decimal(paired_ratio(without[name], ours))])
    result.table(["numpy", *(f"{side}, ms" for side in samples), "no SIMD ÷ SIMD"], rows)
    mean = geometric_mean([paired_ratio(without[name], ours) for name, ours in with_simd.items()])
    result.notes.append(
        f"The best of nine in a process, median and spread of {options.rounds} processes in turns; geometric mean of the ratios {decimal(mean)}. "
        "The first two have OpenBLAS's own kernels: the names of the host's are replaced in the library. The third is the bundle's wheel as it is."
    )
    result.raw = samples
    return result
