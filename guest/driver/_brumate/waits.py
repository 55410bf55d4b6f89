"""Waits that cannot end, for this Python has one thread: they raise at once, instead of using up the time of the run.

A wait with a timeout ends, and is as elsewhere.
"""

from .pristine import __builtins__

import queue
import threading
from _thread import allocate_lock

NEVER = (
    "this wait would never end: this Python runs in a WebAssembly sandbox without threads, so nothing else can {} "
    "meanwhile. Do the other side's work first, give a timeout, or use asyncio"
)

_wait = threading.Condition.wait


def install():
    """Puts these in the place of the standard library's."""
    threading.Condition.wait = wait
    threading.Lock = Lock
    # The one in C waits by itself; this one waits for a condition.
    queue.SimpleQueue = queue._PySimpleQueue


def wait(self, timeout=None):
    """Wait until notified or until a timeout occurs."""
    if timeout is None and self._is_owned():
        raise RuntimeError(NEVER.format("notify this condition (of a queue, an event, a barrier or a future)"))
    return _wait(self, timeout)


wait.__name__, wait.__qualname__, wait.__module__ = "wait", "Condition.wait", "threading"


class Lock:
    """A lock object is a synchronization primitive."""

    __slots__ = ("__weakref__", "_lock", "locked", "release")

    def __init__(self):
        self._lock = lock = allocate_lock()
        self.locked, self.release = lock.locked, lock.release

    def acquire(self, blocking=True, timeout=-1):
        """Lock the lock. Return True if it is locked now."""
        if self._lock.acquire(False):
            return True
        if blocking and timeout == -1:
            raise RuntimeError(NEVER.format("release this lock"))
        return self._lock.acquire(blocking, timeout)

    acquire_lock = acquire

    def __enter__(self):
        return self.acquire()

    def __exit__(self, kind, value, traceback):
        self.release()

    def __repr__(self):
        state = "locked" if self.locked() else "unlocked"
        return f"<{state} _thread.lock object at {id(self):#x}>"

    def __reduce_ex__(self, protocol):
        raise TypeError("cannot pickle '_thread.lock' object")


Lock.__name__ = Lock.__qualname__ = "lock"
Lock.__module__ = "_thread"
