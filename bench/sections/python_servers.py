"""An MCP server in Python: under `brumate run` and under native CPython, the same file and the same calls."""

import http.client
import json
import time

from harness.contestants import BENCH
from harness.figures import Summary, decimal, paired_ratio, percentile
from harness.mcp import INITIALIZE, Client
from harness.processes import Failed
from harness.report import Section
from sections.mcp_http import serving

SERVER = BENCH / "inside" / "python_server.py"
# Calls of a batch, and batches that come before the measured ones.
CALLS, WARM_UP = 200, 3
# Calls that sleep at the same time, and how long.
NAPS, SECONDS = 1000, 0.05
# Seconds after which the image for later servers has been built.
IMAGE = 15
# Sessions over HTTP of each measurement, and seconds between two of them.
SESSIONS, PAUSES = 50, (0.2, 0)


def measure(contestants, options):
    if options.kernel is None:
        raise Failed("--kernel is missing: a Python with mcp 1.x")
    ours = contestants.brumate.command("run", "--offline", str(SERVER))
    theirs = [options.kernel, str(SERVER)]
    with Client(ours):
        time.sleep(IMAGE)
    starts = {"ours": [], "theirs": []}
    for _ in range(options.starts):
        starts["ours"].append(start(ours))
        starts["theirs"].append(start(theirs))
    calls, means, naps = {}, {}, {}
    with Client(ours) as sandboxed, Client(theirs) as native:
        servers = {"ours": sandboxed, "theirs": native}
        for _ in range(WARM_UP):
            for server in servers.values():
                batch(server)
        for _ in range(options.rounds):
            for name, server in servers.items():
                seconds = batch(server)
                calls.setdefault(name, []).extend(seconds)
                means.setdefault(name, []).append(sum(seconds) / len(seconds))
            for name, server in servers.items():
                naps.setdefault(name, []).append(together(server))
    result = Section("MCP servers in Python")
    result.table(
        ["whole process, first answer", "seconds", "÷ native"],
        [
            row("`brumate run`", starts["ours"], starts["theirs"]),
            row("native CPython", starts["theirs"], starts["theirs"]),
        ],
    )
    result.table(
        ["round trip of `add`, stdio", "median, ms", "p99, ms", "÷ native"],
        [
            [name, Summary.of(calls[side]).milliseconds(), decimal(1000 * percentile(calls[side], 0.99)), ratio]
            for name, side, ratio in [
                ("`brumate run`", "ours", decimal(paired_ratio(means["ours"], means["theirs"]))),
                ("native CPython", "theirs", "1"),
            ]
        ],
    )
    result.table(
        [f"{NAPS} calls of `sleep({SECONDS})` at once", "seconds", "÷ native"],
        [row("`brumate run`", naps["ours"], naps["theirs"]), row("native CPython", naps["theirs"], naps["theirs"])],
    )
    opened = {}
    for isolate in ("session", "server"):
        web = ["-t", "streamable-http", "--port", "0", "--isolate", isolate, str(SERVER)]
        with serving(contestants.brumate.command("run", "--offline", *web)) as (_, address):
            for pause in PAUSES:
                opened[f"`--isolate {isolate}`, {pause} s between sessions"] = sessions(address, pause)
    result.table(
        ["session over HTTP, to the answer to `initialize`", "median, ms", "p99, ms"],
        [
            [name, Summary.of(seconds).milliseconds(), decimal(1000 * percentile(seconds, 0.99))]
            for name, seconds in opened.items()
        ],
    )
    result.notes.append("mcp 1.x, FastMCP. The client is Python and shares the machine.")
    result.raw = {"start_seconds": starts, "call_seconds": calls, "nap_seconds": naps, "session_seconds": opened}
    return result


def sessions(address, pause):
    """Seconds until each of `SESSIONS` sessions, one after the other, has its first answer."""
    connection = http.client.HTTPConnection(address)
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE})
    seconds = []
    for _ in range(SESSIONS):
        begun = time.perf_counter()
        connection.request("POST", "/mcp", body, headers)
        answer = connection.getresponse()
        text = answer.read()
        seconds.append(time.perf_counter() - begun)
        if b'"serverInfo"' not in text:
            raise Failed(f"the server said {text}")
        connection.request("DELETE", "/mcp", headers={**headers, "mcp-session-id": answer.headers["mcp-session-id"]})
        connection.getresponse().read()
        time.sleep(pause)
    return seconds


def row(name, ours, theirs):
    return [name, decimal(Summary.of(ours).median), decimal(paired_ratio(ours, theirs))]


def start(command):
    """Seconds from the start of the process to the answer to `initialize`."""
    begun = time.perf_counter()
    with Client(command):
        return time.perf_counter() - begun


def batch(server):
    """Seconds of each of `CALLS` calls, one after the other."""
    seconds = []
    for number in range(CALLS):
        took, answer = server.tool("add", {"a": number, "b": 1})
        if answer != {"result": number + 1}:
            raise Failed(f"the server said {answer}")
        seconds.append(took)
    return seconds


def together(server):
    """Seconds until `NAPS` calls that were sent at once are answered."""
    begun = time.perf_counter()
    for _ in range(NAPS):
        server.request("tools/call", {"name": "nap", "arguments": {"seconds": SECONDS}})
    for _ in range(NAPS):
        server.answer()
    return time.perf_counter() - begun
