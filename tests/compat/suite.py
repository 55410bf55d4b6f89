"""Runs upstream test files under pytest, in the sandbox or in Pyodide, and prints what became of each test.

The files are named below site-packages, as arguments or in $SUITE. One line for each step, JSON after `@`: the file
that begins, each test that begins, each outcome, and at last `["done"]`, so that whoever reads knows where a crash was.
"""

import contextlib
import importlib
import json
import os
import sys

# The sandbox has pytest and the tests there; in Pyodide everything is in site-packages.
sys.path.append("/upstream")

import pytest

UPSTREAM = "/upstream"
PACKAGES = ("numpy", "pandas")
SITE_PACKAGES = os.environ.get(
    "SITE_PACKAGES", UPSTREAM if os.path.isdir(UPSTREAM) else "/lib/python3.14/site-packages"
)
MARKERS = "not network and not db and not clipboard"
REASON_CHARACTERS = 200


def say(*event):
    print("@" + json.dumps(event), flush=True)


class Outcomes:
    """A pytest plugin: a failed set-up or teardown counts as an error."""

    def pytest_runtest_logstart(self, nodeid, location):
        say("test", nodeid)

    def pytest_runtest_logreport(self, report):
        if report.when != "call" and report.outcome == "passed":
            return
        outcome = report.outcome
        if outcome == "failed" and report.when != "call":
            outcome = "error"
        if hasattr(report, "wasxfail"):
            outcome = "xfailed" if outcome == "skipped" else "xpassed"
        say("outcome", report.nodeid, outcome, reason(report) if outcome in ("failed", "error", "skipped") else "")

    def pytest_collectreport(self, report):
        if report.failed:
            say("outcome", report.nodeid, "error", reason(report))


def reason(report):
    if isinstance(report.longrepr, tuple):  # of a test that is skipped: file, line, reason
        return report.longrepr[2].removeprefix("Skipped: ")[:REASON_CHARACTERS]
    lines = str(report.longrepr).strip().splitlines() or [""]
    errors = [line for line in lines if line.startswith("E ")] or lines[-1:]
    return errors[0][2:].strip()[:REASON_CHARACTERS]


def extend_packages(packages):
    """Makes the tests below UPSTREAM parts of these packages, which the bundle has."""
    extended = []
    for package in packages:
        for directory, directories, files in os.walk(os.path.join(UPSTREAM, package)):
            if "__init__.py" in files:
                name = os.path.relpath(directory, UPSTREAM).replace("/", ".")
                with contextlib.suppress(ImportError):
                    extended.append((importlib.import_module(name), directory))
            directories[:] = [name for name in directories if name not in ("src", "tests")]
    # Now that all are imported none is looked for below UPSTREAM.
    for package, directory in extended:
        package.__path__.insert(0, directory)


def main():
    os.chdir("/tmp")
    extend_packages(PACKAGES)
    options = [f"--rootdir={SITE_PACKAGES}", "-c", "/dev/null", "-o", "addopts=", "-o", "xfail_strict=false"]
    options += ["-p", "no:cacheprovider", "-p", "no:terminal", "-p", "no:faulthandler", "-W", "ignore"]
    # A package that is imported again is not to be found below UPSTREAM.
    options += ["-m", MARKERS, "--import-mode=append"]
    for name in sys.argv[1:] or os.environ["SUITE"].split():
        say("file", name)
        pytest.main([*options, f"{SITE_PACKAGES}/{name}"], plugins=[Outcomes()])
    say("done")


# In Pyodide it has another name than "__main__"; `science/run_modules.py` imports it.
if __name__ != "suite":
    main()
