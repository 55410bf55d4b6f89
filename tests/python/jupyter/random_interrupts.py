"""Interrupts and restarts of a kernel at random moments, which leave nothing behind.

`BRUMATE_TEST_SEED` is the number all chance follows from (1 when it is not set). With `BRUMATE_TEST_LONG` set there are 200 of them.
"""

import os
import random
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from behavior import directory_of
from client import HANG_SECONDS, Client, results_of

from processes import descendants, has_ended

SEED = int(os.environ.get("BRUMATE_TEST_SEED", "1"))
ROUNDS = 200 if os.environ.get("BRUMATE_TEST_LONG") else 12

# Cells that end by themselves, or at an interrupt only.
CELLS = (
    "while True: pass",
    "import time\ntime.sleep(100)",
    "import asyncio\nawait asyncio.sleep(100)",
    "while True: print('x' * 1000)",
    "import numpy as np\nwhile True: np.linalg.svd(np.ones((60, 60)))",
    "import re\nre.match('(a+)+$', 'a' * 40 + 'b')",
    "def f(n):\n    try:\n        return f(n + 1)\n    except RecursionError:\n        return n\nwhile True: f(0)",
    "from IPython.display import display, HTML\nwhile True: display(HTML('<b>1</b>'))",
    "open('file', 'w').write('x' * 1000)\nwhile True: open('file').read()",
    "sum(range(200000))",
    "pass",
    "1/0",
)
# Time until the fault, in seconds.
LONGEST_DELAY = 0.06


def wait_for(holds, text):
    """Waits until something holds."""
    until = time.monotonic() + HANG_SECONDS
    while not holds():
        assert time.monotonic() < until, text
        time.sleep(0.02)


def interrupted(kernel, choice, number):
    """Runs a cell and interrupts it. Names that were there before stay."""
    code = choice.choice(CELLS)
    timers = [threading.Timer(choice.uniform(0, LONGEST_DELAY), kernel.manager.interrupt_kernel)]
    if choice.random() < 0.3:
        timers.append(threading.Timer(choice.uniform(0, LONGEST_DELAY), kernel.manager.interrupt_kernel))
    for timer in timers:
        timer.start()
    request = kernel.client.execute(code)
    # An interrupt that came before the cell did not end it.
    again = threading.Timer(1, kernel.manager.interrupt_kernel)
    again.start()
    kernel.messages(request)
    content = kernel.reply(request)
    for timer in (*timers, again):
        timer.cancel()
        timer.join()
    assert content["status"] == "ok" or content["ename"] in ("KeyboardInterrupt", "ZeroDivisionError"), (code, content)
    # An interrupt that comes late may hit this cell.
    for _ in range(3):
        _, messages = kernel.run("kept")
        if results_of(messages):
            break
    assert results_of(messages) == [str(number)], (code, number, messages)


def restarted(kernel, choice):
    """Restarts the kernel, in the middle of a cell or between cells."""
    if choice.random() < 0.5:
        kernel.client.execute(choice.choice(CELLS))
        time.sleep(choice.uniform(0, LONGEST_DELAY))
        kernel.manager.interrupt_kernel()
    kernel.manager.restart_kernel(now=choice.random() < 0.5)
    kernel.client.wait_for_ready(timeout=HANG_SECONDS)
    _, messages = kernel.run("'kept' in globals()")
    assert results_of(messages) == ["False"], messages


def main():
    choice = random.Random(SEED)
    directories, processes, restarts, number = [], set(), 0, None
    with Client(transport="ipc") as kernel:
        for turn in range(ROUNDS):
            if turn % 12 == 5 or choice.random() < 0.1:
                directories.append(directory_of(kernel.manager))
                processes |= set(descendants(kernel.manager.provisioner.pid))
                restarted(kernel, choice)
                restarts += 1
                number = None
            if number is None or choice.random() < 0.3:
                number = turn
                kernel.run(f"kept = {number}")
            interrupted(kernel, choice, number)
        directories.append(directory_of(kernel.manager))
        processes |= set(descendants(kernel.manager.provisioner.pid))
        kernel.client.shutdown()
        wait_for(lambda: not kernel.manager.is_alive(), "the kernel does not end")
    assert restarts, "no restart"
    wait_for(lambda: all(map(has_ended, processes)), f"processes are left of {sorted(processes)}")
    # The directory of a killed kernel is removed by the next one.
    with Client(transport="ipc") as kernel:
        kernel.run("1")
        left = [path for path in directories if path.exists()]
        assert not left, left
    print(f"seed {SEED}: {ROUNDS} interrupts, {restarts} restarts")


if __name__ == "__main__":
    main()
