"""The time limit of a request: the host sends SIGUSR1 when a tool keeps the loop busy beyond it.

A tool that waits is cancelled by a message of the host's instead.
"""

from ..pristine import __builtins__

import signal

from ..own_files import OWN

TOO_LONG = "the time limit of this request is reached"

# Libraries that call tools: an exception raised in their frames would not end the tool, but the server.
_LIBRARIES = frozenset(
    ("anyio", "mcp", "mcp_types", "fastmcp", "starlette", "fastapi", "pydantic", "sse_starlette", "uvicorn")
)


def limit_reached(number, frame):
    """Raises TimeoutError in the tool that keeps the loop busy; nothing while the loop waits. A handler of SIGUSR1."""
    while frame is not None and not _is_loop(frame):
        if not _is_machinery(frame.f_code.co_filename):
            if _inside_loop(frame):
                raise TimeoutError(TOO_LONG)
            return
        frame = frame.f_back


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
