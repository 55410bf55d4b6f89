"""Bytes of a Python file to text, by PEP 263 and in the words of the interpreter that reads a file."""

from .pristine import __builtins__

import codecs
import re

# Lines that may name the encoding.
_LINES = 2
_COOKIE = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
# A line after which another one may name it.
_BLANK = re.compile(rb"[ \t\f]*(?:#.*)?\Z", re.DOTALL)
_LINE_END = re.compile(rb"\r\n|\r|\n")
_UTF_8 = "utf-8"
_LATIN_1 = "iso-8859-1"
_BOM = codecs.BOM_UTF8


def decode(data, file_name):
    """The text of a file's bytes, without a byte order mark; raises SyntaxError."""
    marked = data.startswith(_BOM)
    data = data[len(_BOM) :] if marked else data
    name = _declared(data)
    if marked and name not in (None, _UTF_8):
        raise SyntaxError(f"encoding problem: {name} with BOM")
    text = _utf_8(data, file_name, name) if name in (None, _UTF_8) else _other(data, name)
    if "\0" in text:
        before = text[: text.index("\0")].replace("\r\n", "\n").replace("\r", "\n").split("\n")
        details = file_name, len(before), None, before[-1]
        raise SyntaxError("source code cannot contain null bytes", details)
    return text


def _declared(data):
    """The encoding that a file names, normalized as the tokenizer does; None if it names none."""
    for line in _LINE_END.split(data, _LINES)[:_LINES]:
        found = _COOKIE.match(line)
        if found:
            name = found.group(1).decode("ascii", "replace")
            plain = name[:12].lower().replace("_", "-")
            if plain == _UTF_8 or plain.startswith("utf-8-"):
                return _UTF_8
            if any(plain == known or plain.startswith(known + "-") for known in ("latin-1", _LATIN_1, "iso-latin-1")):
                return _LATIN_1
            return name
        if not _BLANK.match(line):
            break
    return None


def _utf_8(data, file_name, name):
    try:
        return data.decode(_UTF_8)
    except UnicodeDecodeError as error:
        line = len(_LINE_END.findall(data[: error.start])) + 1
        if name is not None:
            shown = _LINE_END.split(data)[line - 1].decode(_UTF_8, "replace")
            raise SyntaxError(f"(unicode error) {error}", (file_name, line, None, shown)) from None
        raise SyntaxError(
            f"Non-UTF-8 code starting with '\\x{data[error.start]:02x}' in file {file_name} on line {line}, but no "
            "encoding declared; see https://peps.python.org/pep-0263/ for details"
        ) from None


def _other(data, name):
    try:
        # Source code has the characters of ASCII in single bytes.
        if b"#".decode(name) == "#":
            return data.decode(name)
    except (LookupError, UnicodeError):
        pass
    raise SyntaxError(f"encoding problem: {name}")
