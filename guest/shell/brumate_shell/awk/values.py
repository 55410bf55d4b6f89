"""Values of `awk`: numbers, texts, and texts from the input that look like numbers."""

import math
import re

from brumate_shell.streams import Refused

_NUMBER = re.compile(r"[ \t\n\r\f\v]*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)")
_LOOKS_NUMERIC = re.compile(r"[ \t\n\r\f\v]*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[ \t\n\r\f\v]*")
_DIRECTIVE = re.compile(r"%([-+ 0#']*)(\*|\d+)?(?:\.(\*|\d+)?)?([a-zA-Z%])")
# Widths in formats.
_MAX_WIDTH = 1 << 20


class Input(str):
    """A text from the input: it compares as a number when it looks like one."""

    __slots__ = ()


class Array(dict):
    """An array: its elements by text."""

    __slots__ = ()


class _Nothing(Input):
    """A variable that was not set: an empty text, and zero."""

    __slots__ = ()


NOTHING = _Nothing("")


def is_numeric(value):
    """Whether a value compares as a number."""
    kind = type(value)
    return kind is float or kind is _Nothing or (kind is Input and _LOOKS_NUMERIC.fullmatch(value) is not None)


def number(value):
    """A value as a number: that at the beginning of a text."""
    if type(value) is float:
        return value
    found = _NUMBER.match(value)
    return float(found.group(1)) if found else 0.0


def text(value, form="%.6g"):
    """A value as a text; `form` is CONVFMT or OFMT, for numbers that are not whole."""
    if type(value) is not float:
        return value
    if math.isnan(value):
        return "-nan" if math.copysign(1, value) < 0 else "+nan"
    if math.isinf(value):
        return "+inf" if value > 0 else "-inf"
    if value == value // 1:
        return str(int(value))
    return form % value if form == "%.6g" else formatted(form, [value], form)


def truth(value):
    if type(value) is float:
        return value != 0
    if type(value) is Input and _LOOKS_NUMERIC.fullmatch(value):
        return float(value) != 0
    return value != ""


def compared(operator, a, b, form):
    """Whether two values compare so: as numbers when both are, as texts otherwise."""
    if is_numeric(a) and is_numeric(b):
        a, b = number(a), number(b)
    else:
        a, b = str(text(a, form)), str(text(b, form))
    if operator == "<":
        return a < b
    if operator == "==":
        return a == b
    if operator == ">":
        return a > b
    if operator == "!=":
        return a != b
    return a <= b if operator == "<=" else a >= b


def calculated(operator, a, b):
    """The result of a sum."""
    try:
        if operator == "+":
            return a + b
        if operator == "-":
            return a - b
        if operator == "*":
            return a * b
        if operator == "^":
            return float(a**b) if not (a < 0 and b != b // 1) else math.nan
        if not b:
            raise Refused("division by zero" + (" in %" if operator == "%" else ""), 2)
        return a / b if operator == "/" else math.fmod(a, b)
    except OverflowError:
        return math.inf


def formatted(form, values, number_form="%.6g"):
    """What `printf` and `sprintf` make of a format and its values."""
    values = list(values)

    def value():
        return values.pop(0) if values else NOTHING

    def width_of(text):
        count = int(number(value())) if text == "*" else int(text)
        if abs(count) > _MAX_WIDTH:
            raise Refused("a format is too wide", 2)
        return count

    def one(found):
        flags, width, precision, code = found.groups()
        if code == "%":
            return "%"
        flags = flags.replace("'", "")
        if width:
            count = width_of(width)
            flags, width = (flags + "-", str(-count)) if count < 0 else (flags, str(count))
        has_precision = "." in found.group()
        if has_precision:
            precision = max(width_of(precision or "0"), 0)
        head = f"%{flags}{width or ''}" + (f".{precision}" if has_precision else "")
        if code == "c":
            given = value()
            char = chr(int(given) % 0x110000) if type(given) is float else given[:1]
            return f"%{flags.replace('0', '')}{width or ''}s" % char
        if code == "s":
            return f"%{flags.replace('0', '')}{width or ''}{f'.{precision}' if has_precision else ''}s" % text(
                value(), number_form
            )
        if code in "diouxX":
            given = number(value())
            if math.isnan(given) or math.isinf(given):
                return f"%{flags.replace('0', '')}{width or ''}s" % text(given)
            whole = int(given)
            if code == "u":
                code = "d"
            if code == "o" and "#" in flags:
                return f"%{flags.replace('#', '')}{width or ''}s" % f"0{whole:o}"
            return f"{head}{'d' if code == 'i' else code}" % whole
        if code in "eEfFgG":
            return f"{head}{code}" % number(value())
        return found.group()

    return _DIRECTIVE.sub(one, form)
