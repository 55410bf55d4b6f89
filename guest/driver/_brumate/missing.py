"""Functions of the standard library that this platform's build leaves out, where they can be had all the same."""

from .pristine import __builtins__

import errno
import os
import site
import sys
import time

from . import packages


def install():
    """Adds what is not there."""
    if sys.platform == "emscripten":
        _add(site, "getsitepackages", getsitepackages)
    for name, function in _OF_THE_PROCESS.items():
        if not hasattr(os, name):
            _add(os, name, function)
    if not hasattr(time, "thread_time"):
        _add(time, "thread_time", _thread_time)
        _add(time, "thread_time_ns", _thread_time_ns)
        _add(time, "get_clock_info", _clock_info)


def _add(module, name, function):
    function.__name__ = function.__qualname__ = name
    function.__module__ = module.__name__
    setattr(module, name, function)


_get_site_packages = site.getsitepackages


def getsitepackages(prefixes=None):
    """Returns a list containing all global site-packages directories."""
    found = _get_site_packages(prefixes)
    return found if prefixes is not None else [packages.DIRECTORY, *found]


def _effective_user():
    """Return the current process's effective user id."""
    return os.getuid()


def _effective_group():
    """Return the current process's effective group id."""
    return os.getgid()


def _groups():
    """Return list of supplemental group IDs for the process."""
    return [os.getgid()]


def _affinity(pid, /):
    """Return the affinity of the process identified by pid (or the current process if zero): all processors."""
    if pid not in (0, os.getpid()):
        raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
    return set(range(os.cpu_count() or 1))


def _thread_time():
    """Thread time for profiling: that of the process, as this platform counts none of single threads."""
    return time.process_time()


def _thread_time_ns():
    """Thread time for profiling as nanoseconds: that of the process, as of `thread_time`."""
    return time.process_time_ns()


_get_clock_info = time.get_clock_info


def _clock_info(name, /):
    """Returns what is known of a clock: its resolution, and whether it can be set."""
    if name != "thread_time":
        return _get_clock_info(name)
    info = _get_clock_info("process_time")
    info.implementation = "clock_gettime(CLOCK_THREAD_CPUTIME_ID)"
    return info


_OF_THE_PROCESS = {
    "geteuid": _effective_user,
    "getegid": _effective_group,
    "getgroups": _groups,
    "sched_getaffinity": _affinity,
}


def without_browser(module):
    """Has `webbrowser` answer as where no browser is found."""

    def get(using=None):
        """Return a browser launcher instance appropriate for the environment."""
        if using is None:
            raise module.Error("could not locate runnable browser")
        return registered(using)

    def open(url, new=0, autoraise=True):
        """Display url using the default browser: False, as there is none."""
        return False

    registered, module.get, module.open = module.get, get, open
