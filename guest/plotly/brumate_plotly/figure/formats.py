"""Numbers and dates as texts, in the formats of d3 that plotly's figures name."""

import math
import re

from . import columns
from .reading import as_number, shown

MINUS = "\N{MINUS SIGN}"
_SPEC = re.compile(r"(?:(.)?([<>=^]))?([-+( ])?([$#])?(0)?(\d{1,3})?(,)?(?:\.(\d{1,2}))?(~)?([a-zA-Z%])?\Z", re.DOTALL)
_PREFIXES = ("y", "z", "a", "f", "p", "n", "µ", "m", "", "k", "M", "G", "T", "P", "E", "Z", "Y")
_TEMPLATE = re.compile(r"%\{([^{}:|]+)(?:([:|])([^{}]*))?\}")
_MONTHS = "January February March April May June July August September October November December".split()
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_DIRECTIVE = re.compile(r"%([-_0]?)(\d?)([a-zA-Z%])")


def number(value, spec):
    """Returns a number in a format of d3, like `.2f`, `,`, `.1%` or `~s`."""
    match = _SPEC.match(spec)
    if match is None:
        return shown(value)
    fill, align, sign, symbol, zero, width, comma, precision, trim, kind = match.groups()
    precision = None if precision is None else int(precision)
    body, suffix = _body(abs(value), kind or "", precision)
    if trim or not kind:
        body = _trimmed(body)
    if comma or kind == "n":
        body = _grouped(body)
    negative = value < 0 and any(character in "123456789" for character in body)
    before = "$" if symbol == "$" else ""
    text = f"{before}{body}{suffix}"
    if negative:
        text = f"({text})" if sign == "(" else MINUS + text
    elif sign in ("+", " "):
        text = sign + text
    return _padded(text, fill or ("0" if zero else " "), align or (">" if not zero else "="), int(width or 0))


def _body(value, kind, precision):
    """Returns a number without its sign as digits and what stands after them."""
    if kind in ("d", "b", "o", "x", "X", "c"):
        return format(round(value), kind.replace("c", "d")), ""
    if kind == "s":
        return _with_prefix(value, 6 if precision is None else precision)
    precision = 6 if precision is None and kind else precision
    if kind == "%":
        return f"{value * 100:.{precision}f}", "%"
    if kind == "p":
        return _rounded(value * 100, precision), "%"
    if kind == "f":
        return f"{value:.{precision}f}", ""
    if kind == "e":
        return _exponent(f"{value:.{precision}e}"), ""
    if kind == "r":
        return _rounded(value, precision), ""
    if kind in ("g", "n"):
        return _exponent(f"{value:#.{max(1, precision)}g}".rstrip(".")), ""
    return _exponent(f"{value:.{12 if precision is None else max(1, precision)}g}"), ""


def _rounded(value, digits):
    """Returns a number with so many significant digits, and no exponent."""
    if not value:
        return f"{0:.{max(0, digits - 1)}f}"
    places = max(1, digits) - 1 - math.floor(math.log10(value))
    return f"{round(value, places):.{max(0, places)}f}"


def _with_prefix(value, digits):
    power = min(8, max(-8, math.floor(math.log10(value) / 3))) if value else 0
    text = _rounded(value / 1000.0**power, digits)
    if as_number(text) == 1000 and power < 8:
        power += 1
        text = _rounded(1.0, digits)
    return text, _PREFIXES[power + 8]


def _exponent(text):
    mantissa, letter, power = text.partition("e")
    return f"{mantissa}e{'+' if int(power) >= 0 else MINUS}{abs(int(power))}" if letter else mantissa


def _trimmed(text):
    mantissa, letter, power = text.partition("e")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return mantissa + letter + power


def _grouped(text):
    match = re.match(r"\d+", text)
    return f"{int(match[0]):,}{text[match.end() :]}" if match else text


def _padded(text, fill, align, width):
    missing = max(0, width - len(text))
    if align == "<":
        return text + fill * missing
    if align == "^":
        return fill * (missing // 2) + text + fill * (missing - missing // 2)
    return fill * missing + text


def compact(value, digits=5):
    """Returns a number as plotly shows it beside a point: few digits, thousands as `k`, millions as `M`."""
    value = float(value)
    if not math.isfinite(value):
        return shown(value)
    if abs(value) >= 1e4:
        return number(value, f".{digits}~s").replace("G", "B")
    if value and abs(value) < 1e-4:
        return number(value, f".{digits}~s") if abs(value) > 1e-9 else _exponent(f"{value:.{digits - 2}e}")
    return number(value, f".{digits + 1}~r")


def value(value, spec=""):
    """Returns a value of any type in a format; numbers without one in short."""
    known = as_number(value)
    if known is not None and not isinstance(value, str):
        return number(known, spec) if spec else compact(known)
    if spec and columns.is_date(value):
        return date(columns.instant(value), spec)
    return number(known, spec) if spec and known is not None else shown(value)


def date(milliseconds, spec):
    """Returns a date in a format of d3, like `%b %d`."""
    when = columns.moment(milliseconds)
    return _DIRECTIVE.sub(lambda match: _part(when, match[1], match[2], match[3]), spec)


def _part(when, pad, digits, letter):
    """Returns what stands for one directive."""
    texts = {"b": _MONTHS[when.month - 1][:3], "B": _MONTHS[when.month - 1], "h": _MONTHS[when.month - 1][:3]}
    texts |= {"a": _DAYS[when.weekday()][:3], "A": _DAYS[when.weekday()], "Y": f"{when.year:04}", "%": "%"}
    texts |= {
        "p": "AM" if when.hour < 12 else "PM",
        "Z": "",
        "D": f"{when.month:02}/{when.day:02}/{when.year % 100:02}",
    }
    texts |= {"X": f"{when:%H:%M:%S}", "x": f"{when.month}/{when.day}/{when.year}", "q": str((when.month + 2) // 3)}
    texts["f"] = f"{when.microsecond:06}"[: int(digits or 6)]
    if letter in texts:
        return texts[letter]
    numbers = {"y": when.year % 100, "m": when.month, "d": when.day, "e": when.day, "H": when.hour}
    numbers |= {"I": (when.hour + 11) % 12 + 1, "M": when.minute, "S": when.second, "L": when.microsecond // 1000}
    numbers |= {"j": when.timetuple().tm_yday, "w": (when.weekday() + 1) % 7, "u": when.isoweekday()}
    numbers |= {"V": when.isocalendar().week, "W": int(when.strftime("%W")), "U": int(when.strftime("%U"))}
    if letter not in numbers:
        return f"%{letter}"
    width = 3 if letter in "jL" else 1 if letter in "wu" else 2
    if pad == "-":
        return str(numbers[letter])
    return str(numbers[letter]).rjust(width, " " if pad == "_" or letter == "e" and not pad else "0")


def filled(template, values):
    """Returns a text with `%{name}` and `%{name:format}` replaced by values."""

    def replace(match):
        name, spec = match[1].strip(), match[3] or ""
        return value(values[name], spec) if name in values else match[0]

    return _TEMPLATE.sub(replace, template)
