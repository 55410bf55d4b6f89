"""Values of `jq`: their order, their sums, and their text."""

import json
import math

# Values inside each other, as they are read and written.
MAX_DEPTH = 300
# Longest text that is made of repetitions.
_MAX_REPEATED = 64 << 20

_ORDER = {type(None): 0, bool: 1, int: 3, float: 3, str: 4, list: 5, dict: 6}


class JqError(Exception):
    """An error of a program; `value` is what `catch` gets."""

    def __init__(self, value):
        super().__init__()
        self.value = value


def kind(value):
    """The name of a value's type."""
    if value is None:
        return "null"
    if value is True or value is False:
        return "boolean"
    return {int: "number", float: "number", str: "string", list: "array", dict: "object"}[type(value)]


def truth(value):
    return value is not None and value is not False


def key(value):
    """What a value is sorted by."""
    order = _ORDER[type(value)]
    if order == 1:
        return (1 if value is False else 2,)
    if order == 3:
        return (3, -math.inf if value != value else value)
    if order == 4:
        return (4, value.encode("utf-8", "surrogatepass"))
    if order == 5:
        return (5, [key(one) for one in value])
    if order == 6:
        names = sorted(value)
        return (6, names, [key(value[name]) for name in names])
    return (0,)


def compared(operator, a, b):
    if operator in ("==", "!="):
        return (key(a) == key(b)) == (operator == "==")
    a, b = key(a), key(b)
    return a < b if operator == "<" else a <= b if operator == "<=" else a > b if operator == ">" else a >= b


def _fail(a, b, what):
    raise JqError(f"{kind(a)} ({short(a)}) and {kind(b)} ({short(b)}) cannot be {what}")


def short(value):
    """A value in an error's text."""
    text = dumped(value)
    return text if len(text) <= 11 else text[:10] + "..."


def _is_number(value):
    return type(value) in (int, float)


def calculated(operator, a, b):
    numbers = _is_number(a) and _is_number(b)
    if operator == "+":
        return _added(a, b, numbers)
    if operator == "-":
        if numbers:
            return a - b
        if type(a) is list and type(b) is list:
            gone = [key(one) for one in b]
            return [one for one in a if key(one) not in gone]
        _fail(a, b, "subtracted")
    if operator == "*":
        return _multiplied(a, b, numbers)
    if operator == "/":
        if numbers:
            if not b:
                _fail(a, b, "divided because the divisor is zero")
            return whole(a / b) if type(a) is float or type(b) is float or a % b else a // b
        if type(a) is str and type(b) is str:
            return (list(a) if not b else a.split(b)) if a else []
        _fail(a, b, "divided")
    if not numbers:
        _fail(a, b, "divided")
    if math.isnan(a) or math.isnan(b):
        return math.nan
    first, second = _limited(a), _limited(b)
    if not second:
        _fail(a, b, "divided because the divisor is zero")
    return abs(first) % abs(second) * (-1 if first < 0 else 1)


def _limited(value):
    return int(max(min(value, 2**63 - 1), -(2**63)))


def _added(a, b, numbers):
    if numbers:
        return a + b
    if a is None:
        return b
    if b is None:
        return a
    if type(a) is type(b):
        if type(a) is dict:
            return {**a, **b}
        if type(a) in (str, list):
            return a + b
    _fail(a, b, "added")


def _multiplied(a, b, numbers):
    if numbers:
        return a * b
    if type(b) is str and _is_number(a):
        a, b = b, a
    if type(a) is str and _is_number(b):
        if b <= 0:
            return None
        count = max(int(b) if b == int(b) else int(b) + (1 if b < 1 else 0), 1)
        if len(a) * count > _MAX_REPEATED:
            raise JqError("Repeat string result too long")
        return a * count
    if type(a) is dict and type(b) is dict:
        return _merged(a, b)
    _fail(a, b, "multiplied")


def _merged(a, b):
    found = dict(a)
    for name, value in b.items():
        found[name] = _merged(found[name], value) if type(value) is dict and type(found.get(name)) is dict else value
    return found


def whole(value):
    """A number without a part behind the point as a whole one."""
    return (
        int(value)
        if type(value) is float and math.isfinite(value) and value == int(value) and abs(value) < 1e17
        else value
    )


# Texts.


class Decoder:
    """Reads JSON values one after the other."""

    def __init__(self, text):
        self.text = text
        self.at = 0
        self.decoder = json.JSONDecoder(strict=False)

    def __iter__(self):
        text, size = self.text, len(self.text)
        while True:
            while self.at < size and text[self.at] in " \t\r\n\ufeff":
                self.at += 1
            if self.at >= size:
                return
            try:
                value, self.at = self.decoder.raw_decode(text, self.at)
            except (ValueError, RecursionError) as error:
                problem = getattr(error, "msg", "it is nested too deeply")
                line = text.count("\n", 0, getattr(error, "pos", 0)) + 1
                column = getattr(error, "pos", 0) - text.rfind("\n", 0, getattr(error, "pos", 0))
                raise JqError(f"parse error: {problem} at line {line}, column {column}") from None
            yield value


def number_text(value):
    if type(value) is int:
        return str(value)
    if value != value:
        return "null"
    if math.isinf(value):
        return "1.7976931348623157e+308" if value > 0 else "-1.7976931348623157e+308"
    value = whole(value)
    return repr(value)


def dumped(value, indent=None, sort=False, ascii=False):
    """A value as JSON: in one line, or with `indent` (a text) in several."""
    out = []
    _dump(value, indent, "\n", sort, ascii, out, 0)
    return "".join(out)


def _quoted(text, ascii):
    if ascii:
        return json.dumps(text)
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _dump(value, indent, newline, sort, ascii, out, depth):
    if depth > MAX_DEPTH:
        raise JqError("the value is nested too deeply")
    kind_of = type(value)
    if value is None:
        out.append("null")
    elif value is True or value is False:
        out.append("true" if value else "false")
    elif kind_of is str:
        out.append(_quoted(value, ascii))
    elif kind_of in (int, float):
        out.append(number_text(value))
    elif not value:
        out.append("[]" if kind_of is list else "{}")
    else:
        inner = newline + indent if indent is not None else ""
        is_list = kind_of is list
        out.append(("[" if is_list else "{") + inner)
        for number, one in enumerate(value if is_list or not sort else sorted(value)):
            if number:
                out.append("," + inner)
            if not is_list:
                out.append(_quoted(one, ascii) + (": " if indent is not None else ":"))
                one = value[one]
            _dump(one, indent, inner, sort, ascii, out, depth + 1)
        out.append((newline if indent is not None else "") + ("]" if is_list else "}"))
