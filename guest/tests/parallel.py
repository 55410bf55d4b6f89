"""Runs all tests, as many processes at a time as there are processors: `python parallel.py [name...]`.

A name is that of a module, a class or a test, as for `python -m unittest`. Each process runs a few tests of one class.
Compiled files go to a directory of their own: guests start four times as fast with them, and the sources stay clean.
"""

import collections
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

TESTS = os.path.dirname(os.path.abspath(__file__))

# Tests in one process: few enough that the last process to end is not much later than the one before.
AT_ONCE = 6


def main(names):
    begin = time.monotonic()
    parts = divided(names)
    with tempfile.TemporaryDirectory() as cache:
        environment = {"PYTHONPYCACHEPREFIX": cache, **os.environ}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # it keeps sources clean, as the directory does
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            results = list(pool.map(lambda part: run_part(part, environment), parts))
    report(results, time.monotonic() - begin)
    if any(result["failed"] for result in results):
        raise SystemExit(1)


def divided(names):
    """Lists of the names of tests, each of one class."""
    loader = unittest.defaultTestLoader
    suite = loader.loadTestsFromNames(names) if names else loader.discover(TESTS)
    classes = collections.defaultdict(list)
    for test in flat(suite):
        classes[type(test)].append(test.id())
    if loader.errors or not classes:
        raise SystemExit("\n".join(["tests cannot be loaded", *loader.errors]))
    return [tests[at : at + AT_ONCE] for tests in classes.values() for at in range(0, len(tests), AT_ONCE)]


def flat(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flat(test)
        else:
            yield test


def run_part(tests, environment):
    """What came of `tests` in a process: how many ran, why others did not, and texts of what failed."""
    command = [sys.executable, os.path.abspath(__file__), "--part", *tests]
    done = subprocess.run(command, env=environment, cwd=TESTS, stdout=subprocess.PIPE, text=True)
    try:
        return json.loads(done.stdout)
    except ValueError:
        text = f"the process of these tests ended with status {done.returncode}: {' '.join(tests)}\n{done.stdout}"
        return {"ran": 0, "skipped": [], "failed": [text]}


def part(tests):
    """The other side of [`run_part`]."""
    answers = os.dup(1)
    os.dup2(2, 1)  # what a test prints
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromNames(tests).run(result)
    failed = [f"{test.id()}\n{text}" for test, text in result.failures + result.errors]
    failed += [f"{test.id()} was expected to fail" for test in result.unexpectedSuccesses]
    answer = {"ran": result.testsRun, "skipped": [reason for _, reason in result.skipped], "failed": failed}
    with open(answers, "w") as file:
        json.dump(answer, file)


def report(results, seconds):
    for text in [text for result in results for text in result["failed"]]:
        print(f"{'=' * 70}\nFAILED {text}")
    reasons = collections.Counter(reason for result in results for reason in result["skipped"])
    for reason, count in reasons.most_common():
        print(f"{count} skipped: {reason}")
    ran, failed = sum(result["ran"] for result in results), sum(len(result["failed"]) for result in results)
    print(f"{ran - reasons.total()} tests ran in {seconds:.0f} s, {failed} failed")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--part"]:
        part(sys.argv[2:])
    else:
        main(sys.argv[1:])
