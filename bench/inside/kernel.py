"""Fresh Jupyter kernels of native CPython: `kernel.py ROUNDS`, with jupyter_client. Prints a JSON list of the seconds from the
start of each to its result of `1+1`."""

import json
import sys
import time

from jupyter_client.manager import KernelManager


def first_result():
    start = time.perf_counter()
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=120)
    results = []

    def listen(message):
        if message["msg_type"] == "execute_result":
            results.append((message["content"]["data"]["text/plain"], time.perf_counter()))

    client.execute_interactive("1+1", output_hook=listen, timeout=120)
    [(text, end)] = results
    client.stop_channels()
    manager.shutdown_kernel(now=True)
    if text != "2":
        raise SystemExit(f"a kernel said {text!r}")
    return end - start


print(json.dumps([first_result() for _ in range(int(sys.argv[1]))]))
