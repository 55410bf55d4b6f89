"""Runs CPython's own tests in the sandbox, and compares what becomes of each module with `outcomes.toml`.

    python3 tests/compat/cpython/run.py target/release/brumate [module ...] [--record] [--write]

Without modules, all that `outcomes.toml` has. `--record` stores the outcomes of the modules that ran, and `--write` puts the table into
docs/cpython.md. Without `--record`, tests that ended the interpreter or took too long do not run again. The exit status is 1 when a module
is worse than it was: its outcome is, or a test fails that did not.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import time

import source
import table
from outcomes import Outcome, dump, left_out, load, worse

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
OUTCOMES = HERE / "outcomes.toml"
LIMITS = ["--memory", "1GiB", "--files", "512MiB", "--output-limit", "64MiB", "--offline"]
# So often a module begins anew without the test that ended the interpreter, and no more when it has taken so long already.
MAX_CRASHES = 12
MAX_TIMES = 2
# Seconds of the clock for each second of a processor.
WALL = 5


class Sandbox:
    """`brumate exec` with the tests mounted."""

    def __init__(self, arguments, tests):
        seconds = arguments.seconds
        self.seconds = seconds
        # A host that is busy with other things takes longer.
        limits = [*LIMITS, "--timeout", f"{seconds * WALL}s", "--cpu-timeout", f"{seconds}s"]
        mount = ["--mount", f"{tests}:/cpython:ro"]
        self.start = [os.path.abspath(arguments.brumate), "exec", *limits, *mount, str(HERE / "module.py")]
        self.logs = arguments.keep
        self.logs.mkdir(parents=True, exist_ok=True)

    def events(self, module, crashed, log):
        """The steps of one run of a module, and its last line."""
        process = subprocess.run(
            [*self.start, module, *crashed, *left_out(module)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=self.seconds * WALL + 120,
            check=False,
        )
        log.write(process.stdout)
        lines = process.stdout.decode(errors="replace").splitlines() or ["no output"]
        return [json.loads(line[1:]) for line in lines if line.startswith('@["')], lines[-1]

    def run(self, module, before):
        """What becomes of a module: again and again without the tests that end the interpreter. Those of `before` do not run."""
        outcome, start = Outcome(), time.monotonic()
        if before is not None:
            outcome.crashed, outcome.why = list(before.crashed), before.why
        with open(self.logs / f"{module}.log", "wb") as log:
            for _ in range(MAX_CRASHES):
                tests, running, done = {}, None, False
                events, last = self.events(module, outcome.crashed, log)
                for kind, *rest in events:
                    if kind == "test":
                        running = rest[0]
                    elif kind == "outcome":
                        name, what, why = rest
                        # A test with several parts fails when one does.
                        if tests.get(name, ("",))[0] != "failed":
                            tests[name] = (what, why)
                    elif kind == "module":
                        outcome.note_module(module, *rest)
                    elif kind == "done":
                        done = True
                outcome.note(module, tests)
                if done:
                    break
                outcome.note_crash(running or "(import)", last)
                late = time.monotonic() - start > MAX_TIMES * WALL * self.seconds
                if running is None or late or running in outcome.crashed[:-1]:
                    break
        return outcome


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("brumate")
    parser.add_argument("modules", nargs="*")
    parser.add_argument("--record", action="store_true", help="store the outcomes")
    parser.add_argument("--write", action="store_true", help="write the table of docs/cpython.md")
    parser.add_argument("--tests", type=pathlib.Path, default=REPOSITORY / "target/cpython-tests")
    parser.add_argument(
        "--keep", type=pathlib.Path, default=REPOSITORY / "target/cpython-logs", help="directory for logs"
    )
    parser.add_argument("--seconds", type=int, default=120, help="processor time of one module at most")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    recorded = load(OUTCOMES)
    sandbox = Sandbox(arguments, source.prepare(arguments.tests))
    found, failed = {}, False
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        modules = arguments.modules or sorted(recorded)
        known = {} if arguments.record else recorded
        running = {pool.submit(sandbox.run, module, known.get(module)): module for module in modules}
        for future in concurrent.futures.as_completed(running):
            module, outcome = running[future], future.result()
            found[module] = outcome
            print(f"{module}: {outcome}", flush=True)
            for line in worse(module, recorded.get(module), outcome):
                failed = True
                print(f"  worse: {line}", flush=True)
            if arguments.record:
                # After every module: a run that is stopped leaves what it knows.
                recorded[module] = outcome
                OUTCOMES.write_text(dump(recorded, source.version()))
    if arguments.write:
        table.write(REPOSITORY / "docs/cpython.md", recorded | found, source.version())
    sys.exit(1 if failed and not arguments.record else 0)


if __name__ == "__main__":
    main()
