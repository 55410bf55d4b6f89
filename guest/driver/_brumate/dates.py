"""`time.strftime` as Linux has it; `datetime` writes with it, too.

The C library here gives an empty text as soon as one directive is unknown to it, such as `%k`, `%l`, `%P`, `%^a` or
`%#p`, and leaves out most widths.
"""

from .pristine import __builtins__

import functools
import re
import time

_strftime = time.strftime
_localtime = time.localtime

# Flags, width, modifier and conversion of a directive.
_DIRECTIVE = re.compile("%([-_0^#]*)([0-9]*)([EO]?)(.)", re.DOTALL)
# What the C library writes as Linux does: nothing else is looked at twice.
_ALIKE = re.compile("(?:[^%]+|%(?:[-_0]?[aAbBcCdDeFgGhHIjmMnprRsStTuUVwWxXyYZ%]|z|E[cCxXyY]|O[deHImMSuUVwWy]))*")
# Widths of numbers that are padded with zeros, and with spaces.
_ZEROS = {**dict.fromkeys("CdgHImMSUVWy", 2), **dict.fromkeys("GsuwY", 1), "j": 3}
_SPACES = dict.fromkeys("ekl", 2)
_TEXTS = "aAbBcDFhnpPrRtTxXzZ%"
# Conversions that may have a modifier. Both modifiers mean nothing in the locale of C.
_MODIFIED = {"E": "cCnpPrRstTuxXyYzZ%", "O": "bBCdegGhHIjklmMnpPrRsStTuUVwWyzZ%"}
# Conversions of others that only Linux has.
_BASES = {"k": "H", "l": "I", "P": "p"}
_MAX_WIDTH = 1_000_000
# Directives with a year or a century. The C library here fills them up to four digits, and puts a sign before five.
_YEARS = re.compile("%[-_0]?[EO]?[YGCFc]")
# Directives that are made of others.
_WHOLE = re.compile("(%%|%F|%E?c)")
_PARTS = {"%%": "%%", "%F": "%Y-%m-%d", **dict.fromkeys(("%c", "%Ec"), "%a %b %e %H:%M:%S %Y")}


def install():
    """Replaces `time.strftime`."""

    def strftime(format, time_tuple=None, /):
        if time_tuple is None:
            time_tuple = _localtime()
        if not isinstance(format, str):
            return _strftime(format, time_tuple)
        is_unusual = _is_unusual(time_tuple)
        if _is_alike(format) and not (is_unusual and _YEARS.search(format)):
            return _strftime(format, time_tuple)
        # Also refuses what is no time.
        _strftime("", time_tuple)
        return _strftime(_rewritten(format, time_tuple, is_unusual), time_tuple)

    strftime.__doc__ = _strftime.__doc__
    strftime.__module__ = "time"
    strftime.__qualname__ = "strftime"
    time.strftime = strftime


@functools.lru_cache(64)
def _is_alike(format):
    return _ALIKE.fullmatch(format) is not None


def _is_unusual(time_tuple):
    """Whether the year, or the year of the week, may have more or less than four digits, and is to be written as it is.

    `datetime` writes four digits everywhere, as the C library here does. Its times name no zone.
    """
    year = time_tuple[0] if isinstance(time_tuple, tuple) and time_tuple else None
    is_of_datetime = isinstance(time_tuple, time.struct_time) and time_tuple.tm_zone is None
    return isinstance(year, int) and not 1000 < year < 9999 and not is_of_datetime


def _rewritten(format, time_tuple, is_unusual):
    """The format with the text of each directive that the C library writes otherwise."""
    if is_unusual:
        format = _WHOLE.sub(lambda found: _PARTS[found[1]], format)
    pieces, end = [], 0
    while (start := format.find("%", end)) >= 0:
        pieces.append(format[end:start])
        found = _DIRECTIVE.match(format, start)
        end = found.end() if found else start + 1
        directive = format[start:end]
        if _is_alike(directive) and not (is_unusual and _YEARS.search(directive)):
            pieces.append(directive)
        else:
            text = _written(found, time_tuple, is_unusual) if found else directive
            pieces.append(text.replace("%", "%%"))
    pieces.append(format[end:])
    return "".join(pieces)


def _written(directive, time_tuple, is_unusual):
    """What Linux writes for a directive; one that it does not know stays as it is."""
    flags, width, modifier, conversion = directive.groups()
    width = min(int(width or 0), _MAX_WIDTH)
    pad = next((flag for flag in reversed(flags) if flag in "-_0"), "")
    known = conversion in _MODIFIED[modifier] if modifier else conversion in _TEXTS or conversion in _ZEROS
    if not known and (modifier or conversion not in _SPACES):
        return directive[0].rjust(width, "0" if pad == "0" else " ")
    plain = "%" + _BASES.get(conversion, conversion)
    if is_unusual and plain in _PARTS:
        plain = _rewritten(plain, time_tuple, True)
    text = _strftime(plain, time_tuple)
    if conversion == "P":
        text = text.lower()
    elif "^" in flags:
        text = text.upper()
    elif "#" in flags:
        text = text.lower() if conversion == "p" else text.upper() if conversion in "aAbBh" else text
    digits = text.strip()
    if conversion in "YG" and re.fullmatch("[-+][0-9]+", digits):
        digits = str(int(digits))
        return digits.rjust(width) if pad == "_" else digits.zfill(width)
    if conversion in _TEXTS or not digits.isdigit():
        return text.rjust(width, "0" if pad == "0" else " ")
    if is_unusual and conversion == "C":
        # Linux rounds down, and writes no zero before it unless that is asked for.
        digits = str(time_tuple[0] // 100)
        if pad == "-" or not width:
            return digits.rjust(width)
        return digits.rjust(width, " " if pad == "_" else "0")
    digits = digits.lstrip("0") or "0"
    if pad == "-":
        return digits.rjust(width)
    if pad == "":
        pad = "_" if conversion in _SPACES or conversion == "s" else "0"
    return digits.rjust(max(width, _ZEROS.get(conversion, 2)), " " if pad == "_" else "0")
