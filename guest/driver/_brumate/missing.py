"""Functions of the standard library that this platform's build leaves out, where they can be had all the same."""

from .pristine import __builtins__

import errno
import faulthandler
import os
import site
import socket
import sys
import threading
import time

from . import packages


def install():
    """Adds what is not there."""
    if sys.platform == "emscripten":
        _add(faulthandler, "dump_traceback_later", _dump_traceback_later)
        _add(site, "getsitepackages", getsitepackages)
    for name, function in _OF_THE_PROCESS.items():
        if not hasattr(os, name):
            _add(os, name, function)
    if not hasattr(time, "thread_time"):
        _add(time, "thread_time", _thread_time)
        _add(time, "thread_time_ns", _thread_time_ns)
        _add(time, "get_clock_info", _clock_info)
    if not hasattr(threading.Thread, "native_id"):
        threading.Thread.native_id = property(_native_id)
    if not socket.has_ipv6:
        _add(socket, "inet_pton", inet_pton)
        _add(socket, "inet_ntop", inet_ntop)


def _add(module, name, function):
    function.__name__ = function.__qualname__ = name
    function.__module__ = module.__name__
    setattr(module, name, function)


_get_site_packages = site.getsitepackages


def getsitepackages(prefixes=None):
    """Returns a list containing all global site-packages directories."""
    found = _get_site_packages(prefixes)
    return found if prefixes is not None else [packages.DIRECTORY, *found]


def _dump_traceback_later(timeout, repeat=False, file=sys.stderr, exit=False, *, max_threads=100):
    """Dump the traceback of all threads in timeout seconds: never here, for no thread could watch the time."""
    if timeout <= 0:
        raise ValueError("timeout must be greater than 0")
    if file is None:
        raise RuntimeError("sys.stderr is None")
    if not isinstance(file, int):
        file.fileno()


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
    """Thread time for profiling: there is one thread, so that of the process."""
    return time.process_time()


def _thread_time_ns():
    """Thread time for profiling as nanoseconds: there is one thread, so that of the process."""
    return time.process_time_ns()


_get_clock_info = time.get_clock_info


def _clock_info(name, /):
    """Returns what is known of a clock: its resolution, and whether it can be set."""
    if name != "thread_time":
        return _get_clock_info(name)
    info = _get_clock_info("process_time")
    info.implementation = "clock_gettime(CLOCK_THREAD_CPUTIME_ID)"
    return info


def _native_id(thread):
    """Native integral thread ID of this thread, or None if it has not been started."""
    return os.getpid() if thread._started.is_set() else None


_OF_THE_PROCESS = {
    "geteuid": _effective_user,
    "getegid": _effective_group,
    "getgroups": _groups,
    "sched_getaffinity": _affinity,
}


_addresses_to_bytes, _bytes_to_addresses = socket.inet_pton, socket.inet_ntop


def inet_pton(address_family, ip_string, /):
    """Convert an IP address from string format to a packed string suitable for use with low-level network functions."""
    if address_family != socket.AF_INET6 or not isinstance(ip_string, str):
        return _addresses_to_bytes(address_family, ip_string)
    import ipaddress

    try:
        if "%" not in ip_string:
            return ipaddress.IPv6Address(ip_string).packed
    except ValueError:
        pass
    raise OSError("illegal IP address string passed to inet_pton")


def inet_ntop(address_family, packed_ip, /):
    """Convert a packed IP address of the given family to string format."""
    if address_family != socket.AF_INET6:
        return _bytes_to_addresses(address_family, packed_ip)
    import ipaddress

    packed = bytes(memoryview(packed_ip))
    if len(packed) != 16:
        raise ValueError("invalid length of packed IP address string")
    # As Linux writes it: the last four bytes of these as those of IPv4.
    if not any(packed[:12]) and any(packed[12:14]):
        return f"::{ipaddress.IPv4Address(packed[12:])}"
    if packed[:12] == bytes(10) + b"\xff\xff":
        return f"::ffff:{ipaddress.IPv4Address(packed[12:])}"
    return str(ipaddress.IPv6Address(packed))


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
