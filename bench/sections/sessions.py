"""Sessions inside the engine: their memory, how long they take to fall asleep and to wake, and latency beside many of them."""

import json
import os
import subprocess
from pathlib import Path

from harness.figures import decimal
from harness.report import Section


def measure(contestants, options):
    program = Path(options.brumate).resolve().parent / "examples" / "sessions"
    environment = {**os.environ, "BRUMATE_CACHE_DIR": contestants.brumate.cache}
    command = [program, str(options.live)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    figures = [json.loads(line) for line in done.stdout.splitlines()]

    def of(what):
        return [figure for figure in figures if figure["what"] == what]

    result = Section("Sessions")
    rows = [[figure["image"], megabytes(figure["bytes"])] for figure in of("memory")]
    result.table(["image", "memory of an idle session, MB"], rows)
    size = megabytes(of("size")[0]["bytes"])
    names = ("hibernate", "wake and next cell")
    rows = [[name, *milliseconds(of(name)[0]), size] for name in names]
    result.table(["with a DataFrame of 1 MB", "p50, ms", "p99, ms", "file, MB"], rows)
    what = ("new session", "cell after a pause", "later cell")
    steps = zip(*map(of, what), strict=True)
    rows = [[step[0]["live"], *(time for figure in step for time in milliseconds(figure))] for step in steps]
    header = ["live sessions", "new session and first cell: p50, ms", "p99, ms"]
    header += ["cell after 2.5 s: p50, ms", "p99, ms", "cell right after that: p50, ms", "p99, ms"]
    result.table(header, rows)
    result.notes.append(
        "Memory of an idle session: what each of a hundred adds to the dirty pages and page tables of all processes, machine, "
        "checkpoint and zygote. Cells are of "
        "the image `data` and run one at a time with 10 ms between them."
    )
    result.raw["microseconds_and_bytes"] = figures
    return result


def megabytes(count):
    return f"{count / 1e6:.2f}"


def milliseconds(figure):
    return [decimal(figure[name] / 1000) for name in ("p50", "p99")]
