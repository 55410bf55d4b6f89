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
# Moment before all changes.
_EVER = -(2**62)
# Rules are written down for these years: the host repeats the last 400.
_FIRST_YEAR, _LAST_YEAR = 1900, 2441
# The host's limits: entries, and characters of a name.
_MAX_ENTRIES, _MAX_NAME = 4096, 15
_DIRECTORY = "/usr/share/zoneinfo/"
# Rules of a text that names summer time and does not say when.
_USUAL_RULES = ",M3.2.0,M11.1.0"
_YEAR = (365 * 24 + 6) * 3600
_NAME, _OFFSET = "[A-Za-z]{3,15}|<[A-Za-z0-9+-]{3,15}>", "[+-]?[0-9]{1,2}(?::[0-5][0-9]){0,2}"
_DAY = (
    "(?:M(?:1[0-2]|[1-9])\\.[1-5]\\.[0-6]|J(?:36[0-5]|3[0-5][0-9]|[12]?[0-9]{1,2})|36[0-5]|3[0-5][0-9]|[12]?[0-9]{1,2})"
)
_RULE = f"{_DAY}(?:/[+-]?[0-9]{{1,3}}(?::[0-5][0-9]){{0,2}})?"
# `CET-1CEST,M3.5.0,M10.5.0/3`
_TEXT = re.compile(
    f"(?P<name>{_NAME})(?P<offset>{_OFFSET})"
    f"(?:(?P<summer>{_NAME})(?P<ahead>{_OFFSET})?(?:,(?P<begins>{_RULE}),(?P<ends>{_RULE}))?)?"
)

_ioctl = fcntl.ioctl


def tzset():
    """Initialize, or reinitialize, the local timezone to the value stored in os.environ['TZ']."""
    text = os.environ.get("TZ", "")
    entries = _entries(text.removeprefix(":").removeprefix(_DIRECTORY))
    block = bytearray(struct.pack("<II", len(entries), 0))
    for at, offset, is_summer, name in entries:
        block += struct.pack("<qiI16s", at, offset, is_summer, name[:_MAX_NAME].encode("ascii", "replace"))
    _ioctl(channel.descriptor(), _SET_ZONE, block)
    # CPython looks at a day in winter and one in summer, too.
    start = int(time.time()) // _YEAR * _YEAR
    january, july = time.localtime(start), time.localtime(start + _YEAR // 2)
    # South of the equator summer is in January.
    standard, summer = (july, january) if january.tm_gmtoff > july.tm_gmtoff else (january, july)
    time.timezone, time.altzone = -standard.tm_gmtoff, -summer.tm_gmtoff
    time.daylight = int(standard.tm_gmtoff != summer.tm_gmtoff)
    time.tzname = (standard.tm_zone, summer.tm_zone)


def _entries(name):
    """Entries of a zone: the moment since 1970, seconds east of UTC from then on, whether it is summer time, a name."""
    if not name or name in ("UTC", "UTC0"):
        return []
    data = _file(name)
    if data is not None:
        return _of_file(data)
    rules = _rules(name)
    if rules is not None:
        return _of_rules(rules, _FIRST_YEAR, [])
    # The GNU C library takes UTC, by the name that the text begins with.
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
    kinds = [(int(offset), bool(summer), name) for offset, summer, name in zip(offsets, summers, names, strict=True)]
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
    """Reads a text of POSIX: standard time, and summer time with its beginning and end. None if it is no such text."""
    found = _TEXT.fullmatch(text)
    if found is None:
        return None
    standard = (-_seconds(found["offset"]), False, found["name"].strip("<>"))
    if found["summer"] is None:
        return standard, None, None, None
    if found["begins"] is None:
        return _rules(text + _USUAL_RULES)
    ahead = standard[0] + 3600 if found["ahead"] is None else -_seconds(found["ahead"])
    return standard, (ahead, True, found["summer"].strip("<>")), found["begins"], found["ends"]


def _seconds(text):
    """Hours, minutes and seconds of `-3:30`, in seconds."""
    parts = [int(part) for part in text.lstrip("+-").split(":")]
    seconds = sum(part * unit for part, unit in zip(parts, (3600, 60, 1), strict=False))
    return -seconds if text.startswith("-") else seconds


def _moment(rule, year):
    """When a rule, such as `M3.5.0/3`, applies in a year: seconds since 1970 of the local time before it."""
    from datetime import date

    day, _, clock = rule.partition("/")
    if day[0] == "M":
        month, week, weekday = map(int, day[1:].split("."))
        first = date(year, month, 1)
        at = first.toordinal() + (weekday - first.isoweekday()) % 7 + (week - 1) * 7
        after = date(year + month // 12, month % 12 + 1, 1).toordinal()
        # The fifth one is the last.
        at -= 7 if at >= after else 0
    else:
        at = date(year, 1, 1).toordinal() + int(day.lstrip("J")) - (day[0] == "J")
        # With J the 29th of February is never counted.
        at += day[0] == "J" and int(day[1:]) >= 60 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return (at - 719_163) * 86_400 + _seconds(clock or "2")


def _of_rules(rules, year, entries):
    """Adds what rules say from a year on."""
    standard, summer, begins, ends = rules
    if summer is None:
        return entries or [(_EVER, *standard)]
    entries = entries or [(_EVER, *standard)]
    for one in range(year, _LAST_YEAR):
        for entry in sorted(
            [(_moment(begins, one) - standard[0], *summer), (_moment(ends, one) - summer[0], *standard)]
        ):
            if entry[0] > entries[-1][0]:
                entries.append(entry)
    return entries[:1] + entries[1:][-_MAX_ENTRIES + 1 :]


def install():
    """Puts it into `time`."""
    if sys.platform == "emscripten":
        tzset.__module__ = "time"
        time.tzset = tzset
