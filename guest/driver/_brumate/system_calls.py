"""What this platform's build leaves out of `os`, `locale` and `gc`: done, or refused as Linux would."""

from .pristine import __builtins__

import _locale
import errno
import fcntl
import gc
import locale
import os
import posix
import sys

# Locales that are there, by the names that are understood, and how they are called.
_LOCALES = {"C": "C", "POSIX": "C", "C.UTF-8": "C.UTF-8", "C.utf8": "C.UTF-8"}


def install():
    """Adds what is not there, and replaces what answers wrongly."""
    _add(os, nice, mkfifo, mknod, getresuid, getresgid)
    if sys.platform != "emscripten":
        return
    for functions in (os.supports_fd, os.supports_dir_fd, os.supports_follow_symlinks):
        if os.utime in functions:
            functions.remove(os.utime)
            functions.add(utime)
    os.getpriority, os.utime = getpriority, utime
    os.set_inheritable = posix.set_inheritable = set_inheritable
    locale._setlocale = _locale.setlocale = setlocale
    gc.unfreeze = unfreeze


def _add(module, *functions):
    for function in functions:
        name = function.__name__
        if not hasattr(module, name):
            function.__module__ = module.__name__
            setattr(module, name, function)
            if module is os:
                setattr(posix, name, function)


class _State:
    niceness = 0
    # What is set for each category.
    locales = {}


def nice(increment, /):
    """Add increment to the priority of process and return the new priority."""
    _State.niceness = max(-20, min(19, _State.niceness + increment))
    return _State.niceness


def getpriority(which, who):
    """Return program scheduling priority."""
    return _State.niceness


def set_inheritable(fd, inheritable, /):
    """Set the inheritable flag of the specified file descriptor."""
    if fd < 0:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    # The interpreter asks by `ioctl(FIOCLEX)`, which this C library answers and does not do.
    flags = fcntl.fcntl(fd, fcntl.F_GETFD) & ~fcntl.FD_CLOEXEC
    fcntl.fcntl(fd, fcntl.F_SETFD, flags if inheritable else flags | fcntl.FD_CLOEXEC)


def getresuid():
    """Return a tuple of the current process's real, effective, and saved user ids."""
    return (os.getuid(),) * 3


def getresgid():
    """Return a tuple of the current process's real, effective, and saved group ids."""
    return (os.getgid(),) * 3


def mkfifo(path, mode=0o666, *, dir_fd=None):
    """Create a FIFO: refused, for there is no other process to write or read it."""
    raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), os.fspath(path))


def mknod(path, mode=0o600, device=0, *, dir_fd=None):
    """Create a node in the file system: refused, as to users who are not root."""
    raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), os.fspath(path))


_utime = os.utime


def utime(path, times=None, *, ns=None, dir_fd=None, follow_symlinks=True):
    """Set the access and modified time of path."""
    if (
        ns is None
        or times is not None
        or dir_fd is not None
        or isinstance(path, int)
        or type(ns) is not tuple
        or len(ns) != 2
    ):
        given = {} if ns is None else {"ns": ns}
        return _utime(path, times, dir_fd=dir_fd, follow_symlinks=follow_symlinks, **given)
    # The function in C keeps microseconds.
    import _brumate_system

    try:
        return _brumate_system.set_times(path, *ns, follow_symlinks)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from None


def setlocale(category, locale=None, /):
    """Activates/queries locale processing."""
    categories = [getattr(_locale, name) for name in _CATEGORIES]
    if category not in (*categories, _locale.LC_ALL):
        raise _locale.Error("unsupported locale setting")
    chosen = categories if category == _locale.LC_ALL else [category]
    if locale is not None:
        name = locale or os.environ.get("LC_ALL") or os.environ.get("LANG") or "C"
        names = dict.fromkeys(chosen, name)
        if category == _locale.LC_ALL and "=" in name:
            # As it is told of all categories: each has its own.
            parts = dict([part.partition("=")[::2] for part in name.split(";")])
            names = {one: parts.get(key, "") for key, one in zip(_CATEGORIES, categories, strict=True)}
        if not set(names.values()) <= _LOCALES.keys():
            raise _locale.Error("unsupported locale setting")
        _State.locales.update({one: _LOCALES[name] if locale else name for one, name in names.items()})
    # As at the start of an interpreter: the characters' encoding is set, the rest is not.
    current = [_State.locales.get(one, "C.UTF-8" if one == _locale.LC_CTYPE else "C") for one in chosen]
    if len(set(current)) == 1:
        return current[0]
    parts = [f"{name}={value}" for name, value in zip(_CATEGORIES, current, strict=True)]
    return ";".join([*parts, *(f"{name}=C" for name in _OTHER_CATEGORIES)])


_CATEGORIES = ("LC_CTYPE", "LC_NUMERIC", "LC_TIME", "LC_COLLATE", "LC_MONETARY", "LC_MESSAGES")
# Which the GNU C library has besides.
_OTHER_CATEGORIES = ("LC_PAPER", "LC_NAME", "LC_ADDRESS", "LC_TELEPHONE", "LC_MEASUREMENT", "LC_IDENTIFICATION")


def unfreeze():
    """Unfreeze all objects in the permanent generation: none, for those that the interpreter began with stay there."""
