"""One Jupyter kernel under its own client: `jupyter_kernel.py NAME CELLS`, with jupyter_client. Prints one JSON object:
the seconds from the start to the description (`kernel_info`) and to the first result, those of later cells by kind, and
the kernel's process."""

import json
import sys
import time

from jupyter_client.manager import KernelManager

CELLS = {
    "1+1": "1+1",
    "figure": "import matplotlib.pyplot as plt\nplt.plot([1, 2, 3], [2, 1, 3])\nplt.show()",
    "frame": "import pandas as pd\npd.DataFrame({'a': range(100), 'b': range(100)})",
}
TIMEOUT = 120


def reply(client, code):
    """Runs a cell, and reads all of its messages; returns the seconds until its reply."""
    begin = time.perf_counter()
    client.execute(code)
    answer = client.get_shell_msg(timeout=TIMEOUT)
    seconds = time.perf_counter() - begin
    if answer["content"]["status"] != "ok":
        raise SystemExit(f"a cell said {answer['content']}")
    while True:
        message = client.get_iopub_msg(timeout=TIMEOUT)
        if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            return seconds


name, count = sys.argv[1], int(sys.argv[2])
start = time.perf_counter()
manager = KernelManager(kernel_name=name, transport="ipc")
manager.start_kernel()
client = manager.client()
client.start_channels(hb=False, stdin=False)
client.kernel_info()
client.get_shell_msg(timeout=TIMEOUT)
described = time.perf_counter() - start
client.execute("1+1")
client.get_shell_msg(timeout=TIMEOUT)
first = time.perf_counter() - start
time.sleep(0.2)
while client.iopub_channel.msg_ready():
    client.get_iopub_msg(timeout=TIMEOUT)
seconds = {}
for kind, code in CELLS.items():
    reply(client, code)
    seconds[kind] = [reply(client, code) for _ in range(count)]
pid = manager.provisioner.pid
print(json.dumps({"described": described, "first": first, "cells": seconds, "pid": pid}), flush=True)
# The caller measures memory, and ends the input.
sys.stdin.readline()
client.stop_channels()
manager.shutdown_kernel(now=True)
