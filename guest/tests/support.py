"""Starts guests for the tests: `run("1+1").value == 2`."""

import builtins
import json
import os
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field

import guest_path  # before tests import the guest

TESTS = os.path.dirname(os.path.abspath(__file__))

# A guest that takes longer hangs: the test fails instead of waiting for ever.
HANG_SECONDS = 120


@dataclass
class Result:
    """What one request gave, and what the whole guest printed and emitted."""

    ended: dict | str
    output: str = ""
    events: list = field(default_factory=list)
    all: list = field(default_factory=list)

    @property
    def json(self):
        """JSON text of the returned value; None when there is no value."""
        returned = self.ended["Returned"]
        return None if returned is None else returned["json"]

    @property
    def value(self):
        """The returned value, parsed."""
        return None if self.json is None else json.loads(self.json)

    @property
    def raised(self):
        """The fields of `Raised`; fails when nothing was raised."""
        return self.ended["Raised"]

    @property
    def exited(self):
        """`(code, message)` of `Exited`."""
        return self.ended["Exited"]["code"], self.ended["Exited"]["message"]


def cells(*codes, **options):
    """Runs cells of a notebook (texts; dictionaries are requests of their own kind) in one new guest."""
    return run(
        *[{"code": code, "mode": "notebook_cell"} if isinstance(code, str) else code for code in codes], **options
    )


class Replaced:
    """Inside, these builtins are None, by default all of them. Entering and leaving it needs none."""

    def __init__(self, *names):
        self.live = vars(builtins)
        self.saved = dict(self.live)
        self.names = dict.fromkeys(names or [name for name in self.saved if not name.startswith("__")])

    def __enter__(self):
        self.live.update(self.names)

    def __exit__(self, *_error):
        self.live.update(self.saved)


def bundles(result, kind="DisplayData"):
    """The MIME bundles of a result's events: displayed ones, or those of `ExecuteResult`."""
    return [event[kind]["data"] for event in result.events if kind in event]


def run(*requests, emulate=False, stdin=b"", cwd=None, **options):
    """Runs requests (texts or dictionaries) in one new guest; `options` are added to each.

    The result is that of the last request; `all` has the `ended` of each. stdout and stderr share one pipe, so `output`
    shows their order. `emulate` takes processes and the like away, as in the sandbox.
    """
    plan = {"emulate": emulate, "requests": []}
    for request in requests:
        request = {"code": request} if isinstance(request, str) else dict(request)
        plan["requests"].append({**request, **options} if "code" in request else request)
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "plan.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(plan, file)
        answers_in, answers_out = os.pipe()
        events_in, events_out = os.pipe()
        process = subprocess.Popen(
            [
                sys.executable,
                "-X",
                "utf8",
                os.path.join(TESTS, "guest_runner.py"),
                path,
                str(answers_out),
                str(events_out),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(answers_out, events_out),
            cwd=cwd or directory,
        )
        os.close(answers_out)
        os.close(events_out)
        collected = {}

        def collect(fd):
            with open(fd, "rb") as pipe:
                collected[fd] = pipe.read()

        readers = [threading.Thread(target=collect, args=(fd,)) for fd in (answers_in, events_in)]
        for reader in readers:
            reader.start()
        try:
            output, _ = process.communicate(stdin, timeout=HANG_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        finally:
            for reader in readers:
                reader.join()
        text = output.decode("utf-8", "replace")
        answers = [json.loads(line) for line in collected[answers_in].splitlines()]
        events = [json.loads(line) for line in collected[events_in].splitlines()]
        if len(answers) != len(requests):
            raise AssertionError(f"guest died (status {process.returncode}) after {len(answers)} answers:\n{text}")
        endings = [answer.get("ended", answer) for answer in answers]
        return Result(endings[-1], text, events, endings)
