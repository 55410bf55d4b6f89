"""`concurrent.futures.process` for a sandbox that starts no processes: calls run in the caller's thread.

A function that changes global state or its arguments changes the caller's.
"""

from .pristine import __builtins__

import concurrent.futures
import os

MODULE = "concurrent.futures.process"


class BrokenProcessPool(concurrent.futures.BrokenExecutor):
    """A worker died; there is none, so nothing raises this."""


class ProcessPoolExecutor(concurrent.futures.Executor):
    """The interface of `concurrent.futures.ProcessPoolExecutor`."""

    def __init__(self, max_workers=None, mp_context=None, initializer=None, initargs=(), *, max_tasks_per_child=None):
        if max_tasks_per_child is not None:
            if not isinstance(max_tasks_per_child, int):
                raise TypeError("max_tasks_per_child must be an integer")
            if max_tasks_per_child <= 0:
                raise ValueError("max_tasks_per_child must be >= 1")
        if max_workers is not None and max_workers <= 0:
            raise ValueError("max_workers must be greater than 0")
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
        self._max_workers = max_workers or os.cpu_count() or 1
        # Called before the first call.
        self._initializer, self._initargs = initializer, initargs
        self._shutdown = False

    def submit(self, fn, /, *args, **kwargs):
        """Calls `fn`; the future is done when it is returned."""
        if self._shutdown:
            raise RuntimeError("cannot schedule new futures after shutdown")
        initialize, self._initializer = self._initializer, None
        if initialize is not None:
            initialize(*self._initargs)
        future = concurrent.futures.Future()
        future.set_running_or_notify_cancel()
        try:
            result = fn(*args, **kwargs)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)
        return future

    def shutdown(self, wait=True, *, cancel_futures=False):
        """No more calls."""
        self._shutdown = True

    def map(self, fn, *iterables, timeout=None, chunksize=1, **options):
        """The results of `fn` of each item, in order."""
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        return super().map(fn, *iterables, timeout=timeout, **options)

    def terminate_workers(self):
        """Shuts the executor down."""
        self.shutdown(wait=False, cancel_futures=True)

    kill_workers = terminate_workers


def fill(module):
    """Gives the module its classes, which are named as if they came from there."""
    for kind in (BrokenProcessPool, ProcessPoolExecutor):
        kind.__module__ = module.__name__
        setattr(module, kind.__name__, kind)
