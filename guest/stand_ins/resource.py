"""What the sandbox's program uses, and its limits, which are set from outside.

In the place of the module in C that other platforms have. Numbers of limits are those of Linux.
"""

import os
import time
from collections import namedtuple
from operator import index

error = OSError

RLIM_INFINITY = -1
RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_DATA, RLIMIT_STACK, RLIMIT_CORE, RLIMIT_RSS, RLIMIT_NPROC, RLIMIT_NOFILE = range(8)
RLIMIT_OFILE = RLIMIT_NOFILE
RLIMIT_MEMLOCK, RLIMIT_AS, _, RLIMIT_SIGPENDING, RLIMIT_MSGQUEUE, RLIMIT_NICE, RLIMIT_RTPRIO, RLIMIT_RTTIME = range(
    8, 16
)
RUSAGE_SELF, RUSAGE_CHILDREN, RUSAGE_THREAD = 0, -1, 1

_KINDS = range(16)
# What `setrlimit` was given: it is reported, and limits nothing.
_given = {}
_PAGE = 65536

_FIELDS = (
    "ru_utime ru_stime ru_maxrss ru_ixrss ru_idrss ru_isrss ru_minflt ru_majflt ru_nswap ru_inblock ru_oublock "
    "ru_msgsnd ru_msgrcv ru_nsignals ru_nvcsw ru_nivcsw"
)


class struct_rusage(namedtuple("struct_rusage", _FIELDS)):
    """What a process has used."""

    __slots__ = ()

    def __repr__(self):
        return "resource." + super().__repr__()


struct_rusage.__module__ = "resource"


def _memory():
    """KiB that the interpreter has. WebAssembly's memory does not shrink: it is the most as well."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * _PAGE // 1024
    except (OSError, ValueError, IndexError):
        return 0


def getrusage(who, /):
    """Return the resources that the program has used: its CPU time, and its memory in KiB."""
    if who not in (RUSAGE_SELF, RUSAGE_CHILDREN, RUSAGE_THREAD):
        raise ValueError("invalid who parameter")
    if who == RUSAGE_CHILDREN:
        return struct_rusage(0.0, 0.0, *[0] * 14)
    return struct_rusage(time.process_time(), 0.0, _memory(), *[0] * 13)


def getrlimit(resource, /):
    """Return the soft and the hard limit of a resource."""
    return _given.get(_kind(resource), (RLIM_INFINITY, RLIM_INFINITY))


def setrlimit(resource, limits, /):
    """Takes note of limits: those that hold are the sandbox's own, set by whoever started it."""
    kind = _kind(resource)
    soft, hard = (_limit(number) for number in limits)
    highest = _given.get(kind, (RLIM_INFINITY, RLIM_INFINITY))[1]
    unlimited = hard == RLIM_INFINITY
    if hard != RLIM_INFINITY and (soft == RLIM_INFINITY or soft > hard):
        raise ValueError("current limit exceeds maximum limit")
    if highest != RLIM_INFINITY and (unlimited or hard > highest):
        raise ValueError("not allowed to raise maximum limit")
    _given[kind] = (soft, hard)


def getpagesize():
    """Return the number of bytes in a system page."""
    return _PAGE


def _kind(resource):
    number = index(resource)
    if abs(number) > 0x7FFF_FFFF:
        raise OverflowError("Python int too large to convert to C int")
    if number not in _KINDS:
        raise ValueError("invalid resource specified")
    return number


def _limit(number):
    if index(number) < RLIM_INFINITY:
        raise ValueError("Cannot convert negative int")
    return index(number)
