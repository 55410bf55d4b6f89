"""Stateless calls to a living server: every call runs in a fresh interpreter.

Pyodide has no server to compare with; its living Node process makes a fresh interpreter for each request, without the
protocol's work. A native interpreter is a process for each request.
"""

from harness.contestants import BENCH
from harness.figures import Summary, decimal, paired_ratio, percentile
from harness.mcp import Client
from harness.processes import Partner, run_once
from harness.report import Section

CODE, EXPECTED = "1+1", "\n2\n"
SCRIPT = BENCH / "inside" / "first_result.py"

# Calls of a round per call of the slow contestant.
CALLS = 40
WARM_UP = 5


def measure(contestants, options):
    calls, pyodide, native, means = [], [], [], []
    throughput = {1: [], 4: []}
    with Client(contestants.brumate.stdio()) as server, Partner(contestants.pyodide.fresh()) as node:
        node.read()
        for _ in range(WARM_UP):
            server.call(CODE, EXPECTED)
        node.ask({"code": CODE, "archives": []})
        node.settle()
        for _ in range(options.rounds):
            fresh = [server.call(CODE, EXPECTED) for _ in range(CALLS)]
            calls += fresh
            means.append(sum(fresh) / len(fresh))
            pyodide.append(node.timed({"code": CODE, "archives": []}, {"result": "2"}))
            node.settle()
            native.append(run_once(contestants.native.execute(SCRIPT), "2").whole)
            for in_flight, rates in throughput.items():
                rates.append(CALLS / server.calls(CODE, EXPECTED, CALLS, in_flight))
    result = Section("Stateless calls")
    rows = [
        ["Brumate, MCP on pipes", Summary.of(calls).milliseconds(), decimal(1000 * percentile(calls, 0.99)), "1"],
        ["Pyodide in Node, no protocol", Summary.of(pyodide).milliseconds(), "", decimal(paired_ratio(pyodide, means))],
        ["native CPython, a process", Summary.of(native).milliseconds(), "", decimal(paired_ratio(native, means))],
    ]
    result.table(["`1+1`, fresh interpreter", "round trip, ms", "p99, ms", "÷ Brumate"], rows)
    rates = [Summary.of(throughput[in_flight]) for in_flight in throughput]
    rows = [
        [n, *(f"{value:.0f}" for value in (rate.median, rate.low, rate.high))]
        for n, rate in zip(throughput, rates, strict=True)
    ]
    result.table(["calls in flight", "calls per second", "from", "to"], rows)
    result.notes.append(
        f"{len(calls)} calls to one server; median and quartiles. The client is Python and shares the machine."
    )
    result.raw = {"call_seconds": calls, "pyodide_seconds": pyodide, "native_seconds": native, "per_second": throughput}
    return result
