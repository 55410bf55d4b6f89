"""Runs requests in a booted guest; started by `support.run` in a process of its own.

Arguments: a file with a JSON object {"emulate": bool, "seed": hex or null, "requests": [...]}, and the descriptors for
answers and event frames. An answer is written as soon as its request is done, one JSON line each. A request may have
"interrupt_after": SIGINT is sent so many seconds after its start.
"""

import _thread
import json
import os
import signal
import sys
import time

import guest_path  # isort: split

import _brumate


def main(plan_path, answers_fd, events_fd):
    with open(plan_path, encoding="utf-8") as file:
        plan = json.load(file)
    if plan["emulate"]:
        import multiprocessing.queues  # before 3.14 it takes `_multiprocessing` for granted

        del sys.modules["_multiprocessing"]
        from _brumate import live_displays, loops, platform_support

        platform_support.patch()
        loops.patch()
        live_displays.install()
    del sys.path[: len(guest_path.ROOTS)]
    del sys.path[0]  # the directory of this file, which `python file` adds
    sys.path += guest_path.ROOTS
    execute, analyze = _brumate.execute, _brumate.analyze
    _brumate.boot(events_fd)
    os.environ.pop("PYTHONPATH", None)
    write = os.write
    for request in plan["requests"]:
        if "analyze" in request:
            answer = analyze(request["analyze"])
        else:
            delay = request.pop("interrupt_after", None)
            if delay is not None:
                _thread.start_new_thread(interrupt, (delay, _thread.get_ident()))
            answer = execute(encode(request))
        data = answer.encode() + b"\n"
        while data:
            data = data[write(answers_fd, data) :]
    os._exit(0)


encode = json.JSONEncoder().encode


def interrupt(delay, thread):
    time.sleep(delay)
    signal.pthread_kill(thread, signal.SIGINT)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
