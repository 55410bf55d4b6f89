"""run_directory.py <directory> [test file ...]: runs upstream tests that lie beside their package, in the sandbox or natively.

Prints what `tests/compat/suite.py` prints, whose plugin it uses. The directory is copied first: tests write beside themselves.
"""

import os
import shutil
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = ["/compat", os.path.dirname(here)]
if os.path.isdir("/vocabularies"):
    os.environ["TIKTOKEN_CACHE_DIR"] = "/vocabularies"

import pytest

from suite import Outcomes, say


def main():
    directory = os.path.join(tempfile.mkdtemp(), "python")
    shutil.copytree(sys.argv[1], directory)
    os.chdir(directory)
    sys.path.insert(0, directory)
    options = [
        "--rootdir",
        directory,
        "-c",
        "/dev/null",
        "-o",
        "addopts=",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:terminal",
    ]
    options += ["-p", "no:faulthandler", "-W", "ignore", "--continue-on-collection-errors"]
    for name in sys.argv[2:] or ["."]:
        say("file", name)
        pytest.main([*options, name], plugins=[Outcomes()])
    say("done")


if __name__ == "__main__":
    main()
