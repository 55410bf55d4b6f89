"""`sort` and `uniq`."""

import functools
import re

from brumate_shell import options
from brumate_shell.lines import lines_of
from brumate_shell.streams import Refused, encode

_NUMBER = re.compile(r"[ \t]*(-?\d*(?:\.\d*)?)")
_GENERAL = re.compile(r"[ \t]*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?inf|nan)", re.IGNORECASE)
_UNITS = " KMGTPEZY"
_MONTHS = {name: number for number, name in enumerate("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split(), 1)}
_KEY = re.compile(r"(\d+)(?:\.(\d+))?([bdfghiMnrV]*)(?:,(\d+)(?:\.(\d+))?([bdfghiMnrV]*))?")


def _numeric(text):
    found = _NUMBER.match(text).group(1)
    try:
        return float(found)
    except ValueError:
        return 0.0


def _general(text):
    found = _GENERAL.match(text)
    return (0, 0.0) if found is None else (1, float(found.group(1)))


def _human(text):
    found = re.match(r"[ \t]*(-?)(\d*\.?\d*)([KkMGTPEZY]?)", text)
    sign = -1 if found.group(1) else 1
    try:
        value = float(found.group(2))
    except ValueError:
        return (0, 0.0)
    unit = _UNITS.index(found.group(3).upper()) if found.group(3) else 0
    return (sign * unit if value else 0, sign * value)


def _version(text):
    parts = []
    for letters, digits in re.findall(r"(\D*)(\d*)", text):
        parts.append([(0 if char == "~" else 1 if char.isalpha() else 2, char) for char in letters] + [(0.5, "")])
        parts.append(int(digits or 0))
    return parts


class _Key:
    """A key of `sort`: the part of a line that is compared. It has the field and character of its start and its end."""

    def __init__(self, text, flags):
        found = _KEY.fullmatch(text)
        if found is None or found.group(1) == "0":
            raise Refused(f"invalid key: {text}", 2)
        first, char, own, last, last_char, last_own = found.groups()
        self.first, self.char = int(first), int(char or 1)
        self.last = int(last) if last else None
        self.last_char = int(last_char or 0)
        own = set(own) | set(last_own or "")
        self.flags = own or flags
        self.blanks = "b" in own

    def part(self, line, separator):
        spans = _spans(line, separator)
        if self.first > len(spans):
            return ""
        start, end = spans[self.first - 1]
        if self.blanks:
            while start < end and line[start] in " \t":
                start += 1
        start += self.char - 1
        stop = len(line)
        if self.last is not None and self.last <= len(spans):
            stop = spans[self.last - 1][1]
            if self.last_char:
                stop = min(spans[self.last - 1][0] + self.last_char, stop)
        return line[start:stop]


def _spans(line, separator):
    """Returns the start and end of each field of a line. Without a separator a field includes the blanks before it."""
    if separator:
        spans, at = [], 0
        for piece in line.split(separator):
            spans.append((at, at + len(piece)))
            at += len(piece) + len(separator)
        return spans
    return [found.span() for found in re.finditer(r"[ \t]*[^ \t]+", line)] or [(0, len(line))]


def _value(flags):
    """Returns the function that turns a text into the value to compare."""
    if "n" in flags:
        return _numeric
    if "g" in flags:
        return _general
    if "h" in flags:
        return _human
    if "M" in flags:
        return lambda text: _MONTHS.get(text.strip()[:3].upper(), 0)
    if "V" in flags:
        return _version

    def plain(text):
        if "b" in flags:
            text = text.lstrip(" \t")
        if "d" in flags:
            text = re.sub(r"[^\w\s]", "", text)
        if "f" in flags:
            text = text.upper()
        return encode(text)

    return plain


class _Reversed:
    """A value whose order is reversed."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __lt__(self, other):
        return other.value < self.value

    def __eq__(self, other):
        return other.value == self.value


def sort(arguments, streams):
    """sort [-bdfghMnrRsuVzc] [-k KEY] [-t SEPARATOR] [-o FILE] [file...]: sorted lines, by bytes"""
    keys = [argument for argument in _values_of(arguments, "k", "key")]
    found, paths = options.parse(
        arguments,
        flags="bdfghiMnrRsuVzcCm",
        values="ktoST",
        long={
            "reverse": "r", "unique": "u", "numeric-sort": "n", "key": "k", "field-separator": "t", "output": "o",
            "human-numeric-sort": "h", "version-sort": "V", "ignore-case": "f", "general-numeric-sort": "g",
            "month-sort": "M", "stable": "s", "random-sort": "R", "check": "c", "zero-terminated": "z",
            "ignore-leading-blanks": "b", "dictionary-order": "d", "parallel": "S",
        },
    )  # fmt: skip
    end = "\0" if "z" in found else "\n"
    lines = []
    status = 0
    for path in paths or ["-"]:
        try:
            lines += lines_of(path, streams, end)
        except OSError as error:
            raise Refused(f"cannot read: {path}: {error.strerror}", 2) from None
    flags = {letter for letter in found if letter in "bdfghiMnRV"}
    if "R" in found:
        import random

        random.shuffle(lines)
    separator = found.get("t")
    separator = {"\\t": "\t", "\\0": "\0"}.get(separator, separator)
    key = _sort_key([_Key(text, flags | ({"r"} if "r" in found else set())) for text in keys], separator, flags, found)
    if "c" in found or "C" in found:
        return _check(lines, key, found, streams)
    if "R" not in found:
        lines.sort(key=key)
    if "u" in found:
        kept, before = [], None
        for line in lines:
            value = key(line)
            if before is None or before != value:
                kept.append(line)
            before = value
        lines = kept
    text = "".join([line + end for line in lines])
    if "o" in found:
        with open(found["o"], "wb") as file:
            file.write(encode(text))
    else:
        streams.out.write(text)
    return status


def _values_of(arguments, letter, long):
    """Returns all values of an option that may occur several times."""
    found, queue = [], list(arguments)
    while queue:
        word = queue.pop(0)
        if word == "--":
            break
        match = re.fullmatch(rf"-[bdfghiMnrRsuVzcCm]*{letter}(.*)|--{long}=(.*)", word, re.DOTALL)
        if match:
            found.append(match.group(1) or match.group(2) or (queue.pop(0) if queue else ""))
    return found


def _sort_key(keys, separator, flags, found):
    reverse, last_resort = "r" in found, "s" not in found and "u" not in found
    whole = _value(flags)

    def turned(value, is_reversed):
        return _Reversed(value) if is_reversed else value

    values = [(key, _value(key.flags), "r" in key.flags) for key in keys]

    def compared(line):
        parts = [turned(value(key.part(line, separator)), back) for key, value, back in values]
        if not keys:
            parts = [turned(whole(line), reverse)]
        if last_resort:
            parts.append(turned(encode(line), reverse))
        return parts

    if not keys and not flags:
        return (lambda line: _Reversed(encode(line))) if reverse else encode
    return compared


def _check(lines, key, found, streams):
    for number, (first, second) in enumerate(zip(lines, lines[1:], strict=False), 2):
        a, b = key(first), key(second)
        if b < a or ("u" in found and a == b):
            if "c" in found:
                streams.err.write(f"sort: -:{number}: disorder: {second}\n")
            return 1
    return 0


def uniq(arguments, streams):
    """uniq [-cduDi] [-f FIELDS] [-s CHARACTERS] [-w CHARACTERS] [file [output]]: without repeated neighbours"""
    found, paths = options.parse(
        arguments,
        flags="cduDiz",
        values="fsw",
        long={
            "count": "c", "repeated": "d", "unique": "u", "ignore-case": "i", "skip-fields": "f", "skip-chars": "s",
            "check-chars": "w", "all-repeated": "D",
        },
    )  # fmt: skip
    skip_fields, skip, width = [options.number(found.get(letter, "0")) for letter in "fsw"]

    @functools.lru_cache(maxsize=2)
    def compared(line):
        if skip_fields:
            line = re.sub(rf"^(?:[ \t]*[^ \t]+){{0,{skip_fields}}}", "", line)
        line = line[skip:]
        line = line[:width] if "w" in found else line
        return line.lower() if "i" in found else line

    groups = []
    for line in lines_of((paths or ["-"])[0], streams):
        if groups and compared(groups[-1][0]) == compared(line):
            groups[-1].append(line)
        else:
            groups.append([line])
    out = []
    for group in groups:
        count = len(group)
        if ("d" in found and count < 2) or ("u" in found and count > 1) or ("D" in found and count < 2):
            continue
        if "D" in found:
            out += [line + "\n" for line in group]
        else:
            out.append(f"{count:7} {group[0]}\n" if "c" in found else f"{group[0]}\n")
    if len(paths) > 1:
        with open(paths[1], "wb") as file:
            file.write(encode("".join(out)))
    else:
        streams.out.write("".join(out))
