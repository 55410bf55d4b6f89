"""The recursion limit, counted from the guest's own frames on: those below them are the driver's."""

from .pristine import __builtins__

import sys
from operator import index

from .interrupts import MIN_RECURSION_LIMIT

# Deeper chains of frames could not be released any more: that needs native stack, and its end is the interpreter's.
MAX_LIMIT = 1_000_000

_get, _set = sys.getrecursionlimit, sys.setrecursionlimit
_get_frame = sys._getframe


class _State:
    # Frames below the guest's.
    below = 0
    # Whether they are still to be counted in this run.
    pending = False


def start_run():
    """The frames below the guest's are counted anew in this run."""
    _State.pending = True


def count_frames():
    """Takes the calling frame, and those below it, for the driver's. Only the first call of a run does something."""
    if not _State.pending:
        return
    limit = max(_get() - _State.below, MIN_RECURSION_LIMIT)
    _State.pending, _State.below = False, _depth(_get_frame(1))
    _set(limit + _State.below)


def _depth(frame):
    """The number of a frame, the first being 1."""
    depth = 0
    while frame is not None:
        depth += 1
        frame = frame.f_back
    return depth


def getrecursionlimit():
    """Returns how many frames of Python code may be open at the same time."""
    return _get() - _State.below


def setrecursionlimit(limit, /):
    """Sets how many frames of Python code may be open at the same time, at most 1,000,000."""
    limit = min(index(limit), MAX_LIMIT)
    depth = _depth(_get_frame(1)) - _State.below
    if 1 <= limit <= depth:
        raise RecursionError(
            f"cannot set the recursion limit to {limit} at the recursion depth {depth}: the limit is too low"
        )
    # This frame needs its place as well.
    _set(max(limit, depth + 2) + _State.below if limit >= 1 else limit)


def install():
    """Done once, at boot."""
    for function in (getrecursionlimit, setrecursionlimit):
        function.__module__ = "sys"
        setattr(sys, function.__name__, function)
