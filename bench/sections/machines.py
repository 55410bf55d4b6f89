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


def measure(contestants, options):
    program = Path(options.brumate).resolve().parent / "examples" / "latency"
    result = Section("Fresh machines")
    environment = {**os.environ, "BRUMATE_CACHE_DIR": contestants.brumate.cache}
    done = subprocess.run([program, str(options.machines)], env=environment, stdout=subprocess.PIPE, check=True, text=True)
    ours = [json.loads(line) for line in done.stdout.splitlines()]
    rows = []
    for image, script, line, which in IMAGES:
        command = contestants.pyodide.execute(BENCH / "inside" / f"{script}.py", which)
        theirs = [run_once(command, line).first for _ in range(options.rounds)]
        result.raw[f"{image}_pyodide_seconds"] = theirs
        median = Summary.of(theirs).median
        for entry in ours:
            if entry["image"] != image:
                continue
            p50, p99 = (entry[name] / 1000 for name in ("p50", "p99"))
            ratio = decimal(1000 * median / p50)
            rows.append([image, entry["ready"], decimal(p50), decimal(p99), decimal(1000 * median), ratio])
    header = ["image", "kept ready", "p50, ms", "p99, ms", "Pyodide in Node, ms", "Pyodide ÷ p50"]
    result.table(header, rows)
    result.notes.append(
        f"{options.machines} machines each, one at a time with 5 ms between them; `data` has numpy, pandas and matplotlib imported "
        f"and a figure drawn. Pyodide: median of {options.rounds} processes that start, import and draw the same."
    )
    result.raw["brumate_microseconds"] = ours
    return result
