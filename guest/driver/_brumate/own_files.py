"""Which files are Brumate's: tracebacks leave their frames out, and what they import is not asked for by the guest.

The shell and the plotting library are imported here, at boot, so that no module of the guest can take their names.
"""

from .pristine import __builtins__

import brumate_plotly
import brumate_shell


def _directory(function):
    return function.__code__.co_filename.rpartition("/")[0] + "/"


DRIVER = _directory(_directory)
assert DRIVER.endswith("_brumate/"), DRIVER  # compiled under another name, guest frames could not be told from ours

# Beginnings of their names.
OWN = (DRIVER, *[package.__file__.rpartition("/")[0] + "/" for package in (brumate_plotly, brumate_shell)])
# Where the packages are: beside each other in the sandbox.
PLACES = tuple(dict.fromkeys([directory[:-1].rpartition("/")[0] for directory in OWN]))
