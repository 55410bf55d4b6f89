"""Texts in `jq`: formats, regular expressions, splitting, dates."""

import functools
import re

from .values import Decoder, JqError, dumped, kind, short, whole


def text(value):
    """A value as `tostring` gives it."""
    return value if type(value) is str else dumped(value)


def formatted(form, value):
    """What `@csv` and the like make of a value."""
    if form == "@text":
        return text(value)
    if form == "@json":
        return dumped(value)
    if form in ("@csv", "@tsv"):
        if type(value) is not list:
            raise JqError(f"{kind(value)} ({short(value)}) cannot be {form[1:]}-formatted, only an array can be")
        return ("," if form == "@csv" else "\t").join([_cell(one, form) for one in value])
    if form == "@html":
        for char, name in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("'", "&#39;"), ('"', "&quot;")):
            value = text(value).replace(char, name)
        return value
    if form == "@uri":
        from urllib.parse import quote

        return quote(text(value), safe="-_.~")
    if form == "@sh":
        return " ".join([_for_shell(one) for one in (value if type(value) is list else [value])])
    if form in ("@base64", "@base64d", "@base32", "@base32d"):
        return _based(form, text(value))
    raise JqError(f"{form[1:]} is not a valid format")


def _cell(value, form):
    if value is None:
        return ""
    if type(value) in (bool, int, float):
        return dumped(value)
    if type(value) is not str:
        raise JqError(f"{kind(value)} ({short(value)}) is not valid in a csv row")
    if form == "@csv":
        return '"' + value.replace('"', '""') + '"'
    return value.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def _for_shell(value):
    if type(value) is str:
        return "'" + value.replace("'", "'\\''") + "'"
    if type(value) in (list, dict):
        raise JqError(f"{kind(value)} ({short(value)}) can not be escaped for shell")
    return dumped(value)


def _based(form, value):
    import base64

    data = value.encode("utf-8", "surrogateescape")
    if form == "@base64":
        return base64.b64encode(data).decode()
    if form == "@base32":
        return base64.b32encode(data).decode()
    try:
        decode = base64.b64decode if form == "@base64d" else base64.b32decode
        return decode(data + b"=" * (-len(data) % (4 if form == "@base64d" else 8))).decode("utf-8", "replace")
    except ValueError:
        raise JqError(f"string ({short(value)}) is not valid {form[1:-1]} data") from None


# Regular expressions: those of Oniguruma by Python's `re`, where they are the same.


@functools.lru_cache(maxsize=200)
def _compiled(expression, flags):
    options = 0
    for flag in flags:
        if flag not in "gimnpslx":
            raise JqError(f"{flags} is not a valid modifier string")
        options |= {"i": re.IGNORECASE, "x": re.VERBOSE, "s": re.DOTALL, "p": re.DOTALL}.get(flag, 0)
    source = re.sub(r"\(\?<([A-Za-z_]\w*)>", r"(?P<\1>", expression).replace(r"\h", "[0-9a-fA-F]")
    for name, chars in (
        ("alpha", "a-zA-Z"),
        ("digit", "0-9"),
        ("alnum", "a-zA-Z0-9"),
        ("space", r"\s"),
        ("upper", "A-Z"),
        ("lower", "a-z"),
        ("punct", r"!-/:-@\[-`{-~"),
    ):
        source = source.replace(f"[:{name}:]", chars)
    source = re.sub(r"\\z", r"\\Z", source)
    try:
        # In Oniguruma ^ and $ are the ends of lines.
        return re.compile(source, options | re.MULTILINE)
    except (re.error, OverflowError) as error:
        raise JqError(f"{expression} (at offset 0) is not a valid regex: {error}") from None


def matches(value, expression, flags, first=False):
    """The matches of an expression, as `match` gives them."""
    for one in (value, expression):
        if type(one) is not str:
            raise JqError(f"{kind(one)} ({short(one)}) cannot be matched, as it is not a string")
    flags = flags or ""
    compiled = _compiled(expression, flags)
    names = {number: name for name, number in compiled.groupindex.items()}
    found = []
    for match in compiled.finditer(value):
        if "n" in flags and not match.group():
            continue
        groups = [
            {
                "offset": match.start(number) if match.group(number) is not None else -1,
                "length": len(match.group(number) or ""),
                "string": match.group(number),
                "name": names.get(number),
            }
            for number in range(1, compiled.groups + 1)
        ]
        found.append(
            {"offset": match.start(), "length": len(match.group()), "string": match.group(), "captures": groups}
        )
        if first or "g" not in flags:
            break
    return found


def _split_by(value, expression, flags):
    pieces, at = [], 0
    for match in matches(value, expression, (flags or "") + "g"):
        pieces.append(value[at : match["offset"]])
        at = match["offset"] + match["length"]
    return [*pieces, value[at:]]


def _split(value, separator):
    if type(value) is not str or type(separator) is not str:
        raise JqError("split input and separator must be strings")
    if not value:
        return []
    return list(value) if not separator else value.split(separator)


def _join(value, separator):
    parts = []
    for one in value:
        if type(one) in (list, dict):
            raise JqError(f"{kind(separator)} ({short(separator)}) and {kind(one)} ({short(one)}) cannot be added")
        parts.append("" if one is None else text(one))
    return separator.join(parts) if parts else ""


def _string(value, what):
    if type(value) is not str:
        raise JqError(f"{what} input must be a string")
    return value


def _stripped(value, part, at_start):
    if type(value) is not str or type(part) is not str:
        return value
    return value.removeprefix(part) if at_start else value.removesuffix(part)


def _begins(value, part, at_start):
    if type(value) is not str or type(part) is not str:
        raise JqError(f"{'startswith' if at_start else 'endswith'}() requires string inputs")
    return value.startswith(part) if at_start else value.endswith(part)


def _trimmed(value, form):
    if type(value) is not str:
        raise JqError(f"{kind(value)} ({short(value)}) cannot be trimmed")
    return {"trim": str.strip, "ltrim": str.lstrip, "rtrim": str.rstrip}[form](value)


def _fromjson(value):
    found = list(Decoder(_string(value, "fromjson")))
    if len(found) > 1:
        raise JqError("Unexpected extra JSON values")
    return found[0] if found else None


def _ascii(value, change):
    return "".join([change(char) if char.isascii() else char for char in _string(value, "explode")])


# Dates: broken down into year, month from 0, day, hours, minutes, seconds, weekday, day of the year from 0.


def _gmtime(value):
    import time

    if type(value) not in (int, float):
        raise JqError("gmtime() requires a number")
    found = time.gmtime(value)
    return [
        found[0],
        found[1] - 1,
        found[2],
        found[3],
        found[4],
        whole(found[5] + value % 1),
        (found[6] + 1) % 7,
        found[7] - 1,
    ]


def _mktime(value):
    import calendar

    if type(value) is not list or len(value) < 6:
        raise JqError("mktime requires array of 6 numbers")
    year, month, day, hour, minute, second = [int(one) for one in value[:6]]
    return calendar.timegm((year, month + 1, day, hour, minute, second, 0, 0, 0))


def _strftime(value, form):
    import time

    if type(value) in (int, float):
        value = _gmtime(value)
    elif type(value) is not list:
        raise JqError("strftime/1 requires parsed datetime inputs")
    return time.strftime(form, time.gmtime(_mktime(value)))


def _strptime(value, form):
    import time

    try:
        found = time.strptime(
            _string(value, "strptime/1"),
            form.replace("%Z", "UTC")
            if value.endswith("UTC")
            else form.replace("%Z", "Z")
            if value.endswith("Z")
            else form,
        )
    except ValueError:
        raise JqError(f'date "{value}" does not match format "{form}"') from None
    return [found[0], found[1] - 1, found[2], found[3], found[4], found[5], (found[6] + 1) % 7, found[7] - 1]


def _now(value):
    import time

    return time.time()


FUNCTIONS = {
    "split/1": _split,
    "split/2": _split_by,
    "join/1": _join,
    "ascii_downcase/0": lambda v: _ascii(v, str.lower),
    "ascii_upcase/0": lambda v: _ascii(v, str.upper),
    "ltrimstr/1": lambda v, part: _stripped(v, part, True),
    "rtrimstr/1": lambda v, part: _stripped(v, part, False),
    "startswith/1": lambda v, part: _begins(v, part, True),
    "endswith/1": lambda v, part: _begins(v, part, False),
    "trim/0": lambda v: _trimmed(v, "trim"),
    "ltrim/0": lambda v: _trimmed(v, "ltrim"),
    "rtrim/0": lambda v: _trimmed(v, "rtrim"),
    "explode/0": lambda v: [ord(char) for char in _string(v, "explode")],
    "implode/0": lambda v: "".join([chr(one) for one in v]),
    "fromjson/0": _fromjson,
    "gmtime/0": _gmtime,
    "mktime/0": _mktime,
    "strftime/1": _strftime,
    "strflocaltime/1": _strftime,
    "strptime/1": _strptime,
    "fromdateiso8601/0": lambda v: _mktime(_strptime(v, "%Y-%m-%dT%H:%M:%SZ")),
    "now/0": _now,
}
