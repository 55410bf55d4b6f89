"""`python -m brumate` is the command `brumate`."""

import os
import sys

from ._binary import environment, find_binary

if __name__ == "__main__":
    binary = find_binary()
    os.execve(binary, ["brumate", *sys.argv[1:]], environment())
