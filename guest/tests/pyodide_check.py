"""The part of `pyodide_check.mjs` that runs in Python: golden tracebacks, hostile guests, platform, figures, timing."""

import json
import os
import sys
import time

# Pyodide put JavaScript's event loop into asyncio: load the plain one again, as in the engine.
for _name in [
    name
    for name in sys.modules
    if name.partition(".")[0] in ("asyncio", "_asyncio", "pyodide", "_pyodide", "pyodide_js", "js")
]:
    del sys.modules[_name]
sys.meta_path[:] = [finder for finder in sys.meta_path if "pyodide" not in type(finder).__module__ + repr(finder)]

import asyncio  # noqa: E402

asyncio._set_running_loop(None)


def _without_sockets():
    """Loops do without their own sockets: Node has none for this module."""

    def make(loop):
        loop._ssock = loop._csock = None
        loop._internal_fds += 1

    def close(loop):
        loop._internal_fds -= 1

    kind = asyncio.selector_events.BaseSelectorEventLoop
    kind._make_self_pipe, kind._close_self_pipe, kind._write_to_self = make, close, lambda loop: None


_without_sockets()
sys.path[:] = [entry for entry in sys.path if entry]
sys.path += ["/lib/brumate", "/lib/brumate/tests", "/lib/python3.14/site-packages"]
start = time.perf_counter()
import _brumate  # noqa: E402

imported = time.perf_counter()
import golden_cases  # noqa: E402
import test_hostile  # noqa: E402

EVENTS, OUTPUT = "/tmp/events", "/tmp/output"
events_fd = os.open(EVENTS, os.O_RDWR | os.O_CREAT | os.O_APPEND)
output_fd = os.open(OUTPUT, os.O_RDWR | os.O_CREAT | os.O_APPEND)
saved = os.dup(1), os.dup(2)
os.dup2(output_fd, 1)
os.dup2(output_fd, 2)
booting = time.perf_counter()
_brumate.boot(events_fd, "/home/user")
booted = time.perf_counter()
execute, write, ftruncate, encode, decode = (
    _brumate.execute,
    os.write,
    os.ftruncate,
    json.JSONEncoder().encode,
    json.JSONDecoder().decode,
)
pread = os.pread
failures = 0


def say(text):
    write(saved[0], (text + "\n").encode())


def value(ended):
    """The returned value, or what ended the run instead."""
    return decode(ended["Returned"]["json"]) if ended.get("Returned") else ended


def run(code, **options):
    """(ended, output, events) of one run."""
    ftruncate(events_fd, 0)
    ftruncate(output_fd, 0)
    os.dup2(output_fd, 1)
    os.dup2(output_fd, 2)
    answer = decode(execute(encode({"code": code, **options})))["ended"]
    return (
        answer,
        pread(output_fd, 1 << 24, 0).decode(),
        [decode(line) for line in pread(events_fd, 1 << 26, 0).decode().splitlines()],
    )


def check(name, condition, shown=""):
    global failures
    if not condition:
        failures += 1
        say(f"FAILED {name}: {shown}")


def golden():
    for name, code in golden_cases.CASES.items():
        with open(f"/lib/brumate/tests/golden/{name}.txt", encoding="utf-8") as file:
            expected = file.read()
        ended, output, _ = run(code, mode="script")
        if "Raised" in ended:
            output += ended["Raised"]["traceback"]
        elif "Exited" in ended and ended["Exited"]["message"]:
            output += ended["Exited"]["message"] + "\n"
        # The golden files have the script's absolute path shortened.
        output = golden_cases.normalized(output.replace("/home/user/main.py", "main.py"))
        if name in ("atexit_error", "syntax_warning", "blank_line_with_error_at_end"):
            same = set(expected.split("\n")) <= set(output.split("\n"))
        else:
            same = output == expected
        check(f"golden {name}", same, f"\n{output}\ninstead of\n{expected}")


def platform():
    table = [
        ("import asyncio\nawait asyncio.gather(asyncio.sleep(0.01, 1), asyncio.sleep(0, 2))", [1, 2]),
        (
            "import asyncio\nasync def f():\n    async with asyncio.timeout(0.01): await asyncio.sleep(5)\ntry: asyncio.run(f())\nexcept TimeoutError: x = 't'\nx",
            "t",
        ),
        ("import asyncio\nasync def f(): return 4\nawait asyncio.sleep(0)\nasyncio.run(f())", 4),
        ("import subprocess\ntry: subprocess.run(['ls'])\nexcept OSError as e: x = str(e)\n'processes' in x", True),
        (
            "import multiprocessing\ntry: multiprocessing.Process(target=print).start()\nexcept (ImportError, OSError) as e: x = str(e)\n'processes' in x",
            True,
        ),
        ("import multiprocessing\nmultiprocessing.Pool(2).map(abs, [-1])", [1]),
        ("import js", "ModuleNotFoundError"),
        ("import os\n(os.getcwd(), os.environ['HOME'])", ["/home/user", "/home/user"]),
        (
            "import datetime, decimal, uuid, fractions\n[datetime.date(2020, 1, 1), decimal.Decimal('1.5'), uuid.UUID(int=1), 10**30, 1e-7]",
            ["2020-01-01", "1.5", "00000000-0000-0000-0000-000000000001", 10**30, 1e-7],
        ),
        ("x = b''\nwhile True: x += bytes(1 << 28)", "MemoryError"),
    ]
    for code, expected in table:
        ended, output, _ = run(code)
        got = ended["Raised"]["ename"] if "Raised" in ended else value(ended)
        check(code, got == expected, f"{ended} {output}")
    entropy = bytes(range(64))
    _brumate.reseed(entropy)
    first, _, _ = run("import random\nrandom.random()")
    _brumate.reseed(entropy)
    second, _, _ = run("import random\nrandom.random()")
    check("reseed", first == second)
    found = decode(_brumate.analyze("import numpy, os, pyodide, js\ntry: import x\nexcept ImportError: pass"))
    expected = {"imports": ["numpy"], "optional_imports": ["x"], "requirements": [], "syntax_error": False}
    check("analyze", found == expected, found)


def packages():
    if os.path.isdir("/lib/python3.14/site-packages/numpy"):
        ended, output, _ = run("import numpy as np\nprint(np.array([1, 2, 3]))\nnp.array([1, 2, 3])")
        check("numpy", (value(ended), output) == ([1, 2, 3], "[1 2 3]\n"), f"{ended} {output}")
        ended, _, _ = run("import numpy as np\n[np.float64(1.5), np.int32(2), np.bool_(True), np.longdouble(2.5)]")
        check("numpy scalars", value(ended) == [1.5, 2, True, 2.5], ended)
        run("import numpy.random")
        draws = []
        for entropy in (b"a" * 64, b"b" * 64, b"a" * 64):
            _brumate.reseed(entropy)
            ended, _, _ = run("import numpy as np\nfloat(np.random.rand())")
            draws.append(value(ended))
        check("numpy reseeding", draws[0] == draws[2] != draws[1], draws)
    if os.path.isdir("/lib/python3.14/site-packages/pandas"):
        ended, _, _ = run("import pandas as pd\npd.DataFrame({'a': [1]})")
        check("pandas", ended.get("Returned") == {"json": '"   a\\n0  1"', "is_str": False}, ended)
        ended, _, events = run(
            "import pandas as pd\ndisplay(pd.DataFrame({'a': [1]}))\n[pd.Timestamp('2020-01-01'), pd.NaT]"
        )
        check("pandas display", "<table" in events[0]["DisplayData"]["data"]["text/html"], events)
        check("pandas values", value(ended) == ["2020-01-01T00:00:00", "NaT"], ended)
    if os.path.isdir("/lib/python3.14/site-packages/matplotlib"):
        for code, count in (
            ("plt.plot([1, 2])\nplt.show()", 1),
            ("plt.plot([1, 2])\nplt.savefig('/tmp/x.png')", 1),
            ("import matplotlib\nmatplotlib.use('Agg')\nplt.plot([1])\nplt.show()\nplt.figure()", 1),
        ):
            ended, output, events = run("import matplotlib.pyplot as plt\n" + code)
            check(
                code,
                len(events) == count and "image/png" in events[0]["DisplayData"]["data"],
                f"{ended} {output} {len(events)}",
            )


def hostile():
    # Those that would take this process's own libraries away for good run in processes of their own elsewhere.
    for name, code in test_hostile.CASES.items():
        if name in (
            "modules cleared",
            "own modules gone",
            "traceback emptied",
            "codecs",
            "builtins deleted",
            "os patched",
            "argv and path",
        ):
            continue
        if name in (
            "builtins emptied",
            "sys attributes",
            "asyncio patched",
            "enum broken",
            "gc",
            "tracebacklimit",
            "path cache",
            "excepthook",
        ):
            continue
        ended, output, _ = run(code)
        check(f"hostile {name}", len(ended) == 1 and "/_brumate/" not in str(ended), ended)
        ended, output, _ = run("40 + 2")
        check(f"after {name}", ended == {"Returned": {"json": "42", "is_str": False}}, f"{ended} {output}")


def timing():
    rows = []
    for code in (
        "1+1",
        "x = 1",
        "print('hello')",
        "import json\nprint(json.dumps({'a': [1, 2]}))\n[1, 2, 3]",
        "1/0",
        "import asyncio\nawait asyncio.sleep(0)",
    ):
        request = encode({"code": code})
        for _ in range(20):
            execute(request)
        begin, count = time.perf_counter(), 300
        for _ in range(count):
            execute(request)
        rows.append(f"  execute {code!r}: {(time.perf_counter() - begin) / count * 1e6:.0f} us")
    begin = time.perf_counter()
    for _ in range(300):
        _brumate.reseed(bytes(64))
    rows.append(f"  reseed: {(time.perf_counter() - begin) / 300 * 1e6:.0f} us")
    begin = time.perf_counter()
    for _ in range(300):
        _brumate.analyze("import numpy as np\nimport pandas as pd\nprint(np.zeros(3))\n")
    rows.append(f"  analyze: {(time.perf_counter() - begin) / 300 * 1e6:.0f} us")
    request = encode({"code": "for i in range(100_000): print(i)"})
    begin = time.perf_counter()
    execute(request)
    rows.append(f"  100,000 prints: {(time.perf_counter() - begin) * 1e3:.0f} ms")
    return rows


golden()
platform()
packages()
timed = timing()
say("\n".join(timed))
hostile()
say(f"import {1e3 * (imported - start):.0f} ms, boot {1e3 * (booted - booting):.0f} ms")
say(f"{failures} failures")
if failures:
    raise SystemExit(1)
