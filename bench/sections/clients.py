"""Clients of a server of one tool: ours, rmcp's alone, the Python SDK's and the TypeScript SDK's, over pipes and HTTP.

The server is ours in all cases. Each client is a program of its own that connects, lists the tools and calls `echo`, one call after
the other or many at a time, and times these steps; the start of the program is not among them, that of a server over pipes is.
"""

import itertools
import json
import subprocess
from pathlib import Path

from harness.contestants import BENCH
from harness.figures import Summary, decimal, paired_ratio
from harness.processes import PATIENCE, Failed
from harness.report import Section
from sections.mcp_http import serving

# Calls of a round, and how many are under way at a time.
CALLS = 1_000
OPEN = (1, 64)
STEPS = ("connect", "list", "calls")
ERAS = ("legacy", "modern")


def run(command, era, opened, target):
    line = [*command, era, str(CALLS), str(opened), *target]
    done = subprocess.run(line, stdout=subprocess.PIPE, check=True, text=True, timeout=PATIENCE)
    return json.loads(done.stdout)


def measure(contestants, options):
    if options.mcp2 is None or options.clients is None:
        raise Failed("--mcp2 or --clients is missing: a Python with mcp 2.x, and the TypeScript SDK's clients")
    examples = Path(options.brumate).resolve().parent / "examples"
    ours, server = str(examples / "load_client"), [str(examples / "load"), "serve"]
    node = str(Path(options.clients, "node", "bin", "node"))
    clients = {
        "brumate-mcp": [ours, "ours"],
        "rmcp": [ours, "rmcp"],
        "TypeScript SDK": [node, str(BENCH / "node" / "mcp_client.mjs"), options.clients],
        "Python SDK": [options.mcp2, str(BENCH / "inside" / "mcp_client.py")],
    }
    result = Section("Clients of the protocol")
    rows, raw = [], {}
    with serving(server) as (_, address):
        targets = {"pipes": [ours, "serve"], "HTTP": [f"http://{address}/mcp"]}
        for (transport, target), era, opened in itertools.product(targets.items(), ERAS, OPEN):
            times = {name: [] for name in clients}
            for _ in range(options.rounds):
                for name, command in clients.items():
                    times[name].append(run(command, era, opened, target))
            case = f"{transport}, {era}, {opened} at a time"
            raw[case] = times
            whole = {name: [sum(each[step] for step in STEPS) for each in of] for name, of in times.items()}
            for name, of in times.items():
                parts = [Summary.of([each[step] for each in of]).milliseconds() for step in STEPS]
                rows.append([f"{case}: {name}", *parts, decimal(paired_ratio(whole[name], whole["brumate-mcp"]))])
    result.table(["client", "connect, ms", "list, ms", f"{CALLS} calls, ms", "whole ÷ brumate-mcp"], rows)
    result.notes.append(
        "`legacy` is 2025-11-25 with a session, `modern` is 2026-07-28. Clients and server share the machine."
    )
    result.raw = raw
    return result
