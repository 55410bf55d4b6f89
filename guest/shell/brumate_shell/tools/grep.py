"""`grep`: lines that match."""

import collections
import os
import re
import warnings

from brumate_shell import options
from brumate_shell.lines import each, raw_lines
from brumate_shell.patterns import matches
from brumate_shell.regexes import translated
from brumate_shell.streams import Refused

_LONG = {
    "ignore-case": "i", "line-number": "n", "invert-match": "v", "count": "c", "recursive": "r", "word-regexp": "w",
    "only-matching": "o", "files-with-matches": "l", "files-without-match": "L", "fixed-strings": "F",
    "extended-regexp": "E", "perl-regexp": "P", "basic-regexp": "G", "color": "", "colour": "", "quiet": "q",
    "silent": "q", "no-filename": "h", "with-filename": "H", "line-regexp": "x", "max-count": "m", "regexp": "e",
    "file": "f", "after-context": "A", "before-context": "B", "context": "C", "include": "I", "exclude": "X",
    "exclude-dir": "D", "no-messages": "s", "null": "Z", "text": "a", "byte-offset": "b",
}  # fmt: skip
# The group behind `\K`.
_KEPT = "kept"
_FLAGS = "EFGPinvclorRwhHqsxLaZzUyb"


def grep(arguments, streams):
    """grep [-EFGPinvclLorRwxhHqsm] [-ABC LINES] [-e PATTERN] [-f FILE] [--include=PATTERN] pattern [file...]: lines"""
    found, operands, several = _options(arguments)
    if not several["e"] and "f" not in found:
        if not operands:
            raise Refused("a pattern is missing", 2)
        several["e"].append(operands.pop(0))
    expressions = [line for text in several["e"] for line in text.split("\n")]
    if "f" in found:
        expressions += [line.removesuffix("\n") for line in raw_lines(found["f"], streams)]
    search = _Search(expressions, found)
    recursive = "r" in found or "R" in found
    paths = operands or ["." if recursive else "-"]
    named = ("H" in found or len(paths) > 1 or recursive) and "h" not in found
    if recursive:
        paths = _below(paths, several, strip=not operands)
    elif several["I"] or several["X"]:
        paths = [path for path in paths if _wanted(os.path.basename(path), several)]
    scan = _Scan(search, found, named, streams)

    def one(path):
        if "s" in found and not os.path.exists(path) and path != "-":
            scan.failed = True
        elif not recursive and os.path.isdir(path):
            streams.err.write(f"grep: {path}: Is a directory\n")
        else:
            scan.file(path)

    status = each(paths, streams, one, "grep")
    if "q" in found and scan.matched:
        return 0
    return 2 if status or scan.failed else 0 if scan.matched else 1


def _options(arguments):
    """Options, operands, and the values of those that may be given several times."""
    several = {"e": [], "I": [], "X": [], "D": []}
    queue, rest = list(arguments), []
    while queue:
        word = queue.pop(0)
        if word == "--":
            rest += ["--", *queue]
            break
        match = re.fullmatch(r"--(regexp|include|exclude|exclude-dir)(?:=(.*))?", word, re.DOTALL)
        short = re.fullmatch(rf"-([{_FLAGS}]*)e(.*)", word, re.DOTALL)
        if match:
            value = match.group(2) if match.group(2) is not None else queue.pop(0) if queue else ""
            several[_LONG[match.group(1)]].append(value)
        elif short:
            several["e"].append(short.group(2) or (queue.pop(0) if queue else ""))
            if short.group(1):
                rest.append("-" + short.group(1))
        elif re.fullmatch(r"-\d+", word):
            rest += ["-C", word[1:]]
        else:
            rest.append(word)
            if re.fullmatch(rf"-[{_FLAGS}]*[fmABC]", word) and queue:
                rest.append(queue.pop(0))
    found, operands = options.parse(rest, flags=_FLAGS, values="fmABC", long=_LONG)
    return found, operands, several


def _wanted(name, several):
    if several["I"] and not any([matches(name, pattern) for pattern in several["I"]]):
        return False
    return not any([matches(name, pattern) for pattern in several["X"]])


def _below(tops, several, strip):
    """The files below some directories."""
    found = []
    for top in tops:
        if not os.path.isdir(top):
            found.append(top)
            continue
        for base, directories, names in os.walk(top):
            directories[:] = sorted([one for one in directories if not any([matches(one, p) for p in several["D"]])])
            base = base.removeprefix("./") if strip and base != "." else base
            found += [
                name if strip and base == "." else os.path.join(base, name)
                for name in sorted(names)
                if _wanted(name, several)
            ]
    return found


class _Search:
    """Finds matches in a line."""

    def __init__(self, expressions, found):
        flags = re.IGNORECASE if "i" in found or "y" in found else 0
        forms = []
        for expression in expressions:
            if "F" in found:
                form = re.escape(expression)
            elif "P" in found:
                form = _without_kept(expression)
            else:
                form = translated(expression, "E" in found)
            forms.append(f"(?:{form})" if len(expressions) > 1 else form)
        form = "|".join(forms) if expressions else "(?!)"
        if "w" in found:
            form = rf"(?<!\w)(?:{form})(?!\w)"
        if "x" in found:
            form = rf"\A(?:{form})\Z"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about sets that other versions of Python may read otherwise
                self.pattern = re.compile(form, flags)
        except (re.error, OverflowError) as error:
            raise Refused(f"invalid pattern: {error}", 2) from None
        self.search = self.pattern.search

    def texts(self, line):
        kept = _KEPT if _KEPT in self.pattern.groupindex else 0
        return [match.group(kept) for match in self.pattern.finditer(line) if match.group(kept)]


def _without_kept(expression):
    """An expression with `\\K`, which Python has not: what is behind it is a group of its own."""
    head, sign, tail = expression.partition("\\K")
    return f"(?:{head})(?P<{_KEPT}>{tail})" if sign and not head.endswith("\\") else expression


class _Scan:
    """Looks through files, and writes what is asked for."""

    def __init__(self, search, found, named, streams):
        self.search = search
        self.found = found
        self.named = named
        self.streams = streams
        self.matched = self.failed = False
        self.before = options.number(found.get("B", found.get("C", "0")))
        self.after = options.number(found.get("A", found.get("C", "0")))
        self.limit = options.number(found.get("m", "-1"))
        self.has_context = bool(self.before or self.after)
        self.wrote = False  # whether a group of lines has been written, for the `--` between them

    def file(self, path):
        found, out = self.found, self.streams.out
        inverted, quiet = "v" in found, any([letter in found for letter in "qclL"])
        shown = "(standard input)" if path == "-" else path
        count, recent, following, last = 0, collections.deque(maxlen=self.before), 0, -1
        if not self.limit:
            return
        binary = False
        for number, line in enumerate(raw_lines(path, self.streams), 1):
            line = line.removesuffix("\n")
            binary = binary or ("\0" in line and "a" not in found)
            if (self.search.search(line) is not None) == inverted:
                if following > 0 and not quiet:
                    following -= 1
                    out.write(f"{self.head(shown, number, '-')}{line}\n")
                    last = number
                elif self.before:
                    recent.append((number, line))
                continue
            if count == self.limit:
                break
            count += 1
            self.matched = True
            if "q" in found or "l" in found or "L" in found:
                break
            if quiet:
                if count == self.limit:
                    break
                continue
            if binary:
                out.write(f"Binary file {shown} matches\n")
                break
            first = recent[0][0] if recent else number
            if self.has_context and self.wrote and (last < 0 or first > last + 1) and "o" not in found:
                out.write("--\n")
            self.wrote = True
            for at, earlier in recent:
                if "o" not in found:
                    out.write(f"{self.head(shown, at, '-')}{earlier}\n")
            recent.clear()
            head = self.head(shown, number, ":")
            if "o" not in found:
                out.write(f"{head}{line}\n")
            elif not inverted:
                for text in self.search.texts(line):
                    out.write(f"{head}{text}\n")
            following, last = self.after, number
            if count == self.limit and not following:
                break
        if "q" in found:
            return
        if "l" in found or "L" in found:
            if bool(count) == ("l" in found):
                out.write(shown + ("\0" if "Z" in found else "\n"))
        elif "c" in found:
            out.write(f"{shown + ':' if self.named else ''}{count}\n")

    def head(self, shown, number, sign):
        return (shown + sign if self.named else "") + (f"{number}{sign}" if "n" in self.found else "")
