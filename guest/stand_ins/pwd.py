"""The user database of the sandbox: one user, who runs everything.

In the place of the module in C that other platforms have; `grp` is its sister.
"""

import os
from collections import namedtuple

from _brumate import space


class struct_passwd(namedtuple("struct_passwd", "pw_name pw_passwd pw_uid pw_gid pw_gecos pw_dir pw_shell")):
    """A user's entry."""

    __slots__ = ()

    def __repr__(self):
        return "pwd." + super().__repr__()


struct_passwd.__module__ = "pwd"


def _user():
    return struct_passwd(space.USER, "x", os.getuid(), os.getgid(), "", space.home(), "/bin/sh")


def getpwuid(uid, /):
    """Return the password database entry for the given numeric user ID."""
    if not hasattr(uid, "__index__"):
        raise TypeError(f"uid should be integer, not {type(uid).__name__}")
    user = _user()
    if uid.__index__() != user.pw_uid:
        raise KeyError(f"getpwuid(): uid not found: {uid}")
    return user


def getpwnam(name, /):
    """Return the password database entry for the given user name."""
    if not isinstance(name, str):
        raise TypeError(f"getpwnam() argument must be str, not {type(name).__name__}")
    if b"\0" in os.fsencode(name):
        raise ValueError("embedded null byte")
    user = _user()
    if name not in (user.pw_name, "root"):
        raise KeyError(f"getpwnam(): name not found: {name!r}")
    return user._replace(pw_name=name)


def getpwall():
    """Return a list of all available password database entries."""
    return [_user()]
