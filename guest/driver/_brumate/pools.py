"""Pools of processes and threads for a sandbox that has neither: calls run in the caller's thread, one after the other.

Takes the place of `multiprocessing.pool` and `concurrent.futures.process`. What differs from real pools: a function
that changes global state or its arguments changes the caller's, and a call's time limit is not watched.
"""

from .pristine import __builtins__

import collections
import concurrent.futures
import os
import types

RUN, CLOSE, TERMINATE = "RUN", "CLOSE", "TERMINATE"


class MaybeEncodingError(Exception):
    """A result cannot be sent to another process; there is none, so nothing raises this."""


class ApplyResult:
    """The outcome of `apply_async`; it is there from the beginning."""

    __class_getitem__ = classmethod(types.GenericAlias)

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


AsyncResult = ApplyResult


class MapResult(ApplyResult):
    """The outcome of `map_async` and `starmap_async`."""


class IMapIterator:
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


IMapUnorderedIterator = IMapIterator


class Pool:
    """The interface of `multiprocessing.pool.Pool`, with the caller as the only worker."""

    def __init__(self, processes=None, initializer=None, initargs=(), maxtasksperchild=None, context=None):
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


class ThreadPool(Pool):
    """The interface of `multiprocessing.pool.ThreadPool`."""

    def __init__(self, processes=None, initializer=None, initargs=()):
        super().__init__(processes, initializer, initargs)


class BrokenProcessPool(concurrent.futures.BrokenExecutor):
    """A worker died; there is none, so nothing raises this."""


class ProcessPoolExecutor(concurrent.futures.ThreadPoolExecutor):
    """The interface of `concurrent.futures.ProcessPoolExecutor`; `submit` is that of threads here, which is inline."""

    def __init__(self, max_workers=None, mp_context=None, initializer=None, initargs=(), *, max_tasks_per_child=None):
        if max_tasks_per_child is not None:
            if not isinstance(max_tasks_per_child, int):
                raise TypeError("max_tasks_per_child must be an integer")
            if max_tasks_per_child <= 0:
                raise ValueError("max_tasks_per_child must be >= 1")
        super().__init__(max_workers or os.cpu_count() or 1, initializer=initializer, initargs=initargs)

    def map(self, fn, *iterables, timeout=None, chunksize=1, **options):
        """The results of `fn` of each item, in order."""
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        return super().map(fn, *iterables, timeout=timeout, **options)

    def terminate_workers(self):
        """Shuts the executor down."""
        self.shutdown(wait=False, cancel_futures=True)

    kill_workers = terminate_workers


# What each module is to have.
MODULES = {
    "multiprocessing.pool": (ApplyResult, IMapIterator, MapResult, MaybeEncodingError, Pool, ThreadPool),
    "concurrent.futures.process": (BrokenProcessPool, ProcessPoolExecutor),
}


def fill(module):
    """Gives a module its classes, which are named as if they came from there."""
    for kind in MODULES[module.__name__]:
        kind.__module__ = module.__name__
        setattr(module, kind.__name__, kind)
    if module.__name__ == "multiprocessing.pool":
        module.AsyncResult, module.IMapUnorderedIterator = AsyncResult, IMapUnorderedIterator
        module.RUN, module.CLOSE, module.TERMINATE = RUN, CLOSE, TERMINATE
        module.__all__ = ["Pool", "ThreadPool"]
