"""Runs inside every contestant: times programs with the interpreter's own clock.

As a script it serves requests, one JSON object a line: `{"source": ..., "repeat": n}`, answered by
`{"check": ..., "seconds": [...]}`. Under Node the host calls `measure` itself.
"""

import gc
import json
import sys
import time


def measure(line):
    """Runs the program once to warm up, then `repeat` times, each timed."""
    request = json.loads(line)
    # The namespace keeps a name: dataclasses look their module up by it.
    namespace = {"__name__": "__main__"}
    exec(compile(request["source"], request["name"], "exec"), namespace)
    run = namespace["run"]
    check = run()
    seconds = []
    for _ in range(request["repeat"]):
        gc.collect()
        start = time.perf_counter()
        again = run()
        seconds.append(time.perf_counter() - start)
        if again != check:
            raise AssertionError(f"{request['name']}: {again} is not {check}")
    return json.dumps({"check": check, "seconds": seconds})


def serve():
    """Answers requests from standard input until it ends."""
    print(json.dumps({"version": sys.version.split()[0]}), flush=True)
    for line in iter(sys.stdin.readline, ""):
        print(measure(line), flush=True)


if __name__ == "__main__":
    serve()
