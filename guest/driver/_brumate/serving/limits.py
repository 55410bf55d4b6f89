"""The time limit of a request: the host sends SIGUSR1 when a tool keeps the loop busy beyond it.

A tool that waits is cancelled by a message of the host's instead. If it waits for a worker thread of anyio's, whose
function would go on, the cancellation is raised in that function.
"""

from ..pristine import __builtins__

import asyncio
import functools
import signal
import sys
import threading

from ..own_files import OWN

TOO_LONG = "the time limit of this request is reached"

# Libraries that call tools: an exception raised in their frames would not end the tool, but the server.
_LIBRARIES = frozenset(
    ("anyio", "mcp", "mcp_types", "fastmcp", "starlette", "fastapi", "pydantic", "sse_starlette", "uvicorn")
)


# In the host's message that cancels a request whose time limit is reached.
_CANCELS_AT_LIMIT = b'"The request was stopped at its time limit of '
# When worker threads are looked at, in seconds from that message, which a library has yet to act upon.
_LOOKS = (0.1, 0.5, 1)


def limit_reached(number, frame):
    """Raises TimeoutError in the tool that keeps the loop busy; nothing while the loop waits. A handler of SIGUSR1."""
    while frame is not None and not _is_loop(frame):
        if not _is_machinery(frame.f_code.co_filename):
            if _inside_loop(frame):
                raise TimeoutError(TOO_LONG)
            return
        frame = frame.f_back


def note_message(line):
    """Takes a line from the host. One that cancels a request at its time limit stops its worker threads."""
    if _CANCELS_AT_LIMIT in line:
        loop = asyncio.get_running_loop()
        for delay in _LOOKS:
            loop.call_later(delay, _stop_workers)


def _stop_workers():
    """Raises the cancellation in threads of anyio whose callers were cancelled, as its `check_cancelled` does."""
    kind = getattr(sys.modules.get("anyio._backends._asyncio"), "WorkerThread", None)
    if kind is None:
        return
    frames = sys._current_frames()
    for thread in threading.enumerate():
        scope = _cancelled_scope(frames.get(thread.ident), kind.run.__code__) if isinstance(thread, kind) else None
        if scope is not None:
            from ctypes import c_ulong, py_object, pythonapi

            # It is made without arguments. anyio knows its own by their text.
            exception = functools.partial(asyncio.CancelledError, f"Cancelled by cancel scope {id(scope):x}")
            kinds = {"__new__": lambda _kind, exception=exception: exception()}
            cancelled = type("CancelledError", (asyncio.CancelledError,), kinds)
            pythonapi.PyThreadState_SetAsyncExc(c_ulong(thread.ident), py_object(cancelled))


def _cancelled_scope(frame, code):
    """Returns the scope whose cancellation reaches the caller of a thread's function, or None. `code` is that of the
    thread's loop."""
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    scope = None if frame is None else frame.f_locals.get("cancel_scope")
    while scope is not None and not scope.cancel_called:
        scope = None if scope.shield else scope._parent_scope
    return scope


def install():
    """Installs the handler."""
    signal.signal(signal.SIGUSR1, limit_reached)


def _is_loop(frame):
    return frame.f_code.co_name == "_run_once" and "/asyncio/" in frame.f_code.co_filename


def _inside_loop(frame):
    while frame is not None:
        if _is_loop(frame):
            return True
        frame = frame.f_back
    return False


def _is_machinery(name):
    """Returns whether a file is Python's, ours, or one of the libraries that call tools."""
    if name.startswith("<frozen"):
        return True
    _, found, after = name.rpartition("packages/")  # also of `site-packages/`
    if found:
        return after.partition("/")[0].removesuffix(".py") in _LIBRARIES
    return "/lib/python3" in name or name.startswith(OWN)
