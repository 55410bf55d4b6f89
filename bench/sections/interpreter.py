"""The code interpreter through MCP: new sessions and cells, beside a server of Jupyter kernels and a bare kernel."""

import json
import subprocess
import tempfile
import time
from collections import defaultdict

from harness.contestants import BENCH
from harness.figures import Summary, decimal, paired_ratio, percentile
from harness.mcp import Client
from harness.processes import Failed
from harness.report import Section

CODE, RESULT = "1+1", "2"
# Of a round: new sessions and cells of Brumate, those of the server of kernels, cells of the bare kernel.
NEW, CELLS, PEER_CELLS, KERNEL_CELLS = 40, 200, 3, 100
WARM_UP = 20
# Between two cells, in seconds: whoever asks looks at an answer before asking again.
PAUSE = 0.005


def cell(client, session="", pause=PAUSE):
    """Runs a cell after a pause; returns the seconds and the session."""
    if pause:
        time.sleep(pause)
    seconds, answer = client.tool("execute_code", {"code": CODE, "session_id": session})
    if answer["result"] != RESULT:
        raise Failed(f"a cell said {answer}")
    return seconds, session or answer["session_info"]["session_id"]


def new_session(client):
    """Seconds of a first cell. Its session is cleared."""
    seconds, session = cell(client)
    client.tool("clear_session", {"session_id": session})
    return seconds


def measure(contestants, options):
    if options.kernel is None:
        raise Failed("--kernel is missing: a Python with ipykernel and mcp 1.x")
    sample, medians = defaultdict(list), defaultdict(list)
    inside = BENCH / "inside"
    with tempfile.TemporaryDirectory() as data:
        ours = [*contestants.brumate.stdio(), "--tools", "interpreter", "--data-dir", data]
        theirs = [options.kernel, str(inside / "kernel_server.py")]
        with Client(ours) as server, Client(theirs) as peer:
            for _ in range(WARM_UP):
                new_session(server)
            session, peer_session = cell(server)[1], cell(peer)[1]
            for _ in range(options.rounds):
                # When the result is seen, and when the client's call returns.
                kernel_result, kernel_cell = kernel(options, 1, KERNEL_CELLS, PAUSE)
                kernel_quick_result, kernel_quick = kernel(options, 1, KERNEL_CELLS, 0)
                values = {
                    "new": [new_session(server) for _ in range(NEW)],
                    "cell": [cell(server, session)[0] for _ in range(CELLS)],
                    "peer_new": [new_session(peer)],
                    "peer_cell": [cell(peer, peer_session)[0] for _ in range(PEER_CELLS)],
                    "kernel_new": kernel(options, 1),
                    "kernel_result": kernel_result,
                    "kernel_cell": kernel_cell,
                    "quick": [cell(server, session, 0)[0] for _ in range(CELLS)],
                    "kernel_quick_result": kernel_quick_result,
                    "kernel_quick": kernel_quick,
                }
                for name, of_round in values.items():
                    sample[name] += of_round
                    medians[name].append(Summary.of(of_round).median)
    result = Section("Code interpreter through MCP")
    brumate, kernels, bare = (
        "Brumate, MCP on pipes",
        "server of Jupyter kernels, MCP on pipes",
        "ipykernel, its own client",
    )
    seen = f"{bare}, result seen"
    for what, named in [
        ("new session and `1+1`", {brumate: "new", kernels: "peer_new", bare: "kernel_new"}),
        ("`1+1` in a session", {brumate: "cell", kernels: "peer_cell", bare: "kernel_cell", seen: "kernel_result"}),
        ("`1+1` without a pause", {brumate: "quick", bare: "kernel_quick", seen: "kernel_quick_result"}),
    ]:
        rows = [
            [
                name,
                Summary.of(sample[kind]).milliseconds(),
                decimal(1000 * percentile(sample[kind], 0.99)),
                decimal(paired_ratio(medians[kind], medians[named[brumate]])),
            ]
            for name, kind in named.items()
        ]
        result.table([what, "ms", "p99, ms", "÷ Brumate"], rows)
    result.notes.append(
        f"One at a time, {decimal(1000 * PAUSE)} ms between them where nothing else is said; median and quartiles. The server of kernels is written after the "
        "documentation of MCP Python Code Interpreter, with the 0.2 s that each of its calls waits; a new kernel has nothing imported, Brumate's sessions have numpy, "
        "pandas and matplotlib ready. A call of Brumate's returns when the cell is over; so does one of the kernel's client (`execute_interactive`: the "
        "reply, and the kernel idle). `result seen` is the moment at which the result alone has come."
    )
    result.raw = {f"{name}_seconds": values for name, values in sample.items()}
    return result


def kernel(options, *arguments):
    command = [options.kernel, BENCH / "inside" / "kernel.py", *map(str, arguments)]
    return json.loads(
        subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True).stdout
    )
