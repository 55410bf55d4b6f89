"""Runs the upstream suites of numpy and pandas in the sandbox and under Node + Pyodide, and compares test by test.

    eval "$(cargo xtask test --setup)"
    python3 tests/compat/run_suites.py target/release/brumate [suite ...] [--keep DIRECTORY] [--sandbox]

Takes most of an hour on two processors; the two sides run at the same time. Prints the table of docs/compatibility.md
and every test whose outcome differs; the exit status is 1 if one does. With
--sandbox it is the sandbox alone that runs them, and the exit status is 1 if a test failed.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
RECIPES = REPOSITORY / "runtime/recipes/tests"
SITE_PACKAGES = "/lib/python3.14/site-packages"
SUITES = {
    "numpy._core": "numpy/_core/tests",
    "numpy.linalg": "numpy/linalg/tests",
    "numpy.fft": "numpy/fft/tests",
    "numpy.lib": "numpy/lib/tests",
    "numpy.ma": "numpy/ma/tests",
    "numpy.polynomial": "numpy/polynomial/tests",
    "numpy.random": "numpy/random/tests",
    "pandas.frame": "pandas/tests/frame",
}
OUTCOMES = ("passed", "failed", "error", "crashed", "skipped", "xfailed", "xpassed")
# A process runs so many files: what a crash or a hang takes with it stays small, and memory is given back.
FILES_PER_RUN = 8
SECONDS_PER_RUN = 1800
LIMITS = ["--timeout", "1h", "--cpu-timeout", "1h", "--memory", "3GiB", "--files", "1GiB", "--output-limit", "64MiB"]


class Sandbox:
    """`brumate exec`, with the unpacked tests mounted."""

    name = "sandbox"

    def __init__(self, brumate, upstream):
        self.start = [os.path.abspath(brumate), "exec", *LIMITS, "--mount", f"{upstream}:/upstream:ro"]
        for path in sorted(upstream.rglob("tests")):
            directory = path.relative_to(upstream)
            # Below `src` are those of other projects.
            if directory.parts[0] in ("numpy", "pandas") and "src" not in directory.parts:
                self.start += ["--mount", f"{path}:{SITE_PACKAGES}/{directory}:ro"]

    def command(self, files):
        return [*self.start, str(REPOSITORY / "tests/compat/suite.py"), *files], {}


class Node:
    """The published interpreter under Node, with the same wheels."""

    name = "node"

    def __init__(self, archive):
        wheels = sorted(str(path) for path in (REPOSITORY / "runtime/wheels").glob("*.whl"))
        pyodide = os.path.join(os.environ["BRUMATE_TEST_NODE_MODULES"], "pyodide")
        suite = str(REPOSITORY / "tests/compat/suite.py")
        self.start = ["node", str(RECIPES / "run.mjs"), pyodide, suite, "--", *wheels, archive]

    def command(self, files):
        return self.start, {"SUITE": " ".join(files)}


def run(host, files, log):
    """The outcome of each test. After a crash the test that ran is `crashed`, and the next file begins anew."""
    outcomes, reasons, remaining = {}, {}, list(files)
    while remaining:
        before = len(remaining)
        command, environment = host.command(remaining[:FILES_PER_RUN])
        output, ended = lines(command, environment)
        log.write(output)
        log.flush()
        done, test = False, None
        for line in output.decode(errors="replace").splitlines():
            event = json.loads(line[1:]) if line.startswith("@[") else [""]
            if event[0] == "file":
                remaining.remove(event[1])
                test = event[1]
            elif event[0] == "test":
                test = event[1]
            elif event[0] == "outcome":
                outcomes[event[1]], reasons[event[1]] = event[2:]
            elif event[0] == "done":
                done = True
        if len(remaining) == before:
            sys.exit(f"{host.name} did not begin:\n{output.decode(errors='replace')[-2000:]}")
        if not done:
            outcomes[test] = "crashed"
            reasons[test] = ended or output.decode(errors="replace").strip().splitlines()[-1]
    return outcomes, reasons


def log_run(host, files, path):
    with open(path, "wb") as log:
        return run(host, files, log)


def lines(command, environment):
    """What the command prints, and why it was ended if it was."""
    try:
        process = subprocess.run(
            command,
            env=os.environ | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SECONDS_PER_RUN,
            check=False,
        )
    except subprocess.TimeoutExpired as expired:
        return expired.stdout or b"", f"not done after {SECONDS_PER_RUN} s"
    return process.stdout, ""


def compare(suite, results):
    """Prints the suite's row for each host, then the differences."""
    for host, (outcomes, _) in results.items():
        counts = collections.Counter(outcomes.values())
        cells = [str(counts[outcome]) for outcome in OUTCOMES]
        print(f"| {suite} | {host} | {' | '.join(cells)} |")
    (ours, our_reasons), *others = results.values()
    if not others:
        failed = [test for test, outcome in ours.items() if outcome in ("failed", "error", "crashed")]
        print("".join(f"    {test}\n        {ours[test]} {our_reasons[test]}\n" for test in failed), end="", flush=True)
        return len(failed)
    theirs, their_reasons = others[0]
    differences = 0
    for test in sorted(ours.keys() | theirs.keys()):
        if ours.get(test) != theirs.get(test):
            differences += 1
            print(
                f"    {test}\n        sandbox: {ours.get(test)} {our_reasons.get(test, '')}"
                f"\n        node: {theirs.get(test)} {their_reasons.get(test, '')}"
            )
    return differences


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("brumate")
    parser.add_argument("suites", nargs="*")
    parser.add_argument("--keep", type=pathlib.Path, help="directory for what the hosts printed")
    parser.add_argument("--sandbox", action="store_true", help="the sandbox alone")
    arguments = parser.parse_args()
    archive = os.environ["BRUMATE_TEST_UPSTREAM"]
    differences = 0
    with tempfile.TemporaryDirectory() as directory:
        upstream = pathlib.Path(directory)
        zipfile.ZipFile(archive).extractall(upstream)
        keep = arguments.keep or upstream
        keep.mkdir(parents=True, exist_ok=True)
        for suite in arguments.suites or SUITES:
            paths = sorted((upstream / SUITES[suite]).rglob("test_*.py"))
            files = [str(path.relative_to(upstream)) for path in paths]
            hosts = [Sandbox(arguments.brumate, upstream)]
            if not arguments.sandbox:
                hosts.append(Node(archive))
            with concurrent.futures.ThreadPoolExecutor() as threads:
                tasks = {
                    host.name: threads.submit(log_run, host, files, keep / f"{suite}-{host.name}.log") for host in hosts
                }
            differences += compare(suite, {name: task.result() for name, task in tasks.items()})
    print(f"{differences} {'failures' if arguments.sandbox else 'differences'}")
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
