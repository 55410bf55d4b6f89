"""run_modules.py <module ...>: runs upstream test modules of installed packages under pytest, in the sandbox or natively.

Prints what `tests/compat/suite.py` prints, whose plugin it uses.
"""

import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = ["/compat", os.path.dirname(here), here]
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")

import pytest
from suite import Outcomes, say

MARKERS = "not slow and not xslow and not network and not xfail_on_32bit"


def several_threads(*arguments, **options):
    pytest.skip("needs several threads that wait for each other")


def main():
    os.chdir("/tmp")
    options = ["-c", "/dev/null", "-o", "addopts=", "-o", "xfail_strict=false", "-p", "no:cacheprovider", "-p", "no:terminal"]
    options += ["-p", "no:faulthandler", "-W", "ignore", "-m", MARKERS]
    # Packages that tests would compile have tests of their own.
    options += ["--ignore-glob=/*_cython_examples*", "--continue-on-collection-errors"]
    if sys.platform == "emscripten":
        # Its barrier would wait until the time is up.
        import scipy._lib._testutils

        scipy._lib._testutils._run_concurrent_barrier = several_threads
    for module in sys.argv[1:]:
        say("file", module)
        pytest.main([*options, "--pyargs", module], plugins=[Outcomes()])
    say("done")


if __name__ == "__main__":
    main()
