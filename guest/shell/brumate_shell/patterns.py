"""Patterns of the shell: `*`, `?`, `[...]`; a backslash takes a character as it is."""

import functools
import re

CLASSES = {
    "alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z", "space": r"\s",
    "blank": r" \t", "punct": r"!-/:-@\[-`{-~", "xdigit": "0-9A-Fa-f", "word": r"\w",
}  # fmt: skip
_MAGIC = re.compile(r"(?<!\\)(?:\\\\)*[*?\[]")


def quoted(text):
    """A text as a pattern that matches nothing else."""
    return re.sub(r"([\\*?\[\]!^-])", r"\\\1", text)


def has_magic(pattern):
    return _MAGIC.search(pattern) is not None


def bracket(pattern, at):
    """The regular expression of the set that begins at `at`, and where it ends; None when it is none."""
    end = at + 1
    negated = pattern[end : end + 1] in ("!", "^") and pattern[end : end + 1] != ""
    end += negated
    parts, first = [], True
    while end < len(pattern):
        char = pattern[end]
        if char == "]" and not first:
            return f"[{'^' if negated else ''}{''.join(parts)}]", end + 1
        first = False
        found = re.compile(r"\[:(\w+):\]").match(pattern, end)
        if found and found.group(1) in CLASSES:
            parts.append(CLASSES[found.group(1)])
            end = found.end()
            continue
        if char == "\\" and end + 1 < len(pattern):
            end += 1
            char = "\\" + pattern[end]
            parts.append(char if not pattern[end].isalnum() else pattern[end])
        else:
            parts.append("\\" + char if char in "[]\\^&~|" else char)
        end += 1
    return None


@functools.lru_cache(maxsize=500)
def translated(pattern):
    """The pattern as a regular expression."""
    out, at = [], 0
    while at < len(pattern):
        char = pattern[at]
        at += 1
        if char == "*":
            out.append(".*")
        elif char == "?":
            out.append(".")
        elif char == "[":
            found = bracket(pattern, at - 1)
            if found is None:
                out.append(r"\[")
            else:
                out.append(found[0])
                at = found[1]
        else:
            if char == "\\" and at < len(pattern):
                char = pattern[at]
                at += 1
            out.append(re.escape(char))
    return "".join(out)


@functools.lru_cache(maxsize=500)
def compiled(pattern, ignore_case=False):
    try:
        return re.compile(translated(pattern), re.DOTALL | (re.IGNORECASE if ignore_case else 0))
    except re.error:
        return re.compile(re.escape(pattern))


def matches(text, pattern, ignore_case=False):
    """Whether a pattern matches all of a text."""
    return compiled(pattern, ignore_case).fullmatch(text) is not None


def for_glob(pattern):
    """The pattern in the words of Python's `glob`."""
    out, at = [], 0
    while at < len(pattern):
        char = pattern[at]
        at += 1
        if char == "\\" and at < len(pattern):
            char = pattern[at]
            at += 1
            out.append(f"[{char}]" if char in "*?[" else char)
        elif char == "[":
            found = bracket(pattern, at - 1)
            if found is None:
                out.append("[[]")
            else:
                inner = found[0][1:-1].replace(r"\s", " \t\n").replace(r"\w", "a-zA-Z0-9_").replace("\\", "")
                out.append("[" + ("!" + inner[1:] if inner[:1] == "^" else inner) + "]")
                at = found[1]
        else:
            out.append(char)
    return "".join(out)


def without_prefix(text, pattern, longest):
    """What is left behind the part of the front that matches."""
    search = compiled(pattern).fullmatch
    for end in range(len(text), -1, -1) if longest else range(len(text) + 1):
        if search(text, 0, end):
            return text[end:]
    return text


def without_suffix(text, pattern, longest):
    """What is left before the part of the end that matches."""
    search = compiled(pattern).fullmatch
    for start in range(len(text) + 1) if longest else range(len(text), -1, -1):
        if search(text, start):
            return text[:start]
    return text
