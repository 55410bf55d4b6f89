"""module.py <test module> [test ...]: runs one module of CPython's own tests, without the named ones (patterns of `fnmatch`), which end
the interpreter or wait for ever. They count as failed.

One line for each step, JSON after `@`: each test that begins, what became of it, and at last `["done"]`, so that whoever
reads knows where a crash was. Tests that want a resource (network, much memory, hours) are skipped, as by `python -m test`.
"""

import fnmatch
import importlib
import json
import os
import sys
import tempfile
import traceback
import unittest

# Where the directory with CPython's package `test` is mounted.
TESTS = "/cpython"
REASON_CHARACTERS = 300
# Frames of a traceback that are searched for a reason.
FRAMES = 4
# Modules that want the resource `network`, and have servers of their own on loopback.
NETWORK = {"test_socketserver", "test_timeout"}
# Modules that skip tests on this platform for what its C library lacks, and the sandbox has: pairs of sockets, `select` with a
# descriptor in two lists.
OTHER_PLATFORM = {"test_select", "test_selectors"}


def say(*event):
    # `sys.stdout` belongs to the tests, which may have left a line without its end.
    print("\n@" + json.dumps(event), file=sys.__stdout__, flush=True)


def reason(error):
    """What a failure says: its last line, and the code of the last frames."""
    kind, value, frames = error
    last = traceback.format_exception_only(kind, value)[-1].strip()
    code = [frame.line or "" for frame in traceback.extract_tb(frames)[-FRAMES:]]
    return f"{last[:REASON_CHARACTERS]} [{' | '.join(code)[:REASON_CHARACTERS]}]"


class Outcomes(unittest.TestResult):
    """Says what becomes of each test."""

    def __init__(self, module):
        super().__init__()
        self.prefix = f"test.{module}."

    def name(self, test):
        return test.id().replace(self.prefix, "")

    def startTest(self, test):
        super().startTest(test)
        say("test", self.name(test))

    def addSuccess(self, test):
        say("outcome", self.name(test), "passed", "")

    def addFailure(self, test, error):
        say("outcome", self.name(test), "failed", reason(error))

    addError = addFailure

    def addSubTest(self, test, subtest, error):
        if error is not None:
            say("outcome", self.name(test), "failed", reason(error))

    def addSkip(self, test, why):
        say("outcome", self.name(test), "skipped", why[:REASON_CHARACTERS])

    def addExpectedFailure(self, test, error):
        say("outcome", self.name(test), "passed", "")

    def addUnexpectedSuccess(self, test):
        say("outcome", self.name(test), "failed", "passes though a failure is expected")


def without(suite, left_out, result):
    """A suite without some tests."""
    kept = []
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            kept.append(without(test, left_out, result))
        elif is_named(result.name(test), left_out):
            say("outcome", result.name(test), "failed", "left out")
        else:
            kept.append(test)
    return type(suite)(kept)


def is_named(test, patterns):
    return any(test == pattern or fnmatch.fnmatchcase(test, pattern) for pattern in patterns)


def lend_executors():
    """Lends `concurrent.futures` what the tests of all executors import, so that those of threads can run.

    There are no interpreters beside the first, and no processes: the tests of these skip themselves.
    """
    import concurrent.futures.process

    class InterpreterPoolExecutor(concurrent.futures.Executor):
        def __init__(self, *arguments, **keywords):
            raise unittest.SkipTest("No module named '_interpreters'")

    def check_system_limits():
        raise NotImplementedError("no processes")

    concurrent.futures.InterpreterPoolExecutor = InterpreterPoolExecutor
    concurrent.futures.process._check_system_limits = check_system_limits


def main():
    name, *left_out = sys.argv[1:]
    # Tests tidy up in the first directory of the path, which therefore can be written to.
    path = tempfile.mkdtemp()
    os.symlink(f"{TESTS}/test", f"{path}/test")
    sys.path.insert(0, path)
    os.chdir(tempfile.mkdtemp())
    from test import support

    support.use_resources = {"network": None} if name in NETWORK else {}
    # CPython says no for each build of this platform.
    support.has_socket_support = True
    support.is_emscripten = support.is_emscripten and name not in OTHER_PLATFORM
    if name == "test_concurrent_futures":
        lend_executors()
    result = Outcomes(name)
    try:
        module = importlib.import_module(f"test.{name}")
        suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    except unittest.SkipTest as why:
        say("module", "skipped", str(why)[:REASON_CHARACTERS])
    except BaseException:
        say("module", "failed", reason(sys.exc_info()))
    else:
        without(suite, set(left_out), result).run(result)
    sys.stdout = sys.__stdout__
    say("done")
    # What tests leave behind must not keep the interpreter from ending.
    os._exit(0)


if __name__ == "__main__":
    main()
