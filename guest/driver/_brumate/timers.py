"""`signal.alarm` and the timers of `signal`: the host keeps the timer of SIGALRM.

A handler of SIGALRM runs only while code of the guest does: it may raise, and the driver must not be stopped half-way.
"""

from .pristine import __builtins__

import _signal
import errno
import math
import signal
import time

from . import interrupts

_SIGALRM = _signal.SIGALRM
# SIGKILL and SIGSTOP.
_NOT_TO_BE_CAUGHT = (9, 19)
# The longest time, in seconds, so that numbers of nanoseconds keep within 64 bits.
_MAX_SECONDS = 1 << 32
# How long `pause` sleeps at a time, in seconds.
_STEP = 3600

_set_handler, _get_handler = signal.signal, signal.getsignal


def install():
    """Adds to `signal` what is not there."""
    if hasattr(signal, "setitimer"):
        return
    signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF = 0, 1, 2
    signal.ItimerError = OSError
    for function in (alarm, setitimer, getitimer, pause, signal_, getsignal):
        name = function.__name__.rstrip("_")
        function.__name__ = function.__qualname__ = name
        function.__module__ = "signal"
        setattr(signal, name, function)


class Handler:
    """Calls the guest's handler of SIGALRM unless the driver is at work."""

    __slots__ = ("function",)

    def __init__(self, function):
        self.function = function

    def __call__(self, number, frame):
        if interrupts.guest_is_running():
            return self.function(number, frame)


def signal_(signalnum, handler, /):
    """Set the action for the given signal, and return the previous one."""
    if signalnum in _NOT_TO_BE_CAUGHT:
        raise OSError(errno.EINVAL, "Invalid argument")
    if signalnum == _SIGALRM and callable(handler):
        handler = Handler(handler)
    return _given(_set_handler(signalnum, handler))


def getsignal(signalnum, /):
    """Return the current action for the given signal."""
    return _given(_get_handler(signalnum))


def _given(handler):
    return handler.function if type(handler) is Handler else handler


def alarm(seconds, /):
    """Arrange for SIGALRM to arrive after the given number of seconds. Returns the seconds that were left before."""
    return math.ceil(_set(float(seconds.__index__()), 0.0)[0])


def setitimer(which, seconds, interval=0.0, /):
    """Sets given itimer, ITIMER_REAL, to fire after value seconds and after that every interval seconds."""
    _check(which)
    seconds, interval = float(seconds), float(interval)
    if seconds < 0 or interval < 0:
        raise OSError(22, "Invalid argument")
    return _set(seconds, interval)


def getitimer(which, /):
    """Returns current value of given itimer."""
    _check(which)
    return _set(-1.0, 0.0)


def pause():
    """Wait until a signal arrives."""
    if not getitimer(signal.ITIMER_REAL)[0]:
        raise RuntimeError(
            "no signal would ever arrive: set signal.alarm() or signal.setitimer() before signal.pause()"
        )
    left, interval = getitimer(signal.ITIMER_REAL)
    while left and not interval:
        time.sleep(min(left, _STEP))
        left, interval = getitimer(signal.ITIMER_REAL)
    if interval:
        time.sleep(left)


def _check(which):
    if which in (signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
        raise OSError(22, "Invalid argument: this sandbox has only signal.ITIMER_REAL")
    if which != signal.ITIMER_REAL:
        raise OSError(22, "Invalid argument")


_sleep = time.sleep


def sleep(secs, /):
    """Delay execution for a given number of seconds, also when handlers of signals run meanwhile."""
    end = time.monotonic() + secs
    _sleep(secs)
    while (left := end - time.monotonic()) > 0:
        _sleep(left)


def _set(delay, interval):
    # It is loaded when the first program asks for it.
    import _brumate_system

    # The platform's own ends with the first signal.
    time.sleep = sleep

    return _brumate_system.set_timer(min(delay, _MAX_SECONDS), min(interval, _MAX_SECONDS))
