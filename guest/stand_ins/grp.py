"""The group database of the sandbox: one group, of its one user.

In the place of the module in C that other platforms have; `pwd` is its sister.
"""

import os
from collections import namedtuple

from _brumate import space


class struct_group(namedtuple("struct_group", "gr_name gr_passwd gr_gid gr_mem")):
    """A group's entry."""

    __slots__ = ()

    def __repr__(self):
        return "grp." + super().__repr__()


struct_group.__module__ = "grp"


def _group():
    return struct_group(space.USER, "x", os.getgid(), [])


def getgrgid(id):
    """Return the group database entry for the given numeric group ID."""
    if not hasattr(id, "__index__"):
        raise TypeError(f"gid should be integer, not {type(id).__name__}")
    if not -1 <= id.__index__() < 1 << 32:
        raise OverflowError(f"gid is {'less than minimum' if id < 0 else 'greater than maximum'}")
    group = _group()
    if id.__index__() != group.gr_gid:
        raise KeyError(f"getgrgid(): gid not found: {id}")
    return group


def getgrnam(name):
    """Return the group database entry for the given group name."""
    if not isinstance(name, str):
        raise TypeError(f"getgrnam() argument 'name' must be str, not {type(name).__name__}")
    if b"\0" in os.fsencode(name):
        raise ValueError("embedded null byte")
    group = _group()
    if name not in (group.gr_name, "root"):
        raise KeyError(f"getgrnam(): name not found: {name!r}")
    return group._replace(gr_name=name)


def getgrall():
    """Return a list of all available group entries, in arbitrary order."""
    return [_group()]
