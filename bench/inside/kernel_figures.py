"""Cells that draw, in a Jupyter kernel of native CPython: `kernel_figures.py ROUNDS`.

Reads a JSON object of cells by name. Prints one of the seconds of each until its picture has come and the kernel is
idle again. Each cell is run once before.
"""

import json
import sys
import time

from jupyter_client.manager import KernelManager

cells, rounds = json.load(sys.stdin), int(sys.argv[1])
manager = KernelManager(kernel_name="python3")
manager.start_kernel()
client = manager.client()
client.start_channels()
client.wait_for_ready(timeout=120)
pictures = []


def listen(message):
    if message["msg_type"] == "error":
        raise SystemExit("\n".join(message["content"]["traceback"]))
    if message["msg_type"] == "display_data" and "image/png" in message["content"]["data"]:
        pictures.append(message)


def seconds(code):
    pictures.clear()
    start = time.perf_counter()
    client.execute_interactive(code, output_hook=listen, timeout=120)
    taken = time.perf_counter() - start
    if len(pictures) != 1:
        raise SystemExit(f"{len(pictures)} pictures of {code}")
    return taken


measured = {}
for name, code in cells.items():
    seconds(code)
    measured[name] = [seconds(code) for _ in range(rounds)]
client.stop_channels()
manager.shutdown_kernel(now=True)
print(json.dumps(measured))
