"""Fresh Jupyter kernels of native CPython: `kernel.py ROUNDS [CELLS PAUSE]`, with jupyter_client. Prints a JSON list of
the seconds from the start of each to its result of `1+1`; with `CELLS` instead those of as many later cells in one
kernel, each after a pause of `PAUSE` seconds: a list of the seconds until the result is seen, and one of those until
the call returns, which waits for the reply and for the kernel to be idle."""

import json
import sys
import time

from kernel_client import started_kernel


def first_result(cells=None, pause=0.0):
    """Seconds to the first result; those of later cells, each after a pause, are put into the list `cells`, if there is
    one: until the result, and until the call returns."""
    start = time.perf_counter()
    results = []

    def listen(message):
        if message["msg_type"] == "execute_result":
            results.append((message["content"]["data"]["text/plain"], time.perf_counter()))

    with started_kernel() as client:
        client.execute_interactive("1+1", output_hook=listen, timeout=120)
        [(text, end)] = results
        for number in range(len(cells or ())):
            time.sleep(pause)
            begin = time.perf_counter()
            client.execute_interactive("1+1", output_hook=listen, timeout=120)
            cells[number] = results[-1][1] - begin, time.perf_counter() - begin
    if text != "2":
        raise SystemExit(f"a kernel said {text!r}")
    return end - start


if len(sys.argv) > 2:
    later = [None] * int(sys.argv[2])
    first_result(later, float(sys.argv[3]))
    print(json.dumps(list(zip(*later, strict=True))))
else:
    print(json.dumps([first_result() for _ in range(int(sys.argv[1]))]))
