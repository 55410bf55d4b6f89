"""The first run on a machine: everything in the bundle is translated and compiled, with an empty cache."""

import resource
import shutil
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from harness.figures import decimal
from harness.memory import megabytes
from harness.processes import Failed, Watch
from harness.report import Section


def measure(contestants, options):
    rows, raw = [], []
    for _ in range(options.compiles):
        cache = tempfile.mkdtemp(prefix="cache-", dir=options.out)
        try:
            figures = warm_up(replace(contestants.brumate, cache=cache))
            figures["bytes"], figures["files"] = size_of(cache)
        finally:
            shutil.rmtree(cache)
        rows.append(
            [
                "`brumate warmup`",
                decimal(figures["seconds"]),
                decimal(figures["cpu"]),
                megabytes(figures["largest"]),
                megabytes(figures["sum"]),
                f"{figures['files']} files, {megabytes(figures['bytes'])} MB",
            ]
        )
        raw.append(figures)
    result = Section("First compile")
    header = ["empty cache", "seconds", "CPU seconds", "largest process, MB", "all processes, MB", "cache"]
    result.table(header, rows)
    result.notes.append("The largest process by its own peak; all processes by samples of their resident sizes.")
    result.raw = {"runs": raw}
    return result


def warm_up(brumate):
    start, before = time.perf_counter(), children_cpu()
    with subprocess.Popen(brumate.command("warmup"), stdout=subprocess.DEVNULL) as process:
        watch = Watch(process.pid)
        status = process.wait()
    seconds = time.perf_counter() - start
    figures = watch.stop()
    if status != 0:
        raise Failed(f"warmup ended with status {status}")
    return {"seconds": seconds, "cpu": children_cpu() - before, **figures}


def children_cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def size_of(directory):
    sizes = [path.stat().st_size for path in Path(directory).rglob("*") if path.is_file()]
    return sum(sizes), len(sizes)
