"""A server of one tool over streamable HTTP, with our SDK and with Python's: the same calls by the same client, and idle sessions."""

import contextlib
import json
import resource
import subprocess
from pathlib import Path

from harness.contestants import BENCH
from harness.figures import Summary, decimal, paired_ratio
from harness.memory import megabytes
from harness.processes import PATIENCE, Failed, memory
from harness.report import Section

# Connections that call at the same time, and seconds of each round.
CONNECTIONS = (1, 32)
SECONDS = 3
# Sessions that are opened and listened to, of ours and of the peer's.
IDLE, PEER_IDLE = 10_000, 1_000


@contextlib.contextmanager
def serving(command):
    """A server: its process, and its address."""
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            found = ""
            while not found:
                line = process.stderr.readline()
                if not line:
                    raise Failed(f"{command[0]} said no address")
                _, found, address = line.strip().partition("http://")
            yield process, address
        finally:
            process.kill()


def calls(load, address, connections):
    command = [load, "calls", address, str(connections), str(SECONDS)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, timeout=PATIENCE).stdout)


def idle(load, server, address, count):
    """Bytes by which the server's memory grows with each session that is open and listened to."""
    before = memory(server.pid)["resident"]
    with subprocess.Popen(
        [load, "idle", address, str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as client:
        if client.stdout.readline() != "open\n":
            raise Failed(f"{count} sessions could not be opened")
        grown = memory(server.pid)["resident"] - before
        client.stdin.close()
    return grown / count


def measure(contestants, options):
    if options.kernel is None:
        raise Failed("--kernel is missing: a Python with mcp 1.x")
    # A descriptor for each session in client and server.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    load = str(Path(options.brumate).resolve().parent / "examples" / "load")
    servers = {"brumate-mcp": [load, "serve"], "Python SDK": [options.kernel, str(BENCH / "inside" / "echo_server.py")]}
    result = Section("MCP over HTTP: a tool that answers at once")
    rows, result.raw = [], {}
    for connections in CONNECTIONS:
        rates = {name: [] for name in servers}
        slow = {name: [] for name in servers}
        for _ in range(options.rounds):
            for name, command in servers.items():
                with serving(command) as (_, address):
                    calls(load, address, connections)
                    ran = calls(load, address, connections)
                rates[name].append(ran["calls"] / ran["seconds"])
                slow[name].append(ran["p99"])
        ours, theirs = servers
        result.raw[f"{connections}_connections"] = {"per_second": rates, "p99_microseconds": slow}
        for name in servers:
            rate, tail = Summary.of(rates[name]), Summary.of(slow[name])
            rows.append([
                connections, name, f"{rate.median:.0f}", decimal(tail.median / 1000),
                decimal(paired_ratio(rates[name], rates[theirs])), decimal(paired_ratio(slow[name], slow[theirs])),
            ])  # fmt: skip
    result.table(["connections", "server", "calls per second", "p99, ms", "rate ÷ Python's", "p99 ÷ Python's"], rows)
    rows = []
    for (name, command), count in zip(servers.items(), (IDLE, PEER_IDLE), strict=True):
        with serving(command) as (server, address):
            each = idle(load, server, address, count)
        rows.append([name, count, megabytes(1000 * each)])
        result.raw[f"{name}_idle_bytes"] = each
    result.table(["server", "idle sessions, each listened to", "KB of the server's memory each"], rows)
    result.notes.append(
        f"Streamable HTTP with sessions and JSON responses; {SECONDS} s of calls on each connection, one after the other, after as "
        "many that do not count. The client is the same Rust program for both and shares the machine."
    )
    return result
