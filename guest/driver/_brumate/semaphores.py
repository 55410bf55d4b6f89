"""Locks of `multiprocessing` where there is one process: the standard library's classes, over a semaphore in Python."""

from .pristine import __builtins__

import sys
import threading
import types
from _thread import get_ident
from importlib.machinery import PathFinder

from .import_hooks import WrappedLoader

MODULE = "multiprocessing.synchronize"
_IN_C = "_multiprocessing"
_RECURSIVE_MUTEX = 0


class SemLock:
    """A semaphore, or a lock that the thread that has it may take again."""

    SEM_VALUE_MAX = 2**31 - 1

    def __init__(self, kind, value, maxvalue, name, unlink):
        if not 0 <= value <= maxvalue <= self.SEM_VALUE_MAX:
            raise ValueError("invalid value")
        self.kind, self.maxvalue, self.name, self.handle = kind, maxvalue, None, id(self)
        self._value, self._held, self._holder = value, 0, None
        self._changed = threading.Condition(threading.Lock())

    def acquire(self, block=True, timeout=None):
        """Acquire the semaphore/lock."""
        if self.kind == _RECURSIVE_MUTEX and self._is_mine():
            self._held += 1
            return True
        with self._changed:
            if not self._value and block:
                self._changed.wait_for(self._get_value, timeout)
            if not self._value:
                return False
            self._value -= 1
            self._held += 1
            self._holder = get_ident()
            return True

    def release(self):
        """Release the semaphore/lock."""
        if self.kind == _RECURSIVE_MUTEX:
            if not self._is_mine():
                raise AssertionError("attempt to release recursive lock not owned by thread")
            if self._held > 1:
                self._held -= 1
                return
        with self._changed:
            if self._value >= self.maxvalue:
                raise ValueError("semaphore or lock released too many times")
            self._value += 1
            self._held -= 1
            self._changed.notify()

    def __enter__(self):
        return self.acquire()

    def __exit__(self, kind=None, value=None, traceback=None):
        self.release()

    def _count(self):
        """Num of `acquire()`s minus num of `release()`s for this process."""
        return self._held

    def _is_mine(self):
        """Whether the lock is owned by this thread."""
        return self._held > 0 and self._holder == get_ident()

    def _get_value(self):
        """Get the value of the semaphore."""
        return self._value

    def _is_zero(self):
        """Return whether semaphore has value zero."""
        return self._value == 0

    def _after_fork(self):
        """Rezero the net acquisition count after fork()."""
        self._held = 0


def find_spec(path):
    """Finds `multiprocessing.synchronize`, over these semaphores.

    Everything else finds no `_multiprocessing`: libraries that find it take processes for possible.
    """
    spec = PathFinder.find_spec(MODULE, path)
    if spec is not None:
        spec.loader = _Loader(spec.loader)
    return spec


class _Loader(WrappedLoader):
    def exec_module(self, module):
        stand_in = types.ModuleType(_IN_C)
        stand_in.SemLock, stand_in.sem_unlink = SemLock, None
        before = sys.modules.get(_IN_C)
        sys.modules[_IN_C] = stand_in
        try:
            self._loader.exec_module(module)
        finally:
            if before is None:
                del sys.modules[_IN_C]
            else:
                sys.modules[_IN_C] = before
