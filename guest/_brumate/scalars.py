"""Numbers, dates and the like as text, and mapping keys, in pydantic's notation."""

from .pristine import __builtins__

import sys
from enum import Enum

# Decimal digits of the longest integer written out (CPython refuses above 4300 unless told otherwise).
MAX_DIGITS = 100_000
_MAX_BITS = int(MAX_DIGITS * 3.3219280948873626)

_int_text = int.__repr__
_float_text = float.__repr__
_get_digits = sys.get_int_max_str_digits
_set_digits = sys.set_int_max_str_digits


def integer(value):
    """Decimal digits; a JSON string for integers longer than [`MAX_DIGITS`]."""
    if -1000000000 < value < 1000000000:
        return _int_text(value)
    bits = int.bit_length(value)
    if bits > _MAX_BITS:
        return f'"<int of {bits} bits, too long to write out>"'
    if bits < 2000:  # below the smallest limit that can be set, 640 digits
        return _int_text(value)
    limit = _get_digits()
    _set_digits(0)
    try:
        return _int_text(value)
    finally:
        _set_digits(limit)


def floating(value):
    """Shortest digits that give the same float back; `NaN`, `Infinity` and `-Infinity`, which JSON itself lacks."""
    text = _float_text(value)
    if text[-1] == "n":
        return "NaN"
    if text[-1] == "f":
        return "-Infinity" if text[0] == "-" else "Infinity"
    if "e-" in text:
        digits, _, exponent = text.partition("e-")
        if exponent == "05":
            sign = "-" if digits[0] == "-" else ""
            return f"{sign}0.0000{digits.lstrip('-').replace('.', '')}"
        return f"{digits}e-{exponent.lstrip('0')}"
    return text


def _bytes(value):
    try:
        return bytes.decode(bytes(value), "utf-8")
    except UnicodeDecodeError:
        return repr(value)


def _complex(value):
    text = complex.__repr__(value)
    return (text[1:-1] if text[0] == "(" else text).replace("nan", "NaN")


def _str(value):
    return str.__str__(value)


def _with_offset(value):
    if value != value:  # pandas' NaT
        return repr(value)
    text = value.isoformat()
    offset = value.utcoffset()
    if offset is None:
        return text
    if not offset:
        return text[: text.rindex("+")] + "Z"
    if offset.seconds % 60 or offset.microseconds:  # seconds of an offset are not written
        cut = text.rindex("+") if "+" in text else text.rindex("-")
        return text[: cut + 6]
    return text


def _timedelta(value):
    """An ISO 8601 duration, the way pydantic writes it: 365 days are a year."""
    sign = ""
    if value.days < 0:
        sign, value = "-", -value
    years, days = divmod(value.days, 365)
    hours, rest = divmod(value.seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    text = "".join([f"{years}Y" if years else "", f"{days}D" if days else ""])
    clock = "".join([f"{hours}H" if hours else "", f"{minutes}M" if minutes else ""])
    if value.microseconds:
        clock += f"{seconds}.{value.microseconds:06}".rstrip("0") + "S"
    elif seconds:
        clock += f"{seconds}S"
    if clock:
        text += "T" + clock
    return f"{sign}P{text or 'T0S'}"


def _pattern(value):
    return value.pattern if type(value.pattern) is str else repr(value.pattern)


# (module, class) of the types that become a JSON string, and how.
TEXTS = {
    ("builtins", "str"): _str,
    ("builtins", "bytes"): _bytes,
    ("builtins", "bytearray"): _bytes,
    ("builtins", "complex"): _complex,
    ("datetime", "datetime"): _with_offset,
    ("datetime", "date"): lambda value: value.isoformat(),
    ("datetime", "time"): _with_offset,
    ("datetime", "timedelta"): _timedelta,
    ("decimal", "Decimal"): str,
    ("fractions", "Fraction"): str,
    ("uuid", "UUID"): str,
    ("re", "Pattern"): _pattern,
    ("pathlib", "Path"): str,
    ("pathlib._local", "Path"): str,
    ("pydantic_core._pydantic_core", "Url"): str,
    ("pydantic_core._pydantic_core", "MultiHostUrl"): str,
    ("ipaddress", "IPv4Address"): str,
    ("ipaddress", "IPv4Network"): str,
    ("ipaddress", "IPv4Interface"): str,
    ("ipaddress", "IPv6Address"): str,
    ("ipaddress", "IPv6Network"): str,
    ("ipaddress", "IPv6Interface"): str,
}


def text(value):
    """The text of a value whose type, or one of its bases, is in [`TEXTS`]."""
    for base in type(value).__mro__:
        found = TEXTS.get((base.__module__, base.__name__))
        if found is not None:
            return found(value)
    return repr(value)


def key(value):
    """A mapping key as text."""
    kind = type(value)
    if value is None:
        return "None"
    if kind is bool:
        return "true" if value else "false"
    if isinstance(value, int):
        return integer(value).strip('"')
    if isinstance(value, float):
        digits = _float_text(value)
        return digits if digits[-1] in "nf" else floating(value)
    if isinstance(value, str):
        return _str(value)
    if isinstance(value, tuple):
        return ",".join([key(item) for item in value])
    if isinstance(value, Enum):
        return key(value.value)
    if kind.__module__ == "numpy" and hasattr(value, "item"):
        item = value.item()
        return repr(value) if type(item) is kind else key(item)
    return text(value)
