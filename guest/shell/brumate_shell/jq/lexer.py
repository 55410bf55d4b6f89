"""The words of a `jq` program."""

import re

from brumate_shell.streams import Refused

# Longest program, in characters, and strings inside of strings.
MAX_PROGRAM_CHARS = 1 << 20
MAX_NESTING = 60

_TOKEN = re.compile(
    r"(?P<blank>(?:\s+|#[^\n]*)+)|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)|(?P<field>\.[A-Za-z_]\w*)|"
    r"(?P<format>@[A-Za-z0-9]+)|(?P<variable>\$(?:__loc__|[A-Za-z_](?:\w|::)*))|(?P<name>[A-Za-z_](?:\w|::)*)|"
    r"(?P<sign>\?//=|\?//|//=|\|=|\+=|-=|\*=|/=|%=|==|!=|<=|>=|//|\.\.|[-+*/%=<>|,.:;()\[\]{}?$])",
    re.ASCII,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", '"': '"'}
KEYWORDS = frozenset(
    "def if then elif else end as reduce foreach try catch label import include and or __loc__".split()
)


class Token:
    """One word: `kind` is `number`, `field`, `format`, `variable`, `name`, `keyword`, `sign`, `string` or `end`. A
    string's value is a list of texts and lists of tokens."""

    __slots__ = ("kind", "value", "at")

    def __init__(self, kind, value, at):
        self.kind = kind
        self.value = value
        self.at = at


def tokens(program):
    if len(program) > MAX_PROGRAM_CHARS:
        raise Refused("the program is too long", 3)
    found, at = _read(program, 0, False, 0)
    return found


def _read(text, at, inside, nesting):
    """Tokens up to the end, or with `inside` up to the parenthesis that closes; and where they end."""
    if nesting > MAX_NESTING:
        raise Refused("the program is nested too deeply", 3)
    found, depth = [], 0
    while at < len(text):
        if text[at] == '"':
            parts, end = _string(text, at + 1, nesting)
            found.append(Token("string", parts, at))
            at = end
            continue
        match = _TOKEN.match(text, at)
        if match is None:
            raise Refused(f"syntax error: unexpected {text[at]!r} at {at}", 3)
        kind, value = match.lastgroup, match.group()
        if kind == "sign" and value in "()" and inside:
            depth += 1 if value == "(" else -1
            if depth < 0:
                found.append(Token("end", "the end", at))
                return found, match.end()
        if kind == "field" and found and text[at - 1 : at] == "." and found[-1].value == "..":
            kind = "field"
        if kind == "name" and value in KEYWORDS:
            kind = "keyword"
        if kind != "blank":
            found.append(Token(kind, value, at))
        at = match.end()
    if inside:
        raise Refused("syntax error: \\( is not closed", 3)
    found.append(Token("end", "the end", at))
    return found, at


def _string(text, at, nesting):
    parts, bare = [], []
    while at < len(text):
        char = text[at]
        at += 1
        if char == '"':
            parts.append("".join(bare))
            return parts, at
        if char != "\\":
            bare.append(char)
            continue
        following = text[at : at + 1]
        at += 1
        if following == "(":
            parts.append("".join(bare))
            bare = []
            inner, at = _read(text, at, True, nesting + 1)
            parts.append(inner)
        elif following == "u":
            match = re.compile(r"[0-9a-fA-F]{4}").match(text, at)
            if match is None:
                raise Refused("syntax error: \\u needs four digits", 3)
            code, at = int(match.group(), 16), match.end()
            low = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})").match(text, at)
            if 0xD800 <= code < 0xDC00 and low:
                code, at = 0x10000 + ((code - 0xD800) << 10) + int(low.group(1), 16) - 0xDC00, low.end()
            bare.append(chr(code))
        elif following in _ESCAPES:
            bare.append(_ESCAPES[following])
        else:
            raise Refused(f"syntax error: invalid escape \\{following}", 3)
    raise Refused("syntax error: a string is not closed", 3)
