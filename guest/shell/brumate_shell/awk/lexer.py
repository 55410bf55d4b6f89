"""The words of an `awk` program."""

import re

from brumate_shell.streams import Refused

# Longest program, in characters.
MAX_PROGRAM_CHARS = 1 << 20

KEYWORDS = frozenset(
    "BEGIN END function func if else while for do break continue next nextfile exit return delete in getline print "
    "printf".split()
)
FUNCTIONS = frozenset(
    "atan2 close cos exp fflush gensub gsub index int length log match rand sin split sprintf sqrt srand sub substr "
    "system tolower toupper systime strftime and or xor compl lshift rshift strtonum asort asorti mktime".split()
)
_TOKEN = re.compile(
    r"(?P<blank>(?:[ \t\r]|\\\r?\n|#[^\n]*)+)|(?P<newline>\n)|"
    r"(?P<number>0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)|(?P<name>[A-Za-z_]\w*)|"
    r"(?P<string>\"(?:[^\"\\\n]|\\[\s\S])*\")|"
    r"(?P<sign>\*\*=|\|&|\+\+|--|\+=|-=|\*=|/=|%=|\^=|\*\*|==|<=|>=|!=|!~|&&|\|\||>>|[-+*/%^!<>|?:~$=,;(){}\[\]])",
    re.ASCII,
)
_REGEX = re.compile(r"/((?:[^/\\\[\n]|\\.|\[\^?\]?(?:\[[:=.][^\]]*[:=.]\]|\\.|[^\]\n])*\])*)/")
_LOOSE_REGEX = re.compile(r"/((?:[^/\\\n]|\\.)*)/")
# What a slash behind divides.
_VALUES = frozenset((")", "]", "$", "++", "--"))
_ESCAPES = {
    "n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "/": "/", "a": "\a", "b": "\b", "f": "\f", "v": "\v",
}  # fmt: skip
_ESCAPE = re.compile(r"\\(\n|[0-7]{1,3}|x[0-9A-Fa-f]{1,2}|[\s\S])")


class Token:
    """One word: `kind` is `number`, `string`, `regex`, `name`, `call` (a name with `(` behind it), `builtin`,
    `keyword`, `sign`, `newline` or `end`."""

    __slots__ = ("kind", "value", "line")

    def __init__(self, kind, value, line):
        self.kind = kind
        self.value = value
        self.line = line


def unescaped(text):
    """A string's characters."""

    def one(found):
        code = found.group(1)
        if code == "\n":
            return ""
        if code[0] == "x" and len(code) > 1:
            return chr(int(code[1:], 16))
        if code[0] in "01234567":
            return chr(int(code, 8) & 0xFF)
        # An escape that is none keeps its backslash: regular expressions are written as strings too.
        return _ESCAPES.get(code, "\\" + code)

    return _ESCAPE.sub(one, text) if "\\" in text else text


def tokens(program):
    """All words of a program."""
    if len(program) > MAX_PROGRAM_CHARS:
        raise Refused("the program is too long", 2)
    found, at, line = [], 0, 1
    while at < len(program):
        before = found[-1] if found else None
        if program[at] == "/" and not _is_value(before):
            match = _REGEX.match(program, at) or _LOOSE_REGEX.match(program, at)
            if match is None:
                raise Refused(f"line {line}: a regular expression is not closed", 1)
            found.append(Token("regex", match.group(1).replace("\\/", "/"), line))
            at = match.end()
            continue
        match = _TOKEN.match(program, at)
        if match is None:
            what = "a string is not closed" if program[at] == '"' else f"unexpected character {program[at]}"
            raise Refused(f"line {line}: {what}", 1)
        kind, text = match.lastgroup, match.group()
        at = match.end()
        if kind == "newline":
            found.append(Token("newline", "\n", line))
        elif kind == "name":
            found.append(Token(_kind_of_name(text, program[at : at + 1]), text, line))
        elif kind == "number":
            found.append(Token("number", _number(text), line))
        elif kind == "string":
            found.append(Token("string", unescaped(text[1:-1]), line))
        elif kind == "sign":
            text = {"**": "^", "**=": "^="}.get(text, text)
            found.append(Token("sign", text, line))
        line += text.count("\n")
    found.append(Token("newline", "\n", line))
    found.append(Token("end", "the end", line))
    return found


def _number(text):
    """A number in a program; as in GNU awk, `0x` and `0` in front mean hexadecimal and octal."""
    if text[:2] in ("0x", "0X"):
        return float(int(text, 16))
    if len(text) > 1 and text[0] == "0" and not set(text) - set("01234567"):
        return float(int(text, 8))
    return float(text)


def _is_value(token):
    """Whether a token ends a value: a slash behind it divides."""
    if token is None:
        return False
    if token.kind in ("number", "string", "name", "regex"):
        return True
    return (token.kind == "builtin" and token.value == "length") or (token.kind == "sign" and token.value in _VALUES)


def _kind_of_name(text, following):
    if text in KEYWORDS:
        return "keyword"
    if text in FUNCTIONS:
        return "builtin"
    return "call" if following == "(" else "name"
