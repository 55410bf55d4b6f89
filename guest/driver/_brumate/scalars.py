"""Numbers, dates and the like as text, and mapping keys, in pydantic's notation."""

from .pristine import __builtins__

import sys
from datetime import date, datetime, time, timedelta
from enum import Enum
from math import copysign

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
    return without_digit_limit(_int_text, value)


def without_digit_limit(function, argument):
    """`function(argument)`, where integers of any length are read and written."""
    limit = _get_digits()
    _set_digits(0)
    try:
        return function(argument)
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
    imaginary = _positional(value.imag)
    if value.real == 0:
        return f"{imaginary}j"
    sign = "" if imaginary[0] == "-" else "+"
    return f"{_positional(value.real)}{sign}{imaginary}j"


def _positional(value):
    """Shortest digits that give the same float back, without an exponent and without `.0`."""
    text = _float_text(value)
    if text[-1] in "nf":
        return "NaN" if text[-1] == "n" else text
    digits, _, exponent = text.lstrip("-").partition("e")
    whole, _, fraction = digits.partition(".")
    exponent = int(exponent or 0) - len(fraction)
    number = int(whole + fraction)
    # Of two texts that are equally near, Python takes the even one and pydantic the upper one.
    over, under = abs(value).as_integer_ratio()
    if over * 2 * 10 ** max(0, -exponent) == (number * 2 + 1) * under * 10 ** max(0, exponent):
        if float(f"{number + 1}e{exponent}") == abs(value):
            number += 1
    if exponent >= 0:
        text = str(number * 10**exponent)
    else:
        digits = str(number).rjust(1 - exponent, "0")
        text = f"{digits[:exponent]}.{digits[exponent:]}".removesuffix(".0")
    return f"-{text}" if copysign(1, value) < 0 else text


def _str(value):
    return str.__str__(value)


def _with_offset(value):
    if value != value:  # pandas' NaT
        return repr(value)
    text = datetime.isoformat(value) if isinstance(value, datetime) else time.isoformat(value)
    offset = value.utcoffset()
    if offset is None:
        return text
    date_end = text.find("T") + 1
    text = text[:date_end] + text[date_end:].partition("+")[0].partition("-")[0]
    seconds = round(offset.total_seconds())
    if not seconds:
        return text + "Z"
    hours, minutes = divmod(abs(seconds) // 60, 60)  # seconds of an offset are not written
    return f"{text}{'-' if seconds < 0 else '+'}{hours:02}:{minutes:02}"


def _timedelta(value):
    """An ISO 8601 duration, the way pydantic writes it: 365 days are a year."""
    sign = ""
    if type(value) is not timedelta:  # pandas' has nanoseconds as well
        total = value.total_seconds()
        whole = int(total)
        value = timedelta(0, whole, int((total - whole) * 1e6 + (0.5 if total > 0 else -0.5)))
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


def numpy_item(value):
    """The Python number, text or date in a scalar of numpy."""
    item = value.item()
    if type(item) is type(value):  # longer than Python's
        item = complex(item) if value.dtype.kind == "c" else float(item)
    return item


def _uuid(value):
    digits = f"{value.int:032x}"
    return "-".join([digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]])


def _pattern(value):
    return value.pattern if type(value.pattern) is str else repr(value.pattern)


# (module, class) of the types that become a JSON string, and how.
TEXTS = {
    ("builtins", "str"): _str,
    ("builtins", "bytes"): _bytes,
    ("builtins", "bytearray"): _bytes,
    ("builtins", "complex"): _complex,
    ("datetime", "datetime"): _with_offset,
    ("datetime", "date"): date.isoformat,
    ("datetime", "time"): _with_offset,
    ("datetime", "timedelta"): _timedelta,
    ("decimal", "Decimal"): str,
    ("fractions", "Fraction"): str,
    ("uuid", "UUID"): _uuid,
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
    if kind is int:
        return integer(value).strip('"')
    if isinstance(value, Enum):
        return key(value.value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return str(value)
    if isinstance(value, str):
        return _str(value)
    if isinstance(value, tuple):
        return ",".join([key(item) for item in value])
    if hasattr(kind, "__pydantic_serializer__") or hasattr(kind, "__dataclass_fields__"):
        return str(value)
    if kind.__module__ == "numpy" and hasattr(value, "item"):
        item = value.item()
        return repr(value) if type(item) is kind else key(item)
    return text(value)
