"""Importing packages: in a process of its own, and in a fresh interpreter of a living process."""

from harness.contestants import BENCH, archives
from harness.figures import Summary, paired_ratio
from harness.mcp import Client
from harness.memory import add_memory
from harness.processes import Failed, Partner, run_once
from harness.report import Section

# Script, first line it prints, what Node has to unpack, name for people.
WORK = [
    ("numpy_import", "numpy", "numpy", "numpy"),
    ("figure", "figure", "all", "numpy, pandas, matplotlib, first figure"),
]


def measure(contestants, options):
    sides = (contestants.brumate, contestants.pyodide)
    result = Section("Imports")
    with Client(contestants.brumate.stdio()) as server, Partner(contestants.pyodide.fresh()) as node:
        node.read()
        for script, line, which, title in WORK:
            path = BENCH / "inside" / f"{script}.py"
            seconds = {kind: ([], []) for kind in ("process", "import", "fresh")}
            code = path.read_text()
            request = {"code": f"{code}\n'{line}'", "archives": archives(which)}
            for _ in range(options.rounds):
                for side, contestant in enumerate(sides):
                    run = run_once(contestant.execute(path, which), line)
                    seconds["process"][side].append(run.whole)
                    seconds["import"][side].append(inside(run))
                seconds["fresh"][0].append(server.call(code, line))
                seconds["fresh"][1].append(node.timed(request, {"result": line}))
                node.settle()
            add_table(result, title, sides, seconds)
            result.raw[script] = seconds
    result.notes.append(
        f"Median and spread of {options.rounds} each, in turns. Node's wheels are unpacked into its file system first."
    )
    add_memory(result, contestants, BENCH / "inside" / "figure.py", "all", options.out, only=sides)
    return result


def inside(run):
    """Seconds by the interpreter's own clock, from the first import to the result."""
    for line in run.rest:
        if line.startswith("inside "):
            return float(line.split()[1])
    raise Failed(f"no time in {run.rest}")


def add_table(result, title, sides, seconds):
    names = {
        "process": "process, start to end",
        "import": "the statements alone",
        "fresh": "fresh interpreter in a living process",
    }
    rows = []
    for kind, (ours, theirs) in seconds.items():
        times = (Summary.of(sample).milliseconds() for sample in (ours, theirs))
        rows.append([names[kind], *times, f"{paired_ratio(theirs, ours):.1f}"])
    result.table([title, *(f"{side.name}, ms" for side in sides), "÷ Brumate"], rows)
