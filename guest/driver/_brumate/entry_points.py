"""Entry points of the bundle's packages. Packages that nobody has asked for hide theirs, as if they were not installed.

A package is asked for when the host names it for a run, when it is installed, and when it is imported.
"""

from .pristine import __builtins__

import functools
import sys

from . import packages

# Attribute of a distribution that code has asked for by its name.
_NAMED = "_brumate_named"


def hide_unasked(module):
    """Has `importlib.metadata` find no entry points of packages that nobody has asked for."""
    distribution = module.Distribution
    every, named = distribution.entry_points.fget, distribution.from_name.__func__

    @functools.wraps(named)
    def from_name(cls, name):
        found = named(cls, name)
        setattr(found, _NAMED, True)
        return found

    @functools.wraps(every)
    def entry_points(self):
        return every(self) if hasattr(self, _NAMED) or _is_asked_for(self) else module.EntryPoints()

    distribution.from_name, distribution.entry_points = classmethod(from_name), property(entry_points)


def _is_asked_for(distribution):
    path = str(getattr(distribution, "_path", ""))
    if not path.startswith(packages.BUNDLE):
        return True
    name = path[len(packages.BUNDLE) :].partition("-")[0]
    return name in sys.modules or packages.is_asked_for(name)
