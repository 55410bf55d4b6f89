"""Threads that only wait for work, ended at the end of a cell; they start again at their next use.

A session with live threads stays in memory. These threads hold nothing that a program could miss, so a session that has
used an executor can be written to disk like any other:

* workers of `concurrent.futures.ThreadPoolExecutor`, if all workers of the executor are idle;
* threads of `multiprocessing.pool.ThreadPool`, if the pool has no work (see `pools`);
* the monitor of `tqdm`'s bars.
"""

from .pristine import __builtins__

import _thread
import queue
import sys
import threading
import time

# Turns that other threads get, so that those that are about to end or to be idle come to it.
_TURNS = 3
# Seconds that a thread gets to end.
_PATIENCE = 1.0

_count = _thread._count
_sleep = time.sleep
_Semaphore = threading.Semaphore


def end():
    """Ends the threads that only wait for work. Done at once if there is only one thread."""
    for turn in range(_TURNS):
        if not _count():
            return
        if turn:
            _sleep(0)
        _end_workers()
        _end_pools()
        _end_monitors()


def _end_workers():
    module = sys.modules.get("concurrent.futures.thread")
    if module is None:
        return
    executors = {}
    for thread in list(module._threads_queues):
        executor = _executor_of(thread) if thread.is_alive() else None
        if executor is not None:
            executors[id(executor)] = executor
    for executor in executors.values():
        _end_workers_of(executor)


def _executor_of(thread):
    """The executor of a worker; None if either is gone."""
    arguments = getattr(thread, "_args", None)  # deleted when it has ended
    return arguments[0]() if arguments else None


def _end_workers_of(executor):
    """Ends the workers of an executor if all are idle: it is shut down, and opened again without threads."""
    if not executor._shutdown_lock.acquire(blocking=False):
        return
    try:
        alive = [thread for thread in executor._threads if thread.is_alive()]
        idle = executor._idle_semaphore
        if executor._shutdown or executor._broken or not executor._work_queue.empty() or idle._value < len(alive):
            return
        try:
            executor._shutdown = True
            executor._work_queue.put(None)
            _join(alive)
        finally:
            executor._shutdown = False
            # Each worker leaves the sign for the next.
            try:
                while True:
                    executor._work_queue.get_nowait()
            except queue.Empty:
                pass
            executor._threads.intersection_update([thread for thread in alive if thread.is_alive()])
            if not executor._threads:
                executor._idle_semaphore = _Semaphore(0)
    finally:
        executor._shutdown_lock.release()


def _join(threads):
    until = time.monotonic() + _PATIENCE
    for thread in threads:
        thread.join(max(0, until - time.monotonic()))


def _end_pools():
    module = sys.modules.get("_brumate.pools")
    if module is not None:
        module.rest()


def _end_monitors():
    module = sys.modules.get("tqdm._monitor")
    kind = getattr(module, "TMonitor", None)
    if kind is None:
        return
    for thread in threading.enumerate():
        if type(thread) is kind:
            thread.was_killed.set()
            thread.join(_PATIENCE)


def finish_workers(known):
    """Has the workers of executors do the work that is left, and end, but for the threads in `known`. As CPython does
    at the end of a process."""
    module = sys.modules.get("concurrent.futures.thread")
    if module is None:
        return
    ours = [(thread, work) for thread, work in list(module._threads_queues.items()) if thread not in known]
    for thread, _ in ours:
        executor = _executor_of(thread)
        if executor is not None:
            executor._shutdown = True
    for _, work in ours:
        work.put(None)
    for thread, _ in ours:
        thread.join()
