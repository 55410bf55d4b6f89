"""Runs the upstream suites of numpy and pandas in the sandbox and elsewhere, and compares test by test.

    eval "$(cargo xtask test --setup)"
    python3 tests/compat/run_suites.py target/release/brumate [suite ...] [--keep DIRECTORY] [--beside node|PYTHON]

A suite is a package with tests, `numpy.linalg` for instance, or `numpy` and `pandas` for all that these have; without one, both.
`--beside node` runs them under Node + Pyodide as well, with the same wheels; `--beside PYTHON` with a native Python that has numpy,
pandas and pytest; without it the sandbox alone runs them. Each side has a processor. All of numpy takes a quarter of an hour, all of
pandas some hours. Prints the table of docs/compatibility.md and every test whose outcome differs, or that failed if there is one
side; the exit status is 1 if there is such a test.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
RECIPES = REPOSITORY / "runtime/recipes/tests"
PACKAGES = ("numpy", "pandas")
# Of these numpy's own suite has tools for its developers, and compilers.
LEFT_OUT = ("numpy.distutils", "numpy.f2py", "numpy.typing", "numpy._pyinstaller")
OUTCOMES = ("passed", "failed", "error", "crashed", "skipped", "xfailed", "xpassed")
NUMBERED = re.compile(r"(?<=int32|int64)_\d+(?=[\]-])")
# A process runs so many files: what a crash or a hang takes with it stays small, and memory is given back.
FILES_PER_RUN = 8
SECONDS_PER_RUN = 1800
LIMITS = ["--timeout", "1h", "--cpu-timeout", "1h", "--memory", "3GiB", "--files", "1GiB", "--output-limit", "64MiB"]


class Sandbox:
    """`brumate exec`, with the unpacked tests mounted."""

    name = "sandbox"

    def __init__(self, brumate, upstream):
        self.start = [os.path.abspath(brumate), "exec", *LIMITS, "--mount", f"{upstream}:/upstream:ro"]
        # pytest takes the directories above the tests for packages, and looks there for what the tests are given.
        for path in upstream.rglob("tests"):
            for directory in path.relative_to(upstream).parents:
                if directory.name:
                    (upstream / directory / "__init__.py").touch()
        for package in PACKAGES:
            (wheel,) = (REPOSITORY / "runtime/wheels").glob(f"{package}-*.whl")
            archive = zipfile.ZipFile(wheel)
            archive.extractall(
                upstream, [name for name in archive.namelist() if name.endswith(("conftest.py", ".tpl"))]
            )

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


class Native:
    """A Python of the host, with the tests that its own numpy and pandas have."""

    name = "native"

    def __init__(self, python):
        self.python = python
        place = "import sysconfig; print(sysconfig.get_path('platlib'))"
        self.site_packages = subprocess.check_output([python, "-c", place], text=True).strip()

    def command(self, files):
        suite = str(REPOSITORY / "tests/compat/suite.py")
        return [self.python, suite, *files], {"SITE_PACKAGES": self.site_packages}


def suites_of(upstream):
    """The test files of each suite, by name: those of pandas by directory, those of numpy by package."""
    found = collections.defaultdict(list)
    for path in sorted(upstream.glob("*/**/test_*.py")):
        parts = path.relative_to(upstream).parts
        if parts[0] in PACKAGES and "tests" in parts and "src" not in parts:
            names = parts[: parts.index("tests")] if parts[0] == "numpy" else ("pandas", *parts[2:-1][:1])
            found[".".join(names)].append("/".join(parts))
    return {name: files for name, files in found.items() if name not in LEFT_OUT}


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


def by_type(outcomes):
    """The outcomes by names without the numbers of parameters that are equal: `int32` and `intp` are here, `int64` and `intp` elsewhere."""
    found = collections.defaultdict(set)
    for test, outcome in outcomes.items():
        found[NUMBERED.sub("", test)].add(outcome)
    return found


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
    ours, theirs = by_type(ours), by_type(theirs)
    for test in sorted(ours.keys() | theirs.keys()):
        if ours.get(test) != theirs.get(test):
            differences += 1
            print(
                f"    {test}\n        sandbox: {' '.join(ours.get(test, []))} {our_reasons.get(test, '')}"
                f"\n        {host}: {' '.join(theirs.get(test, []))} {their_reasons.get(test, '')}"
            )
    return differences


def chosen(suites, names):
    """The suites of these names, and all below `numpy` and `pandas`."""
    for name in names:
        if name not in suites and name not in PACKAGES:
            sys.exit(f"no suite {name}; there are {', '.join(sorted(suites))}")
    return [(suite, files) for suite, files in suites.items() if suite in names or suite.partition(".")[0] in names]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("brumate")
    parser.add_argument("suites", nargs="*")
    parser.add_argument("--keep", type=pathlib.Path, help="directory for what the hosts printed")
    parser.add_argument("--beside", help="`node`, or a native Python")
    arguments = parser.parse_args()
    archive = os.environ["BRUMATE_TEST_UPSTREAM"]
    differences = 0
    with tempfile.TemporaryDirectory() as directory:
        upstream = pathlib.Path(directory)
        zipfile.ZipFile(archive).extractall(upstream)
        keep = arguments.keep or upstream
        keep.mkdir(parents=True, exist_ok=True)
        hosts = [Sandbox(arguments.brumate, upstream)]
        if arguments.beside:
            hosts.append(Node(archive) if arguments.beside == "node" else Native(arguments.beside))
        for suite, files in chosen(suites_of(upstream), arguments.suites or PACKAGES):
            with concurrent.futures.ThreadPoolExecutor() as threads:
                tasks = {
                    host.name: threads.submit(log_run, host, files, keep / f"{suite}-{host.name}.log") for host in hosts
                }
            differences += compare(suite, {name: task.result() for name, task in tasks.items()})
    print(f"{differences} {'differences' if arguments.beside else 'failures'}")
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
