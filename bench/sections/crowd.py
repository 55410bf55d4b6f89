"""A crowd of clients that read nothing, over HTTP: what it costs the server, and another principal's calls meanwhile.

The crowd is the test case `unread` of `tests/python/unread_cases.py`, which also asserts that memory is bounded and given back.
"""

import json
import os
import subprocess

from harness.contestants import BENCH
from harness.figures import Summary, decimal
from harness.processes import PATIENCE, Failed
from harness.report import Section

# A round takes half a minute.
MOST_ROUNDS = 3
CASES = BENCH.parent / "tests" / "python"


def crowd(contestants, options):
    """What the case has seen: clients, growth in MiB while they are there and after, ratio of the medians."""
    brumate = contestants.brumate
    command = [options.mcp2, "mcp_client.py", "--sdk", "2", "--transport", "http", "--cases", "unread_cases"]
    command += ["--brumate", brumate.binary, "--cache-dir", brumate.cache, "unread"]
    environment = {name: value for name, value in os.environ.items() if name != "BRUMATE_TEST_LONG"}
    if options.full_crowd:
        environment["BRUMATE_TEST_LONG"] = "1"
    ran = subprocess.run(command, cwd=CASES, env=environment, capture_output=True, text=True, timeout=2 * PATIENCE)
    told = [line for line in ran.stdout.splitlines() if line.startswith("unread ")]
    if ran.returncode != 0 or len(told) != 1:
        raise Failed(f"the case `unread`: status {ran.returncode}\n{ran.stdout[-1000:]}{ran.stderr[-3000:]}")
    return json.loads(told[0].partition(" ")[2])


def measure(contestants, options):
    if options.mcp2 is None:
        raise Failed("--mcp2 is missing: a Python with mcp 2.x")
    rounds = 1 if options.full_crowd else min(options.rounds, MOST_ROUNDS)
    seen = [crowd(contestants, options) for _ in range(rounds)]
    ratio, grown, after = (Summary.of([each[name] for each in seen]) for name in ("ratio", "grown", "after"))
    result = Section("A crowd that reads nothing")
    result.table(
        [
            "clients",
            "rounds",
            "another principal's p50 ÷ undisturbed",
            "server grows by, MiB",
            "after they are gone, MiB",
        ],
        [[seen[0]["clients"], rounds, decimal(ratio.median), f"{grown.median:.0f}", f"{after.median:.0f}"]],
    )
    result.raw = seen
    result.notes.append(
        "One principal's clients ask for 40 MB each, or send bodies that never end, and read nothing. Another principal calls "
        "`run_python_code` twenty times before, and twenty times while they are there. `--full-crowd`: ten thousand clients."
    )
    return result
