"""Executes short runs while another thread interrupts the main thread again and again; prints a JSON report.

`_thread.interrupt_main` sets the same flag as the host does (`PyErr_SetInterruptEx`), so the exception comes up at
any check point of the interpreter, also in the driver's own code.
"""

import json
import os
import sys
import threading
import time
from _thread import interrupt_main
from random import Random

import guest_path  # isort: split

import _brumate
from _brumate import loops

CODES = [
    "1+1",
    "x = [i * i for i in range(50)]\nprint(x[3], end='')\n{'a': x}",
    "import asyncio\nawait asyncio.sleep(0.0001)\n3",
    "import asyncio\nasync def f():\n    try:\n        await asyncio.sleep(0)\n    finally:\n        print(end='')\nf()",
    "1/0",
    "class A:\n    def __repr__(self): return 'x' * sum(range(100))\n[A()]",
    "raise SystemExit(3)",
    "import sys\nsys.stdout.flush()\ndisplay(1)",
]


CELLS = [
    "1+1",
    "x = [i * i for i in range(50)]\nprint(x[3], end='')\n{'a': x}",
    "import asyncio\nawait asyncio.sleep(0.0001)\n3",
    "1/0",
    "%time 1",
    "y = !echo a\ny",
    "display({'a': 1}); 5;",
    "raise SystemExit(3)",
    "%%capture c\nprint(1)",
]
# A cell takes longer than a plain run.
CELL_PAUSE = 0.02
# The fewest runs in which each way to end comes up often enough to be counted.
FEWEST_RUNS = 300


def main(seconds, report_path, cells):
    loops.patch()
    _brumate.boot(os.open(os.devnull, os.O_WRONLY))
    stop = False
    source = Random(1)

    def storm():
        while not stop:
            time.sleep(source.random() * (CELL_PAUSE if cells else 0.0004))
            interrupt_main()

    requests = [
        json.dumps({"code": code, "mode": "script" if n % 5 == 4 else "snippet"}) for n, code in enumerate(CODES * 5)
    ]
    if cells:
        requests = [json.dumps({"code": code, "mode": "notebook_cell"}) for code in CELLS]
        for request in requests:  # imports
            _brumate.execute(request)
    endings = []
    thread = threading.Thread(target=storm, daemon=True)
    thread.start()
    begin = time.monotonic()
    runs = 0
    # The main thread may be interrupted here, outside the driver, too: the handler only takes a note there. A slow machine
    # gets more time for as many runs.
    while (passed := time.monotonic() - begin) < seconds or (runs < FEWEST_RUNS and passed < 10 * seconds):
        for request in requests:
            endings.append(_brumate.execute(request))
            runs += 1
    stop = True
    thread.join()
    counts = {}
    for text in endings:
        ended = json.loads(text)["ended"]
        (kind,) = ended
        name = kind if kind != "Raised" else ended[kind]["ename"]
        counts[name] = counts.get(name, 0) + 1
        if kind == "Raised" and "_brumate" in ended[kind]["traceback"]:
            counts["own frames"] = counts.get("own frames", 0) + 1
    final = {"code": "40+2"}
    if cells:
        # Traps are closed, names are there, and the shell counts on.
        check = "import builtins, getpass\nassert get_ipython().builtin_trap._nested_level == 1 and x[3] == 9\n"
        check += "assert 'input' in builtins.input.__name__ and len(In) == get_ipython().execution_count"
        final = {"code": check, "mode": "notebook_cell"}
    last = json.loads(_brumate.execute(json.dumps(final)))["ended"]
    if "Raised" in last:  # the last interrupt was still on its way
        last = json.loads(_brumate.execute(json.dumps(final)))["ended"]
    with open(report_path, "w", encoding="utf-8") as file:
        json.dump({"runs": runs, "counts": counts, "last": last}, file)


if __name__ == "__main__":
    main(float(sys.argv[1]), sys.argv[2], sys.argv[3:] == ["cells"])
