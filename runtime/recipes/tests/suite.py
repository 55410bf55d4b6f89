"""Upstream test suites under pytest; the paths below site-packages come in $SUITE.

Needs the upstream tests overlay (`cargo xtask test --setup` makes it). Prints one JSON object with
the number of tests by outcome and the names of those that failed, to be compared between hosts.
"""

import collections
import json
import os

import pytest

SITE_PACKAGES = "/lib/python3.14/site-packages"


class Outcomes:
    """A pytest plugin that counts outcomes; a failed set-up or teardown is an error."""

    def __init__(self):
        self.counts = collections.Counter()
        self.failed = []

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            error = report.outcome == "failed" and report.when != "call"
            self.counts["error" if error else report.outcome] += 1
            if report.outcome == "failed":
                self.failed.append(report.nodeid)

    def pytest_collectreport(self, report):
        if report.failed:
            self.counts["error"] += 1
            self.failed.append(report.nodeid)


os.chdir("/tmp")
outcomes = Outcomes()
options = "-q -p no:cacheprovider -W ignore --tb=line -o addopts= -o xfail_strict=false".split()
markers = "not slow and not network and not db and not single_cpu"
paths = [f"{SITE_PACKAGES}/{path}" for path in os.environ["SUITE"].split()]
status = pytest.main([*options, "-m", markers, *paths], plugins=[outcomes])
print(json.dumps({"status": int(status), **outcomes.counts, "names": sorted(outcomes.failed)}))
