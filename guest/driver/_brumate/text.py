"""JSON strings, and cutting long text. Whatever leaves here can be encoded as UTF-8."""

from .pristine import __builtins__

from _json import encode_basestring as _encode
from json.decoder import JSONDecoder

# The C scanner keeps its own references: patching the json module does not reach it.
_scan = JSONDecoder().scan_once


def well_formed(text):
    """`text` as an exact `str` without lone surrogates (shown as `\\udXXX`, the way CPython's stderr does)."""
    if type(text) is not str:
        text = str.__str__(text)
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def quote(text):
    """`text` as a JSON string; other than ASCII characters stay as they are."""
    return _encode(well_formed(text))


def parse(text):
    """The value of a JSON text. Raises `ValueError` when there is something else."""
    stripped = text.strip(" \t\r\n")
    try:
        value, end = _scan(stripped, 0)
    except StopIteration:
        raise ValueError("not a JSON text") from None
    if end != len(stripped):
        raise ValueError("not a JSON text")
    return value


def elide(text, limit):
    """`text`, or its beginning and end with a note of what is missing when it is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = limit - head
    return f"{text[:head]}\n... [{len(text) - limit} characters left out] ...\n{text[-tail:]}"
