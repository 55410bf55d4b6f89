"""Commands that read and write text. Bytes that are not UTF-8 pass through unchanged where the target is a file."""

from ..pristine import __builtins__

import collections
import contextlib
import re

from . import options
from .interpreter import Refused

_CODEC = ("utf-8", "surrogateescape")


def _open(path, streams):
    """A file to be used by `with`; `-` is the command's input, which stays open."""
    return contextlib.nullcontext(streams.input) if path == "-" else open(path, "rb")


def _lines(path, streams):
    """The lines of a file, as text with their ends."""
    with _open(path, streams) as file:
        for line in file:
            yield line.decode(*_CODEC)


def _each(paths, streams, function, name):
    """Calls `function(path)` for each; a file that cannot be read is reported and the rest goes on."""
    status = 0
    for path in paths:
        try:
            function(path)
        except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
            streams.err.write(f"{name}: {path}: {error.strerror}\n")
            status = 1
    return status


def cat(arguments, streams):
    """cat [-n] [file...]: contents of files"""
    found, paths = options.parse(arguments, flags="nbseAtvu", long={"number": "n"})
    count = 0

    def show(path):
        nonlocal count
        for line in _lines(path, streams):
            count += 1
            streams.out.write(f"{count:6}\t{line}" if "n" in found or "b" in found else line)

    return _each(paths or ["-"], streams, show, "cat")


def head(arguments, streams):
    """head [-n N] [-c N] [file...]: the first lines"""
    return _ends(arguments, streams, "head")


def tail(arguments, streams):
    """tail [-n N] [-c N] [file...]: the last lines"""
    return _ends(arguments, streams, "tail")


def _ends(arguments, streams, name):
    found, paths = options.parse(arguments, flags="qv", values="nc", long={"lines": "n", "bytes": "c"})
    paths = paths or ["-"]
    wanted = found.get("c", found.get("n", "10"))
    count = options.number(wanted)
    first = [True]

    def show(path):
        body = _part(path, streams, name, "c" in found, count, wanted[:1] == "+")
        if len(paths) > 1 and "q" not in found:
            streams.out.write(("" if first[0] else "\n") + f"==> {path} <==\n")
        first[0] = False
        for piece in body:
            streams.out.write(piece)

    return _each(paths, streams, show, name)


def _part(path, streams, name, by_bytes, count, from_start):
    if by_bytes:
        with _open(path, streams) as file:
            data = file.read(count) if name == "head" and count >= 0 else file.read()
        if name == "head":
            data = data[:count] if count < 0 else data
        else:
            data = data[count - 1 :] if from_start else data[-abs(count) :] if count else b""
        return [data.decode(*_CODEC)]
    lines = _lines(path, streams)
    if name == "head":
        if count < 0:
            return list(lines)[:count]
        return [line for _, line in zip(range(count), lines, strict=False)]
    if from_start:
        return list(lines)[max(count - 1, 0) :]
    return list(collections.deque(lines, maxlen=abs(count)))


def wc(arguments, streams):
    """wc [-lwcm] [file...]: lines, words, bytes"""
    found, paths = options.parse(arguments, flags="lwcm", long={"lines": "l", "words": "w", "bytes": "c", "chars": "m"})
    shown = [letter for letter in "lwmc" if letter in found] or ["l", "w", "c"]
    totals, counted = collections.Counter(), []

    def count(path):
        numbers = collections.Counter()
        with _open(path, streams) as file:
            for line in file:
                text = line.decode(*_CODEC)
                numbers.update({"l": line.endswith(b"\n"), "w": len(text.split()), "c": len(line), "m": len(text)})
        totals.update(numbers)
        counted.append((numbers, path))

    status = _each(paths or ["-"], streams, count, "wc")
    if len(paths) > 1:
        counted.append((totals, "total"))
    width = (
        max([len(str(totals[letter])) for letter in shown] + [7 if not paths else 1])
        if len(shown) * len(counted) > 1
        else 1
    )
    for numbers, path in counted:
        text = " ".join(f"{numbers[letter]:{width}}" for letter in shown)
        streams.out.write(text + ("" if path == "-" else f" {path}") + "\n")
    return status


def grep(arguments, streams):
    """grep [-EFinvclorwhHqe] pattern [file...]: lines that match"""
    import os

    names = {
        "ignore-case": "i",
        "line-number": "n",
        "invert-match": "v",
        "count": "c",
        "recursive": "r",
        "word-regexp": "w",
    }
    names |= {
        "only-matching": "o",
        "files-with-matches": "l",
        "fixed-strings": "F",
        "extended-regexp": "E",
        "color": "",
    }
    found, operands = options.parse(arguments, flags="EFGPinvclorRwhHqsxL", values="emABC", long=names)
    pattern = found.get("e")
    if pattern is None:
        if not operands:
            raise Refused("a pattern is missing", 2)
        pattern = operands.pop(0)
    recursive = "r" in found or "R" in found
    if recursive:
        files = []
        for top in operands or ["."]:
            files += (
                [top]
                if not os.path.isdir(top)
                else [os.path.join(base, name) for base, _, inside in sorted(os.walk(top)) for name in sorted(inside)]
            )
        operands = files
    search = _matcher(pattern, found)
    paths = operands or ["-"]
    named = ("H" in found or len(paths) > 1 or recursive) and "h" not in found
    before = options.number(found.get("B", found.get("C", "0")))
    after = options.number(found.get("A", found.get("C", "0")))
    limit = options.number(found.get("m", "-1"))
    matched = False

    def one(path):
        nonlocal matched
        prefix = f"{path}:" if named else ""
        count, recent, following = 0, collections.deque(maxlen=before), 0
        for number, line in enumerate(_lines(path, streams), 1):
            line = line.removesuffix("\n")
            hits = search(line)
            if bool(hits) == ("v" in found):
                if following > 0:
                    following -= 1
                    streams.out.write(f"{prefix[:-1]}-{line}\n" if prefix else f"{line}\n")
                else:
                    recent.append(line)
                continue
            count += 1
            matched = True
            if not any(letter in found for letter in "qclL"):
                for earlier in recent:
                    streams.out.write(f"{prefix[:-1]}-{earlier}\n" if prefix else f"{earlier}\n")
                at = f"{number}:" if "n" in found else ""
                for text in hits if "o" in found and "v" not in found else [line]:
                    streams.out.write(f"{prefix}{at}{text}\n")
                recent.clear()
                following = after
            if count == limit or "q" in found or "l" in found:
                break
        if "c" in found:
            streams.out.write(f"{prefix}{count}\n")
        elif ("l" in found and count) or ("L" in found and not count):
            streams.out.write(f"{path}\n")

    status = _each(paths, streams, one, "grep")
    return 2 if status and "s" not in found else 0 if matched else 1


def _matcher(pattern, found):
    """A function from a line to the texts of its matches."""
    if "F" in found:
        pattern = re.escape(pattern)
    elif "E" not in found and "P" not in found:
        # Basic expressions: these characters are special only after a backslash.
        pattern = re.sub(r"\\([(){}|+?])|([(){}|+?])", lambda m: m.group(1) or "\\" + m.group(2), pattern)
    if "P" not in found and "F" not in found:
        for name, characters in (
            ("alpha", "a-zA-Z"),
            ("digit", "0-9"),
            ("alnum", "a-zA-Z0-9"),
            ("space", r"\s"),
            ("upper", "A-Z"),
            ("lower", "a-z"),
        ):
            pattern = pattern.replace(f"[:{name}:]", characters)
    if "w" in found:
        pattern = rf"(?<!\w)(?:{pattern})(?!\w)"
    if "x" in found:
        pattern = rf"^(?:{pattern})$"
    try:
        compiled = re.compile(pattern, re.IGNORECASE if "i" in found else 0)
    except re.error as error:
        raise Refused(f"invalid pattern: {error}", 2) from None
    return lambda line: [match.group() or line for match in compiled.finditer(line)]


def sort(arguments, streams):
    """sort [-nrufk] [file...]: sorted lines"""
    found, paths = options.parse(
        arguments, flags="nrufgb", values="kt", long={"reverse": "r", "unique": "u", "numeric-sort": "n"}
    )
    lines = [line.removesuffix("\n") for path in paths or ["-"] for line in _lines(path, streams)]
    column = options.number(re.split("[,.nr]", found["k"])[0], "field") if "k" in found else 0
    numeric = "n" in found or "g" in found or "n" in found.get("k", "")

    def key(line):
        if column:
            fields = line.split(found.get("t"))
            line = fields[column - 1] if column <= len(fields) else ""
        if numeric:
            digits = re.match(r"\s*([-+]?\d*\.?\d+)", line)
            return float(digits.group(1)) if digits else 0.0
        return line.lower() if "f" in found else line

    lines.sort(key=key, reverse="r" in found or "r" in found.get("k", ""))
    if "u" in found:
        lines = list(dict.fromkeys(lines))
    streams.out.write("".join([line + "\n" for line in lines]))


def uniq(arguments, streams):
    """uniq [-cdu] [file]: without repeated neighbours"""
    found, paths = options.parse(arguments, flags="cdui", long={"count": "c", "repeated": "d"})
    groups = []
    for line in _lines((paths or ["-"])[0], streams):
        line = line.removesuffix("\n")
        same = groups and (groups[-1][0] == line or "i" in found and groups[-1][0].lower() == line.lower())
        if same:
            groups[-1][1] += 1
        else:
            groups.append([line, 1])
    for line, count in groups:
        if ("d" in found and count < 2) or ("u" in found and count > 1):
            continue
        streams.out.write(f"{count:7} {line}\n" if "c" in found else f"{line}\n")


def cut(arguments, streams):
    """cut -f LIST [-d DELIMITER] | -c LIST [file...]: parts of lines"""
    found, paths = options.parse(
        arguments, flags="s", values="fdcb", long={"fields": "f", "delimiter": "d", "characters": "c"}
    )
    wanted = found.get("f") or found.get("c") or found.get("b")
    if not wanted:
        raise Refused("say which fields (-f) or characters (-c)", 2)
    ranges = []
    for part in wanted.split(","):
        first, dash, last = part.partition("-")
        begin = options.number(first, "field") if first else 1
        ranges.append((begin, begin if not dash else options.number(last, "field") if last else 1 << 30))
    delimiter = found.get("d", "\t")
    for path in paths or ["-"]:
        for line in _lines(path, streams):
            line = line.removesuffix("\n")
            pieces = line.split(delimiter) if "f" in found else list(line)
            if "f" in found and len(pieces) == 1:
                streams.out.write("" if "s" in found else line + "\n")
                continue
            kept = [piece for at, piece in enumerate(pieces, 1) if any(a <= at <= b for a, b in ranges)]
            streams.out.write((delimiter if "f" in found else "").join(kept) + "\n")


def tee(arguments, streams):
    """tee [-a] file...: passes its input on and into files"""
    found, paths = options.parse(arguments, flags="ai", long={"append": "a"})
    data = streams.input.read()
    for path in paths:
        with open(path, "ab" if "a" in found else "wb") as file:
            file.write(data)
    streams.out.write(data.decode(*_CODEC))


def echo(arguments, streams):
    """echo [-neE] text...: its arguments"""
    flags = set()
    while arguments and arguments[0][:1] == "-" and arguments[0][1:] and not set(arguments[0][1:]) - set("neE"):
        flags |= set(arguments[0][1:])
        arguments = arguments[1:]
    text = " ".join(arguments)
    streams.out.write((unescape(text) if "e" in flags else text) + ("" if "n" in flags else "\n"))


_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "\\": "\\",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "0": "\0",
    "e": "\x1b",
}


def unescape(text):
    """Backslash escapes of `echo -e` and `printf`."""
    return re.sub(r"\\([ntr\\abfv0e])", lambda found: _ESCAPES[found.group(1)], text)


def printf(arguments, streams):
    """printf format [value...]: formatted text"""
    if not arguments:
        raise Refused("a format is missing", 2)
    form, values = unescape(arguments[0]), list(arguments[1:])
    pattern = re.compile(r"%(%|[-+ 0#]*\d*(?:\.\d+)?[sdifgeExXoucb])")

    def value(found):
        code = found.group(1)
        if code == "%":
            return "%"
        text = values.pop(0) if values else ""
        if code[-1] in "sbc":
            return f"%{code[:-1]}s" % (unescape(text) if code[-1] == "b" else text)
        try:
            number = float(text or 0) if code[-1] in "fgeE" else int(text or "0", 0)
        except ValueError:
            raise Refused(f"{text}: not a number") from None
        return f"%{code}" % number

    while True:
        before = len(values)
        streams.out.write(pattern.sub(value, form))
        if not values or len(values) == before:
            return
