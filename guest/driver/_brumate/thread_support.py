"""Threads are CPython's own. This adds the numbers of threads that this platform's build lacks."""

from .pristine import __builtins__

import _thread
import itertools
import os
import sys
import threading

_main_thread = threading.main_thread
_numbers = itertools.count(1)
# The number of each thread.
_own = _thread._local()


def install():
    """Done once, at boot: adds the functions, and has libraries find that threads can start."""
    _thread.get_native_id = threading.get_native_id = get_native_id
    if not hasattr(threading.Thread, "native_id"):
        threading._HAVE_THREAD_NATIVE_ID = True
        threading.Thread._native_id = None
        threading.Thread._set_native_id = _set_native_id
        threading.Thread.native_id = property(_native_id)
        threading.__all__.append("get_native_id")
        _set_native_id(_main_thread())
    _tell_of_threads()


def _tell_of_threads():
    """`sys._emscripten_info.pthreads`: libraries, and CPython's tests, look there for whether threads can start."""
    known = getattr(sys, "_emscripten_info", None)
    if known is not None and not known.pthreads:
        sys._emscripten_info = type(known)((known.emscripten_version, known.runtime, True, known.shared_memory))


def get_native_id():
    """Return a non-negative integer identifying the thread as reported by the OS (kernel)."""
    try:
        return _own.number
    except AttributeError:
        # The first thread has the number of the process, as in Linux. A thread that begins is in no table yet.
        first = _thread.get_ident() == _main_thread().ident
        _own.number = os.getpid() if first else os.getpid() + next(_numbers)
        return _own.number


get_native_id.__module__ = "_thread"


def _set_native_id(thread):
    thread._native_id = get_native_id()


def _native_id(thread):
    """Native integral thread ID of this thread, or None if it has not been started."""
    return thread._native_id
