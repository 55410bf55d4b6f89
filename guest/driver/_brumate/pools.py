"""Pools of processes for a sandbox that starts none: calls run in the caller's thread, one after the other.

`multiprocessing.pool` is the standard library's, with this `Pool`. What differs from a real one: a function that
changes global state or its arguments changes the caller's, and a call's time limit is not watched. `ThreadPool` is
CPython's own.
"""

from .pristine import __builtins__

import collections
import functools
import os
import sys
import weakref

RUN, CLOSE, TERMINATE = "RUN", "CLOSE", "TERMINATE"

# It is being imported when this is.
_standard = sys.modules["multiprocessing.pool"]
_Pool, _ThreadPool = _standard.Pool, _standard.ThreadPool


class ApplyResult(_standard.ApplyResult):
    """The outcome of `apply_async`; it is there from the beginning."""

    def __init__(self, function, callback, error_callback):
        self._value = self._error = None
        try:
            self._value = function()
        except Exception as error:
            self._error = error
            if error_callback is not None:
                error_callback(error)
        else:
            if callback is not None:
                callback(self._value)

    def ready(self):
        """Whether the call has completed."""
        return True

    def successful(self):
        """Whether the call completed without raising an exception."""
        return self._error is None

    def wait(self, timeout=None):
        """Waits until the result is available."""

    def get(self, timeout=None):
        """The result; raises what the call raised."""
        if self._error is not None:
            raise self._error
        return self._value


class MapResult(ApplyResult):
    """The outcome of `map_async` and `starmap_async`."""


class IMapIterator(_standard.IMapIterator):
    """The results of `imap`: each is computed when it is asked for, or when the pool is joined."""

    def __init__(self, function, iterable):
        self._function = function
        self._items = iter(iterable)
        # Of calls that were not waited for: whether each raised, and what it gave.
        self._done = collections.deque()

    def __iter__(self):
        return self

    def next(self, timeout=None):
        """The next result; raises what its call raised."""
        if self._done:
            raised, value = self._done.popleft()
            if raised:
                raise value
            return value
        return self._function(next(self._items))

    __next__ = next

    def _finish(self):
        for item in self._items:
            try:
                self._done.append((False, self._function(item)))
            except Exception as error:
                self._done.append((True, error))


class Pool(_Pool):
    """The interface of `multiprocessing.pool.Pool`, with the caller as the only worker."""

    def __init__(self, processes=None, initializer=None, initargs=(), maxtasksperchild=None, context=None):
        if isinstance(self, _ThreadPool):  # which finds its base class by this name
            return _Pool.__init__(self, processes, initializer, initargs)
        if processes is None:
            processes = os.cpu_count() or 1
        if processes < 1:
            raise ValueError("Number of processes must be at least 1")
        if maxtasksperchild is not None and (not isinstance(maxtasksperchild, int) or maxtasksperchild <= 0):
            raise ValueError("maxtasksperchild must be a positive int or None")
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
        self._processes = processes
        self._state = RUN
        self._iterators = []
        if initializer is not None:
            initializer(*initargs)

    def __repr__(self):
        kind = type(self)
        return f"<{kind.__module__}.{kind.__qualname__} state={self._state} pool_size={self._processes}>"

    def __reduce__(self):
        raise NotImplementedError("pool objects cannot be passed between processes or pickled")

    def __enter__(self):
        self._check_running()
        return self

    def __exit__(self, *error):
        self.terminate()

    def _check_running(self):
        if self._state != RUN:
            raise ValueError("Pool not running")

    def apply(self, func, args=(), kwds={}):  # noqa: B006 - multiprocessing's own signature
        """Calls `func`; the result is returned."""
        return self.apply_async(func, args, kwds).get()

    def apply_async(self, func, args=(), kwds={}, callback=None, error_callback=None):  # noqa: B006 - as above
        """Calls `func`; the result is there when this returns."""
        self._check_running()
        return ApplyResult(lambda: func(*args, **kwds), callback, error_callback)

    def map(self, func, iterable, chunksize=None):
        """The results of `func` of each item, as a list."""
        return self.map_async(func, iterable, chunksize).get()

    def map_async(self, func, iterable, chunksize=None, callback=None, error_callback=None):
        """Like `map`, as a result that is ready."""
        self._check_running()
        return MapResult(lambda: [func(item) for item in iterable], callback, error_callback)

    def starmap(self, func, iterable, chunksize=None):
        """Like `map`; each item is the arguments of one call."""
        return self.starmap_async(func, iterable, chunksize).get()

    def starmap_async(self, func, iterable, chunksize=None, callback=None, error_callback=None):
        """Like `starmap`, as a result that is ready."""
        self._check_running()
        return MapResult(lambda: [func(*item) for item in iterable], callback, error_callback)

    def imap(self, func, iterable, chunksize=1):
        """An iterator over the results of `func` of each item."""
        self._check_running()
        if chunksize < 1:
            raise ValueError(f"Chunksize must be 1+, not {chunksize:n}")
        results = IMapIterator(func, iterable)
        self._iterators.append(results)
        return results

    imap_unordered = imap

    def close(self):
        """No more calls."""
        if self._state == RUN:
            self._state = CLOSE

    def terminate(self):
        """No more calls; those that nobody asked for are dropped."""
        self._state = TERMINATE
        self._iterators.clear()

    def join(self):
        """Makes the calls that are left."""
        if self._state == RUN:
            raise ValueError("Pool is still running")
        iterators, self._iterators = self._iterators, []
        for results in iterators:
            results._finish()


def replace(module):
    """Gives `multiprocessing.pool` this `Pool`, and has its threads end when they only wait."""
    for kind in (ApplyResult, IMapIterator, MapResult, Pool):
        kind.__module__ = module.__name__
    module.Pool = Pool
    make, check = _ThreadPool.__init__, _ThreadPool._check_running

    @functools.wraps(make)
    def __init__(self, *arguments, **options):
        make(self, *arguments, **options)
        _Threads.pools.add(self)

    @functools.wraps(check)
    def _check_running(self):
        check(self)
        if self in _Threads.resting:
            _Threads.resting.discard(self)
            self.__init__(self._processes, self._initializer, self._initargs)

    _ThreadPool.__init__, _ThreadPool._check_running = __init__, _check_running


class _Threads:
    """Pools of threads."""

    # Those with live threads, and those whose threads have ended until they are used again.
    pools = weakref.WeakSet()
    resting = weakref.WeakSet()


def rest():
    """Ends the threads of pools that have no work."""
    for pool in list(_Threads.pools):
        if pool._state != RUN:
            _Threads.pools.discard(pool)
        elif not pool._cache and pool._taskqueue.empty() and pool._inqueue.empty() and pool._outqueue.empty():
            _Threads.pools.discard(pool)
            _Threads.resting.add(pool)
            pool._terminate()
            for thread in pool._pool:
                thread.join()
