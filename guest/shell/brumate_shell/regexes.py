"""Regular expressions of POSIX and GNU, basic and extended, translated to Python's `re`.

Where several alternatives match, Python takes the first one. POSIX takes the longest one.
"""

import functools
import re

from .patterns import CLASSES
from .streams import Refused

_GNU = {"w": r"\w", "W": r"\W", "s": r"\s", "S": r"\S", "b": r"\b", "B": r"\B", "`": r"\A", "'": r"\Z"}
_GNU |= {"<": r"\b(?=\w)", ">": r"\b(?<=\w)"}
_CODE = re.compile(r"x([0-9A-Fa-f]{2})")
_GNU_SETS = {"w": r"\w", "s": r"\s", "d": "d"}
_CONTROLS = {"n": r"\n", "t": r"\t", "r": r"\r", "f": r"\f", "v": r"\v", "a": r"\a"}


@functools.lru_cache(maxsize=500)
def translated(expression, extended, multiline=False, escapes=False):
    """Returns the expression in the syntax of Python's `re`. With `escapes` a backslash escapes in a set, as in awk."""
    out, at, size = [], 0, len(expression)
    at_start = True  # at a start a star is an ordinary character, and `^` is an anchor
    groups = 0
    while at < size:
        char = expression[at]
        following = expression[at + 1 : at + 2]
        special = ""
        if char == "\\":
            at += 2
            if not following:
                raise Refused("invalid pattern: trailing backslash", 2)
            if following.isdigit() and following != "0":
                out.append(f"(?:\\{following})")
                at_start = False
                continue
            if following in _GNU:
                out.append(_GNU[following])
                at_start = False
                continue
            code = _CODE.match(expression, at - 1)
            if code:
                out.append(re.escape(chr(int(code.group(1), 16))))
                at = code.end()
                at_start = False
                continue
            if following in _CONTROLS:
                out.append(_CONTROLS[following])
                at_start = False
                continue
            if not extended and following in "(){}|+?":
                special = following
            else:
                out.append(re.escape(following))
                at_start = False
                continue
        elif char == "[":
            found, at = _set(expression, at, escapes)
            out.append(found)
            at_start = False
            continue
        else:
            at += 1
            if extended and char in "(){}|+?":
                special = char
        if special == "(":
            groups += 1
            out.append("(")
            at_start = True
        elif special == ")":
            if extended and not groups:
                out.append(r"\)")
                continue
            groups -= 1
            out.append(")")
            at_start = False
        elif special == "|":
            out.append("|")
            at_start = True
        elif special == "{":
            found, at = _interval(expression, at, extended, at_start)
            out.append(found)
            at_start = False
        elif special in ("+", "?"):
            _repeat(out, special, at_start)
        elif char == "*" and not special:
            _repeat(out, "*", at_start)
            at_start = False
        elif char == "." and not special:
            out.append(".")
            at_start = False
        elif char == "^" and (extended or at_start):
            out.append("^")
            at_start = True
        elif char == "$" and (extended or at >= size or expression.startswith(("\\)", "\\|"), at)):
            # In POSIX `$` matches only at the end. In Python it also matches before a last newline.
            out.append("$" if multiline else r"\Z")
        else:
            out.append(re.escape(char))
            at_start = False
    if groups > 0:
        raise Refused("invalid pattern: a parenthesis is not closed", 2)
    return "".join(out)


def _repeat(out, sign, at_start):
    if at_start:
        out.append("\\" + sign)
    elif out[-1] in ("*", "+", "?"):
        # `a**` is `a*`. In Python the second sign has another meaning.
        out[-1] = sign if out[-1] == sign else "*"
    elif out[-1][-1:] == "}" and out[-1][:1] == "{":
        out[-1] = "{0,}" if sign != "?" else out[-1]
    else:
        out.append(sign)


def _interval(expression, at, extended, at_start):
    end = expression.find("}" if extended else "\\}", at)
    body = expression[at:end] if end >= 0 else ""
    found = re.fullmatch(r"(\d*)(,?)(\d*)", body)
    if found is None or body in ("", ",") or at_start:
        if extended:
            return r"\{", at
        raise Refused("invalid pattern: the numbers in \\{ \\} are wrong", 2)
    first, comma, last = found.groups()
    return f"{{{first or 0}{comma}{last}}}", end + (1 if extended else 2)


def _set(expression, at, escapes):
    """Returns the set `[...]` that begins at `at`, in Python's syntax, and the position after it."""
    start, end = at, at + 1
    negated = expression[end : end + 1] == "^"
    end += negated
    parts, first = [], True
    while end < len(expression):
        char = expression[end]
        if char == "]" and not first:
            inner = "".join(parts)
            return f"[{'^' if negated else ''}{inner}]", end + 1
        first = False
        found = re.compile(r"\[([:=.])(.*?)\1\]").match(expression, end)
        if found:
            kind, name = found.groups()
            if kind == ":" and name not in ALL_CLASSES:
                raise Refused(f"invalid pattern: the class [:{name}:] is not known", 2)
            parts.append(ALL_CLASSES[name] if kind == ":" else re.escape(name))
            end = found.end()
            continue
        following = expression[end + 1 : end + 2]
        # In a set a backslash is an ordinary character. GNU sed accepts `\n` and `\t`.
        if char == "\\" and following and (escapes or following in "nt"):
            parts.append(_CONTROLS.get(following) or _GNU_SETS.get(following) or "\\" + following)
            end += 2
            continue
        parts.append("\\" + char if char in "[]\\^&~|" else char)
        end += 1
    raise Refused(f"invalid pattern: {expression[start:]}: the set is not closed", 2)


ALL_CLASSES = {**CLASSES, "cntrl": r"\x00-\x1f\x7f", "print": r" -~\x80-\U0010ffff", "graph": r"!-~\x80-\U0010ffff"}


class Pattern:
    """A compiled expression. Its attributes are attributes of Python's compiled expression."""

    __slots__ = ("search", "finditer", "match", "groups", "sub")

    def __init__(self, expression, extended, flags=0, escapes=False):
        compiled = _compiled(translated(expression, extended, bool(flags & re.MULTILINE), escapes), flags)
        self.search = compiled.search
        self.finditer = compiled.finditer
        self.match = compiled.match
        self.sub = compiled.sub
        self.groups = compiled.groups


@functools.lru_cache(maxsize=500)
def _compiled(expression, flags):
    try:
        return re.compile(expression, flags | re.DOTALL)
    except (re.error, OverflowError) as error:
        raise Refused(f"invalid pattern: {error}", 2) from None
