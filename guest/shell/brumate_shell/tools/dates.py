"""`date`: the time, and other times in words."""

import datetime
import re

from brumate_shell import options
from brumate_shell.streams import Refused

_UNITS = {"sec": "seconds", "second": "seconds", "min": "minutes", "minute": "minutes", "hour": "hours",
          "day": "days", "week": "weeks",
          "fortnight": "fortnights", "month": "months", "year": "years"}  # fmt: skip
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_STEP = re.compile(
    r"([-+]?\s*\d+|next|last|a|an)?\s*(?<![a-z])(sec|second|min|minute|hour|day|week|fortnight|month|year)s?\b(\s+ago\b)?"
)
_FORMS = (
    "%Y-%m-%dT%H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%d %H:%M", "%Y-%m-%d",
    "%Y/%m/%d %H:%M:%S", "%Y/%m/%d", "%m/%d/%Y", "%Y%m%d", "%H:%M:%S", "%H:%M", "%d %b %Y %H:%M:%S", "%d %b %Y",
    "%d %B %Y", "%b %d %Y", "%B %d %Y",
    "%b %d, %Y", "%B %d, %Y", "%a, %d %b %Y %H:%M:%S", "%a %b %d %H:%M:%S %Y",
)  # fmt: skip


def date(arguments, streams):
    """date [+FORMAT] [-u] [-d TEXT] [-r FILE] [-I[seconds]] [-R]: the time, or that of a text"""
    import os

    words, detail = [], None
    for word in arguments:
        match = re.fullmatch(r"(?:-I|--iso-8601=?)(date|hours|minutes|seconds|ns)?", word)
        if match:
            detail = match.group(1) or "date"
        else:
            words.append(word)
    found, operands = options.parse(
        words,
        flags="uRn",
        values="drsf",
        long={
            "utc": "u",
            "universal": "u",
            "date": "d",
            "reference": "r",
            "rfc-email": "R",
            "rfc-3339": "f",
            "set": "s",
        },
    )
    if "s" in found:
        raise Refused("the time cannot be set here", 1)
    zone = datetime.UTC if "u" in found else None
    when = datetime.datetime.now(zone).astimezone(zone)
    if "r" in found:
        when = datetime.datetime.fromtimestamp(os.stat(found["r"]).st_mtime, zone).astimezone(zone)
    if "d" in found:
        when = parsed(found["d"], when, zone)
    if operands and operands[0][:1] != "+":
        raise Refused(f"invalid date '{operands[0]}': a format begins with +", 1)
    form = operands[0][1:] if operands else "%a %b %e %H:%M:%S %Z %Y"
    if detail is not None:
        form = {
            "date": "%F",
            "hours": "%FT%H%:z",
            "minutes": "%FT%H:%M%:z",
            "seconds": "%FT%T%:z",
            "ns": "%FT%T,%N%:z",
        }[detail]
    elif "f" in found:
        form = {"date": "%F", "seconds": "%F %T%:z", "ns": "%F %T.%N%:z"}.get(found["f"], "%F %T%:z")
    elif "R" in found:
        form = "%a, %d %b %Y %H:%M:%S %z"
    streams.out.write(shown(when, form) + "\n")
    return 0


def shown(when, form):
    """A time by a format of `date`."""

    def one(found):
        flag, letter = found.groups()
        if letter == "s":
            return str(int(when.timestamp()))
        if letter == "N":
            return f"{when.microsecond:06d}000"[: 3 if flag == "3" else 6 if flag == "6" else 9]
        if letter == ":z":
            text = when.strftime("%z")
            return f"{text[:3]}:{text[3:5]}"
        plain = {
            "F": "%Y-%m-%d", "T": "%H:%M:%S", "D": "%m/%d/%y", "R": "%H:%M", "e": None, "k": None,
            "l": None, "n": "\n", "t": "\t", "%": "%%",
            "h": "%b", "r": "%I:%M:%S %p", "c": "%a %b %e %H:%M:%S %Y", "x": "%m/%d/%y", "X": "%H:%M:%S",
        }  # fmt: skip
        if letter == "P":
            return when.strftime("%p").lower()
        if letter == "q":
            return str((when.month + 2) // 3)
        if letter == "C":
            return f"{when.year // 100:02d}"
        if letter in "ekl":
            text = f"{ {'e': when.day, 'k': when.hour, 'l': when.hour % 12 or 12}[letter]:2d}"
        elif letter == "c":
            text = shown(when, plain["c"])
        else:
            text = when.strftime(plain.get(letter) or "%" + letter)
        if flag == "-":
            return text.lstrip("0 ") or "0"
        if flag == "_":
            return re.sub(r"^0+(?=\d)", lambda zeros: " " * len(zeros.group()), text)
        if flag == "0":
            return text.replace(" ", "0")
        return text.upper() if flag == "^" else text

    return re.sub(r"%([-_0^36]?)(:z|[A-Za-z%])", one, form)


def parsed(text, now, zone):
    """The time that a text means."""
    rest = text.strip()
    match = re.fullmatch(r"@(-?\d+(?:\.\d+)?)", rest)
    if match:
        return datetime.datetime.fromtimestamp(float(match.group(1)), zone).astimezone(zone)
    lower = re.sub(r"\s+", " ", rest.lower())
    when, steps = now, []
    offset = None
    match = re.search(r"(?<=[\d\s])(z|utc|gmt|[-+]\d\d:?\d\d)$", lower)
    if match and re.search(r"\d:\d\d", lower):
        lower = lower[: match.start()].strip()
        mark = match.group(1).replace(":", "")
        minutes = 0 if mark[0].isalpha() else int(mark[1:3]) * 60 + int(mark[3:5])
        offset = datetime.timezone(datetime.timedelta(minutes=-minutes if mark[0] == "-" else minutes))

    def take(found):
        count = (found.group(1) or "1").replace(" ", "")
        number = {"next": 1, "last": -1, "a": 1, "an": 1}.get(count)
        number = int(count) if number is None else number
        steps.append((_UNITS[found.group(2)], -number if found.group(3) else number))
        return " "

    # A number that belongs to a date is none of a step.
    lower = _STEP.sub(take, lower).strip()
    for word, days in (("tomorrow", 1), ("yesterday", -1), ("today", 0), ("now", 0)):
        if re.search(rf"\b{word}\b", lower):
            lower = re.sub(rf"\b{word}\b", "", lower).strip()
            steps.append(("days", days))
    for number, day in enumerate(_DAYS):
        match = re.search(rf"\b(next |last )?({day}|{day[:3]})\b", lower)
        if match and not re.search(r"\d", lower):
            ahead = (number - now.weekday()) % 7
            ahead = ahead - 7 if match.group(1) == "last " else ahead or (7 if match.group(1) else 0)
            when = (when + datetime.timedelta(days=ahead)).replace(hour=0, minute=0, second=0, microsecond=0)
            lower = (lower[: match.start()] + lower[match.end() :]).strip()
            break
    if lower in ("midnight",):
        when, lower = when.replace(hour=0, minute=0, second=0, microsecond=0), ""
    elif lower == "noon":
        when, lower = when.replace(hour=12, minute=0, second=0, microsecond=0), ""
    if lower:
        when = _absolute(lower, when, text)
        if offset is not None or zone is not None:
            when = when.replace(tzinfo=offset or zone).astimezone(zone)
    for unit, count in steps:
        when = _moved(when, unit, count)
    return when


def _absolute(lower, now, text):
    for form in _FORMS:
        try:
            found = datetime.datetime.strptime(lower.replace("t", "T") if "%dT" in form else lower, form)
        except ValueError:
            continue
        if "%H" in form and "%d" not in form:
            return now.replace(hour=found.hour, minute=found.minute, second=found.second, microsecond=0)
        return found.astimezone() if now.tzinfo is None else found.replace(tzinfo=now.tzinfo)
    raise Refused(f"invalid date '{text}'", 1)


def _moved(when, unit, count):
    if unit in ("months", "years"):
        months = when.year * 12 + when.month - 1 + count * (12 if unit == "years" else 1)
        first = when.replace(year=months // 12, month=months % 12 + 1, day=1)
        return first + datetime.timedelta(days=when.day - 1)
    if unit == "fortnights":
        unit, count = "weeks", count * 2
    return when + datetime.timedelta(**{unit: count})
