"""Cells that draw, in a Jupyter kernel of native CPython: `kernel_figures.py ROUNDS`.

Reads a JSON object of cells by name. Prints one of the seconds of each until its picture has come and the kernel is
idle again. Each cell is run once before.
"""

import json
import sys
import time

from kernel_client import started_kernel

cells, rounds = json.load(sys.stdin), int(sys.argv[1])
pictures = []


def listen(message):
    if message["msg_type"] == "error":
        raise SystemExit("\n".join(message["content"]["traceback"]))
    if message["msg_type"] == "display_data" and "image/png" in message["content"]["data"]:
        pictures.append(message)


def seconds(client, code):
    pictures.clear()
    start = time.perf_counter()
    client.execute_interactive(code, output_hook=listen, timeout=120)
    taken = time.perf_counter() - start
    if len(pictures) != 1:
        raise SystemExit(f"{len(pictures)} pictures of {code}")
    return taken


measured = {}
with started_kernel() as client:
    for name, code in cells.items():
        seconds(client, code)
        measured[name] = [seconds(client, code) for _ in range(rounds)]
print(json.dumps(measured))
