"""Words to arguments: `~`, `$NAME`, `$(command)`, `{a,b}`, `*?[...]`."""

from ..pristine import __builtins__

import glob
import os
import re

from .syntax import ShellSyntaxError

# Arguments of one command.
MAX_ARGUMENTS = 100_000

_VARIABLE = re.compile(r"\\\$|\$(\w+)|\$\{(\w+)(?:(:?[-+])([^}]*))?\}|\$([?$#@*!])|\$\(")
_MAGIC = re.compile(r"([*?\[])")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*|-?\d+\.\.-?\d+)\}")


def arguments(words, context):
    """All words of a command, expanded."""
    found = []
    for word in words:
        found += _expand(word, context)
        if len(found) > MAX_ARGUMENTS:
            raise ShellSyntaxError("too many arguments")
    return found


def text(word, context):
    """A word as one text, without splitting and globbing."""
    return "".join(part if quote == "'" else _variables(part, context) for part, quote in word.parts)


def _expand(word, context):
    plain = word.plain()
    if plain is not None and "{" in plain:
        texts = []
        _braces(plain, texts)
        return [one for text in texts for one in _fields([(text, "")], context)]
    return _fields(word.parts, context)


def _fields(parts, context):
    """The fields of one word: unquoted values are split at blanks, then globbed."""
    # Each field is [what it says, what it says as a pattern, whether to keep it when empty].
    fields, current = [], ["", "", False]
    for number, (part, quote) in enumerate(parts):
        if quote == "'":
            value, split = part, False
        else:
            if not quote and not number and part[:1] == "~":
                part = _home(part)
            value = _variables(part, context)
            split = not quote and value != part
        pieces = re.split(r"[ \t\n]+", value) if split else [value]
        for index, piece in enumerate(pieces):
            if index:
                fields.append(current)
                current = ["", "", False]
            current[0] += piece
            current[1] += piece if not quote else glob.escape(piece)
        current[2] = current[2] or bool(quote)
    fields.append(current)
    result = []
    for said, pattern, keep in fields:
        if not said and not keep:
            continue
        matches = sorted(glob.glob(pattern)) if _MAGIC.search(pattern) and pattern != glob.escape(said) else []
        result += matches or [said]
    return result


def _home(part):
    head, slash, rest = part.partition("/")
    return os.path.expanduser(head) + slash + rest


def _braces(text, found):
    """Adds what `text` stands for to `found`."""
    match = _BRACES.search(text)
    if match is None or (match.start() and text[match.start() - 1] == "$"):
        if len(found) >= MAX_ARGUMENTS:
            raise ShellSyntaxError("too many arguments")
        found.append(text)
        return
    inner = match.group(1)
    if "," in inner:
        choices = inner.split(",")
    else:
        first, last = (int(number) for number in inner.split(".."))
        step = 1 if last >= first else -1
        choices = map(str, range(first, last + step, step))
    head, tail = text[: match.start()], text[match.end() :]
    for choice in choices:
        _braces(head + choice + tail, found)


def _variables(part, context):
    if "$" not in part:
        return part
    out, at = [], 0
    while True:
        found = _VARIABLE.search(part, at)
        if found is None:
            return "".join(out) + part[at:]
        out.append(part[at : found.start()])
        at = found.end()
        shown = found.group()
        if shown == "\\$":
            out.append("$")
        elif shown == "$(":
            end = _closing(part, at)
            out.append(context.substitute(part[at:end]))
            at = end + 1
        elif found.group(5):
            out.append({"?": str(context.status), "$": "1", "#": "0"}.get(found.group(5), ""))
        else:
            value = os.environ.get(found.group(1) or found.group(2))
            operator, other = found.group(3), found.group(4)
            if operator and operator[-1] == "-" and (value is None or (operator == ":-" and not value)):
                value = other
            elif operator and operator[-1] == "+":
                value = other if value else ""
            out.append(value or "")


def _closing(part, at):
    depth = 1
    while at < len(part):
        depth += {"(": 1, ")": -1}.get(part[at], 0)
        if not depth:
            return at
        at += 1
    raise ShellSyntaxError("$( is not closed")
