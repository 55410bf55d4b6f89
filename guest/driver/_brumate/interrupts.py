"""Where a KeyboardInterrupt may land.

The host interrupts the guest by writing CPython's signal words, so SIGINT's handler can run between any two bytecodes:
also in the driver, before and after guest code. The handler installed here has two faces. While guest code runs it is
CPython's own `default_int_handler`; the rest of the time it only takes a note. Changing the face is one attribute
store: no call, no jump, hence no point where a signal could be handled in between.

The handler is an object whose `__call__` is the C function itself, so an interrupt adds no frame to tracebacks.
`signal.getsignal` does not report `default_int_handler`: `asyncio.Runner` then leaves SIGINT alone, and a busy
coroutine stops at the first interrupt instead of the second.
"""

from .pristine import __builtins__

import _signal
import sys

# The C functions: those of `signal` convert numbers to enumerations, and can be patched.
_SIGINT = _signal.SIGINT
_set_handler = _signal.signal
_get_handler = _signal.getsignal
_settrace = sys.settrace
_setprofile = sys.setprofile
_get_recursion_limit = sys.getrecursionlimit
_set_recursion_limit = sys.setrecursionlimit

# The driver needs some stack of its own: a limit that a guest lowered below this lasts until its run ends.
MIN_RECURSION_LIMIT = 500


class _State:
    """An interrupt that arrived while it could not be raised."""

    pending = False


def _note(_signum, _frame):
    _State.pending = True


_interrupted = _signal.default_int_handler
_RAISE = staticmethod(_interrupted)
_NOTE = staticmethod(_note)


class _Handler:
    __slots__ = ()
    __call__ = _NOTE

    def __repr__(self):
        return "<SIGINT handler of this sandbox: raises KeyboardInterrupt>"


HANDLER = _Handler()

# A guest handler that raises can defeat an attempt, but only once for each interrupt that the host sends.
_INSTALL_ATTEMPTS = 8


def install():
    """Makes [`HANDLER`] the handler of SIGINT. Guest code may have put another one in place."""
    for _ in range(_INSTALL_ATTEMPTS):
        try:
            if _get_handler(_SIGINT) is not HANDLER:
                _set_handler(_SIGINT, HANDLER)
            return
        except BaseException:
            _State.pending = True


def guest_is_running():
    """Whether an exception may be raised between any two bytecodes."""
    return _Handler.__call__ is _interrupted


def forget():
    """Drops an interrupt that arrived too late to stop anything."""
    _State.pending = False


class Held:
    """Inside, where guest code runs, interrupts are not raised: what the last one led to is being told. They are
    dropped."""

    __slots__ = ()

    def __enter__(self):
        _Handler.__call__ = _NOTE

    def __exit__(self, *_error):
        _State.pending = False
        _Handler.__call__ = _RAISE


def call(function, *args):
    """Calls what may run guest code. Returns `(value, exception)`, one of them None; never raises.

    Interrupts are raised inside, and only inside. Trace and profile functions that the guest left behind are removed
    before any other Python code of ours can be traced by them.
    """
    value = error = None
    try:
        _Handler.__call__ = _RAISE
        if _State.pending:
            _State.pending = False
            raise KeyboardInterrupt
        value = function(*args)
        _Handler.__call__ = _NOTE
    except BaseException as caught:
        _Handler.__call__ = _NOTE
        error = caught
    if _get_recursion_limit() < MIN_RECURSION_LIMIT:
        _set_recursion_limit(MIN_RECURSION_LIMIT)
    for _ in (1, 2):  # a profile function may raise when it sees the call that removes it; it is removed by that
        try:
            _setprofile(None)
            _settrace(None)
            break
        except BaseException:
            pass
    try:
        return value, error
    finally:
        error = value = None  # the traceback refers to this frame: no cycle
