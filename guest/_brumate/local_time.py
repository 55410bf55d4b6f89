"""`time.tzset`: local time as `TZ` says. The host keeps it, for the C library's functions of local time are there."""

from .pristine import __builtins__

import fcntl
import os
import re
import struct
import sys
import time

from . import channel

# Number of `brumate-engine`'s `libc/zone.rs`.
_SET_ZONE = 0x42720003
# What holds before the first change.
_EVER = -(2**62)
# Rules are written down for these years: the host repeats the last 400.
_FIRST_YEAR, _LAST_YEAR = 1900, 2441
# As the host: entries, and characters of a name.
_MAX_ENTRIES, _MAX_NAME = 4096, 15
_DIRECTORY = "/usr/share/zoneinfo/"
# Rules of a text that names summer time and does not say when.
_USUAL_RULES = ",M3.2.0,M11.1.0"
_YEAR = (365 * 24 + 6) * 3600

_ioctl = fcntl.ioctl


def tzset():
    """Initialize, or reinitialize, the local timezone to the value stored in os.environ['TZ']."""
    text = os.environ.get("TZ", "")
    entries = _entries(text.removeprefix(":").removeprefix(_DIRECTORY))
    block = bytearray(struct.pack("<II", len(entries), 0))
    for at, offset, is_summer, name in entries:
        block += struct.pack("<qiI16s", at, offset, is_summer, name[:_MAX_NAME].encode("ascii", "replace"))
    _ioctl(channel.descriptor(), _SET_ZONE, block)
    # As CPython finds them out: by a day in winter and one in summer.
    start = int(time.time()) // _YEAR * _YEAR
    january, july = time.localtime(start), time.localtime(start + _YEAR // 2)
    # South of the equator summer is in January.
    standard, summer = (july, january) if january.tm_gmtoff > july.tm_gmtoff else (january, july)
    time.timezone, time.altzone = -standard.tm_gmtoff, -summer.tm_gmtoff
    time.daylight = int(standard.tm_gmtoff != summer.tm_gmtoff)
    time.tzname = (standard.tm_zone, summer.tm_zone)


def _entries(name):
    """What holds from when on: seconds since 1970, seconds east of UTC, whether it is summer time, and a name."""
    if not name or name in ("UTC", "UTC0"):
        return []
    data = _file(name)
    if data is not None:
        return _of_file(data)
    rules = _rules(name) or _rules(name + _USUAL_RULES)
    if rules is not None:
        return _of_rules(rules, _FIRST_YEAR, [])
    # As the GNU C library: UTC, by the name that the text begins with.
    letters = re.match("[A-Za-z]{3,}", name)
    return [(_EVER, 0, False, letters[0] if letters else "UTC")]


def _file(name):
    """The zone of a name of the database, or in a file of the sandbox; None if there is none."""
    from zoneinfo import _common

    try:
        if name.startswith("/"):
            with open(name, "rb") as file:
                return _common.load_data(file)
        with _common.load_tzdata(name) as file:
            return _common.load_data(file)
    except (LookupError, OSError, ValueError, ImportError):
        return None


def _of_file(data):
    indexes, moments, offsets, summers, names, rules = data
    kinds = [
        (int(offset), bool(summer), name) for offset, summer, name in zip(offsets, summers, names, strict=True)
    ]
    first = next((kind for kind in kinds if not kind[1]), kinds[0] if kinds else (0, False, "UTC"))
    entries = [(_EVER, *first)]
    for moment, index in zip(moments, indexes, strict=True):
        if moment > entries[-1][0]:
            entries.append((moment, *kinds[index]))
    rules = _rules(rules.decode() if isinstance(rules, bytes) else rules or "")
    if rules is None:
        return entries[-_MAX_ENTRIES:]
    last = time.gmtime(entries[-1][0]).tm_year if len(entries) > 1 else _FIRST_YEAR
    return _of_rules(rules, last, entries)


def _rules(text):
    """What a text of POSIX says: `CET-1CEST,M3.5.0,M10.5.0/3`. None if it says nothing."""
    from zoneinfo import _zoneinfo

    try:
        return _zoneinfo._parse_tz_str(text)
    except ValueError:
        return None


def _of_rules(rules, year, entries):
    """Adds what rules say from a year on."""
    kind = lambda info, is_summer: (int(info.utcoff.total_seconds()), is_summer, info.tzname)  # noqa: E731
    if not hasattr(rules, "std"):
        if not entries:
            return [(_EVER, *kind(rules, False))]
        return entries
    standard, summer = kind(rules.std, False), kind(rules.dst, True)
    entries = entries or [(_EVER, *standard)]
    for one in range(year, _LAST_YEAR):
        begins, ends = rules.transitions(one)
        for entry in sorted([(begins - standard[0], *summer), (ends - summer[0], *standard)]):
            if entry[0] > entries[-1][0]:
                entries.append(entry)
    return entries[:1] + entries[1:][-_MAX_ENTRIES + 1 :]


def install():
    """Puts it into `time`."""
    if sys.platform == "emscripten":
        tzset.__module__ = "time"
        time.tzset = tzset
