"""`select.select` by `poll`: this C library's function takes closed descriptors for idle ones, and has no number for
the error when a signal ends its wait.

Imported before `selectors`, which keeps the function.
"""

from .pristine import __builtins__

import errno
import math
import operator
import os
import select as _select
import sys
import time

# Descriptors that fit into a set (`FD_SETSIZE`).
_SET_SIZE = 1024
# The longest time that `poll` takes.
_MAX_MILLISECONDS = (1 << 31) - 1
# The longest wait that the interpreter takes (its nanoseconds have 63 bits).
_MAX_SECONDS = (1 << 63) / 10**9
_WANTED = (_select.POLLIN, _select.POLLOUT, _select.POLLPRI)
# As Linux counts what `poll` says.
_READY = (
    _select.POLLIN | _select.POLLRDNORM | _select.POLLRDBAND | _select.POLLHUP | _select.POLLERR,
    _select.POLLOUT | _select.POLLWRNORM | _select.POLLWRBAND | _select.POLLERR,
    _select.POLLPRI,
)


def _descriptor(thing):
    number = thing
    if not isinstance(thing, int):
        method = getattr(thing, "fileno", None)
        if method is None:
            raise TypeError("argument must be an int, or have a fileno() method.")
        number = method()
        if not isinstance(number, int):
            raise TypeError("fileno() returned a non-integer")
    number = int(number)
    if number < 0:
        raise ValueError(f"file descriptor cannot be a negative integer ({number})")
    if number >= _SET_SIZE:
        raise ValueError("filedescriptor out of range in select()")
    return number


def _listed(things):
    """The pairs of a thing and its descriptor. A `fileno` may change the list meanwhile."""
    if not isinstance(things, (list, tuple)):
        try:
            things = list(things)
        except TypeError:
            raise TypeError("arguments 1-3 must be sequences") from None
    pairs, at = [], 0
    while at < len(things):
        thing = things[at]
        pairs.append((thing, _descriptor(thing)))
        at += 1
    return pairs


def _end(timeout):
    """The time at which the wait ends; None if it does not."""
    if timeout is None:
        return None
    try:
        seconds = timeout if isinstance(timeout, float) else operator.index(timeout)
    except TypeError:
        raise TypeError("timeout must be a float or None") from None
    if math.isnan(seconds):
        raise ValueError("Invalid value NaN (not a number)")
    if seconds > _MAX_SECONDS:
        raise OverflowError("timestamp out of range for platform time_t")
    if seconds < 0:
        raise ValueError("timeout must be non-negative")
    return time.monotonic() + seconds


class _Selecting:
    # A method that is bound stays so: `selectors` makes it an attribute of a class.
    def select(self, rlist, wlist, xlist, timeout=None, /):
        """Wait until one or more file descriptors are ready for some kind of I/O."""
        end = _end(timeout)
        lists = [_listed(things) for things in (rlist, wlist, xlist)]
        events = {}
        for wanted, pairs in zip(_WANTED, lists, strict=True):
            for _, descriptor in pairs:
                events[descriptor] = events.get(descriptor, 0) | wanted
        poll = _select.poll()
        for descriptor, wanted in events.items():
            poll.register(descriptor, wanted)
        while True:
            milliseconds = None
            if end is not None:
                milliseconds = min(math.ceil(max(0.0, end - time.monotonic()) * 1000), _MAX_MILLISECONDS)
            found = dict(poll.poll(milliseconds))
            if any(ready & _select.POLLNVAL for ready in found.values()):
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            results = tuple(
                [thing for thing, descriptor in pairs if found.get(descriptor, 0) & ready]
                for ready, pairs in zip(_READY, lists, strict=True)
            )
            if any(results) or (end is not None and time.monotonic() >= end):
                return results
            # A connection that is over ends a `poll` that asks for something else.
            for descriptor in found:
                poll.unregister(descriptor)


select = _Selecting().select

if sys.platform == "emscripten":
    _select.select = select
