"""run_modules.py <module ...>: runs upstream test modules of installed packages under pytest, in the sandbox or natively.

Prints what `tests/compat/suite.py` prints, whose plugin it uses.
"""

import importlib.util
import os
import sys
import threading

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = ["/compat", os.path.dirname(here), here]
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")

import pytest

from suite import UPSTREAM, Outcomes, extend_packages, say

MARKERS = "not slow and not xslow and not network and not xfail_on_32bit"


def several_threads(*arguments, **options):
    pytest.skip("needs several threads that wait for each other")


class NoBases:
    """A pytest plugin: classes of tests that others inherit, which upstream's own runner leaves out."""

    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if not (getattr(item, "cls", None) and item.cls.__name__.startswith("_"))]


def main():
    os.chdir("/tmp")
    options = [
        "-c",
        "/dev/null",
        "-o",
        "addopts=",
        "-o",
        "xfail_strict=false",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:terminal",
    ]
    # pytest-timeout wants timers of the system; a mark `timeout` without it does nothing.
    options += ["-p", "no:faulthandler", "-p", "no:timeout", "-W", "ignore", "-m", MARKERS]
    # Packages that tests would compile have tests of their own.
    options += ["--ignore-glob=/*_cython_examples*", "--continue-on-collection-errors", "--import-mode=append"]
    if sys.platform == "emscripten":
        # It would wait until the time is up.
        threading.Barrier = several_threads
    extend_packages({module.partition(".")[0] for module in sys.argv[1:]})
    for module in sys.argv[1:]:
        say("file", module)
        spec = importlib.util.find_spec(module)
        # A directory of tests need not be a package. In the sandbox those of a package are apart from it.
        below = os.path.join(UPSTREAM, module.replace(".", "/"))
        place = list(spec.submodule_search_locations) if spec and not spec.origin else [module]
        place = [below] if os.path.isdir(below) else place
        status = pytest.main([*options, "--pyargs", *place], plugins=[Outcomes(), NoBases()])
        if status in (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR):
            say("outcome", module, "crashed", f"pytest: {status.name}")
    say("done")


if __name__ == "__main__":
    main()
