"""Resolving requirements without a cache, on the index that pip and uv are set to, beside uv; and what a set costs that is cached."""

import json
import os
import subprocess
import time
from pathlib import Path

from harness.figures import Summary, decimal, geometric_mean, paired_ratio
from harness.mcp import Client
from harness.processes import Failed
from harness.report import Section

# Requirements of pure packages: uv does not know the sandbox's tags for native ones, and would choose others.
SETS = ["rich<13", "requests", "boto3", "httpx trio", "pytest tox", "sympy networkx plotly"]
# As a machine that is like the sandbox.
TARGET = ["--python-version", "3.14.2", "--python-platform", "wasm32-pyodide2025", "--only-binary", ":all:"]


# Twenty wheels besides the bundle's.
WARM = ["boto3", "httpx", "requests", "trio", "tqdm"]
COUNT = """
import importlib.metadata
len([found for found in importlib.metadata.distributions() if str(found.locate_file('')).rstrip('/').endswith('/packages')])
"""
# Calls of a round; the first ones fetch, and make bytecode.
CALLS, WARM_UP = 10, 10


def script(requirements, code):
    """Code with inline metadata (PEP 723)."""
    return f"# /// script\n# dependencies = {json.dumps(requirements)}\n# ///\n{code}"


def warm(contestants, options):
    """Seconds that a cached set adds to a call: finding, opening and mounting it."""
    with_set, without = [], []
    with Client(contestants.brumate.stdio()) as server:
        server.request("tools/call", {"name": "run_python_code", "arguments": {"python_code": script(WARM, COUNT)}})
        wheels = server.answer()["result"]["structuredContent"]["return_value"]
        for _ in range(WARM_UP):
            server.call(script(WARM, "1+1"), "\n2\n")
        for _ in range(options.rounds):
            with_set += [server.call(script(WARM, "1+1"), "\n2\n") for _ in range(CALLS)]
            without += [server.call(script([], "1+1"), "\n2\n") for _ in range(CALLS)]
    return wheels, with_set, without


def resolved(command, requirements, text=None):
    """Seconds of a process, and the versions that it chose."""
    environment = {name: value for name, value in os.environ.items() if name != "PIP_FIND_LINKS"}
    start = time.perf_counter()
    done = subprocess.run([*command], input=text, capture_output=True, text=True, env=environment)
    seconds = time.perf_counter() - start
    if done.returncode != 0:
        raise Failed(f"{command[0]}, {requirements}: {done.stderr}")
    lines = (line.partition("#")[0].strip() for line in done.stdout.splitlines())
    return seconds, sorted(line for line in lines if "==" in line)


def measure(contestants, options):
    if options.uv is None:
        raise Failed("--uv is missing: a Python with uv beside it")
    ours = [str(Path(contestants.brumate.binary).parent / "examples" / "resolve")]
    uv = [
        str(Path(options.uv).with_name("uv")),
        "pip",
        "compile",
        "-",
        "--no-config",
        "--no-cache",
        "--quiet",
        "--no-annotate",
    ]
    uv += ["--no-header", "--python", options.uv, *TARGET]
    rows, ratios, raw = [], [], {}
    for requirements in SETS:
        sample = {"brumate": [], "uv": []}
        for _ in range(options.rounds):
            own, found = resolved([*ours, *requirements.split()], requirements)
            theirs, judged = resolved(uv, requirements, requirements.replace(" ", "\n"))
            if found != judged:
                raise Failed(f"{requirements}: {found}, but uv says {judged}")
            sample["brumate"].append(own)
            sample["uv"].append(theirs)
        ratios.append(paired_ratio(sample["brumate"], sample["uv"]))
        own, theirs = (Summary.of(sample[name]).milliseconds() for name in ("brumate", "uv"))
        rows.append([requirements, len(found), own, theirs, decimal(ratios[-1])])
        raw[requirements] = sample
    result = Section("Resolving without a cache")
    result.table(["requirements", "packages", "Brumate, ms", "uv, ms", "Brumate ÷ uv"], rows)
    result.notes.append(
        f"A process each, with nothing on disk; the network's time is in both, and uv's includes asking its Python what it is. Median "
        f"and quartiles; geometric mean of the ratios {decimal(geometric_mean(ratios))}. Both choose the same versions."
    )
    wheels, with_set, without = warm(contestants, options)
    more = Summary.of(with_set).median - Summary.of(without).median
    result.table(
        ["stateless `1+1`", "round trip, ms"],
        [
            ["without packages", Summary.of(without).milliseconds()],
            [f"with {wheels} cached wheels", Summary.of(with_set).milliseconds()],
        ],
    )
    result.notes.append(f"Resolving and mounting the cached set adds {decimal(1000 * more)} ms; aim: 5.")
    result.raw = {**raw, "with_set_seconds": with_set, "without_seconds": without}
    return result
