"""What starts processes, where none can be started: an error of the class that code catches, with the reason."""

from .pristine import __builtins__

import errno
import functools
import os
import sys

REASON = (
    "this sandbox cannot start processes: no subprocess, os.system, os.fork or multiprocessing but its Pool, "
    "which runs one call after the other"
)
NO_PROGRAM = "no such program: this sandbox starts no processes; use Python's own libraries in their place"
# Functions of `os` that make a process or replace this one.
_FUNCTIONS = ("execv", "execve", "fork", "forkpty", "posix_spawn", "posix_spawnp")


def install():
    """Done once, at boot."""
    os.system = _system
    for name in _FUNCTIONS:
        original = getattr(os, name, None)
        if original is not None:
            setattr(os, name, _refusing(original))


def refuse(module):
    """Makes `subprocess` answer as where the program is not installed, which code is prepared for."""

    def __init__(self, args, *_arguments, **_options):
        program = args if isinstance(args, (str, bytes, os.PathLike)) else next(iter(args), "")
        raise FileNotFoundError(errno.ENOENT, NO_PROGRAM, os.fspath(program))

    module.Popen.__init__ = functools.wraps(module.Popen.__init__)(__init__)


def _refusing(original):
    @functools.wraps(original)
    def refuse_call(*_arguments, **_options):
        raise OSError(errno.ENOSYS, REASON)

    return refuse_call


def _system(command):
    """`os.system`, answering like a shell that does not find the command."""
    os.fsencode(command)
    print(f"sh: {os.fsdecode(command)}: not found ({REASON})", file=sys.stderr)
    return 127 << 8
