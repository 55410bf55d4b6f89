"""Fresh machines inside the engine: from the request to the result of `1+1`, with and without machines kept ready.

Beside it: a whole Pyodide in Node that loads the same and computes the same.
"""

import json
import os
import subprocess
from pathlib import Path

from harness.contestants import BENCH
from harness.figures import Summary, decimal
from harness.processes import run_once
from harness.report import Section

# Image, script of the contestant, first line it prints, what Node has to unpack.
IMAGES = [
    ("plain", "first_result", "2", "plain"),
    ("data", "figure", "figure", "all"),
]


def fresh_kernels(options):
    """Seconds from the start of a kernel to its first result; empty without one."""
    if options.kernel is None:
        return []
    command = [options.kernel, BENCH / "inside" / "kernel.py", str(options.rounds)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)


def measure(contestants, options):
    program = Path(options.brumate).resolve().parent / "examples" / "latency"
    result = Section("Fresh machines")
    environment = {**os.environ, "BRUMATE_CACHE_DIR": contestants.brumate.cache}
    done = subprocess.run(
        [program, str(options.machines)], env=environment, stdout=subprocess.PIPE, check=True, text=True
    )
    ours = [json.loads(line) for line in done.stdout.splitlines()]
    rows = []
    for image, script, line, which in IMAGES:
        command = contestants.pyodide.execute(BENCH / "inside" / f"{script}.py", which)
        theirs = [run_once(command, line).first for _ in range(options.rounds)]
        result.raw[f"{image}_pyodide_seconds"] = theirs
        median = Summary.of(theirs).median
        for entry in ours:
            if entry["image"] != image or "ready" not in entry:
                continue
            p50, p99 = (entry[name] / 1000 for name in ("p50", "p99"))
            ratio = decimal(1000 * median / p50)
            rows.append([image, entry["ready"], decimal(p50), decimal(p99), decimal(1000 * median), ratio])
    kernels = fresh_kernels(options)
    result.raw["ipykernel_seconds"] = kernels
    header = ["image", "kept ready", "p50, ms", "p99, ms", "Pyodide in Node, ms", "Pyodide ÷ p50"]
    result.table(header, rows)
    result.notes.append(
        f"{options.machines} machines each, one at a time with 5 ms between them; `data` has numpy, pandas and matplotlib imported "
        f"and a figure drawn. Pyodide: median of {options.rounds} processes that start, import and draw the same."
    )
    result.raw["brumate_microseconds"] = ours
    if kernels:
        kernel = Summary.of(kernels)
        plain = [entry for entry in ours if entry["image"] == "plain" and "ready" in entry]
        rows = [[entry["ready"], kernel.milliseconds(), decimal(1e6 * kernel.median / entry["p50"])] for entry in plain]
        result.table(["`plain`, kept ready", "fresh ipykernel, ms", "ipykernel ÷ p50"], rows)
    cells = [entry for entry in ours if "what" in entry]
    rows = [[entry["what"], decimal(entry["p50"] / 1000), decimal(entry["p99"] / 1000)] for entry in cells]
    result.table(["`notebook`, a session's", "p50, ms", "p99, ms"], rows)
    return result
