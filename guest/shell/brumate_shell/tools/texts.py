"""Commands that read and write text. Bytes that are not UTF-8 pass through unchanged where the target is a file."""

import collections
import re

from brumate_shell import options
from brumate_shell.lines import each, opened, raw_lines
from brumate_shell.streams import Refused, decode, encode


def cat(arguments, streams):
    """cat [-nbsAETv] [file...]: contents of files"""
    found, paths = options.parse(
        arguments, flags="nbseAEtTvu", long={"number": "n", "show-all": "A", "squeeze-blank": "s"}
    )
    ends, tabs = bool(set(found) & set("AEe")), bool(set(found) & set("ATt"))
    shows = ends or tabs or "v" in found
    count, blank = 0, False

    def show(path):
        nonlocal count, blank
        if not set(found) - {"u"}:
            for line in raw_lines(path, streams):
                streams.out.write(line)
            return
        for line in raw_lines(path, streams):
            body = line.removesuffix("\n")
            if "s" in found and not body and blank:
                continue
            blank = not body
            end = line[len(body) :]
            if shows:
                body = _visible(body, tabs)
                end = "$" + end if ends and end else end
            if "n" in found or "b" in found:
                if "b" not in found or body:
                    count += 1
                    body = f"{count:6}\t{body}"
            streams.out.write(body + end)

    return each(paths or ["-"], streams, show, "cat")


def _visible(text, tabs):
    out = []
    for byte in encode(text):
        if byte == 9 and not tabs:
            out.append("\t")
            continue
        prefix = "M-" if byte >= 128 else ""
        byte &= 127
        out.append(prefix + ("^" + chr(byte + 64) if byte < 32 else "^?" if byte == 127 else chr(byte)))
    return "".join(out)


def head(arguments, streams):
    """head [-n N] [-c N] [file...]: the first lines"""
    return _ends(arguments, streams, "head")


def tail(arguments, streams):
    """tail [-n N] [-c N] [file...]: the last lines"""
    return _ends(arguments, streams, "tail")


_UNITS = {"": 1, "b": 512, "k": 1 << 10, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "kB": 1000, "MB": 1000**2}


def _count(text, name):
    match = re.fullmatch(r"([-+]?\d+)([bkKMG]?|kB|MB)", text)
    if match is None:
        raise Refused(f"invalid number of lines or bytes: '{text}'", 1)
    return int(match.group(1)) * _UNITS[match.group(2)]


def _ends(arguments, streams, name):
    if name == "tail" and arguments and re.fullmatch(r"\+\d+", arguments[0]):
        arguments = ["-n" + arguments[0], *arguments[1:]]
    found, paths = options.parse(
        arguments, flags="qvfFz", values="nc", long={"lines": "n", "bytes": "c", "quiet": "q", "follow": "f"}
    )
    if "f" in found or "F" in found:
        raise Refused("-f is not supported: nobody writes into the file meanwhile", 1)
    paths = paths or ["-"]
    wanted = found.get("c", found.get("n", "10"))
    count = _count(wanted, name)
    first = [True]

    def show(path):
        body = _part(path, streams, name, "c" in found, count, wanted[:1] == "+")
        if (len(paths) > 1 and "q" not in found) or "v" in found:
            streams.out.write(("" if first[0] else "\n") + f"==> {path} <==\n")
        first[0] = False
        for piece in body:
            streams.out.write(piece)

    return each(paths, streams, show, name)


def _part(path, streams, name, by_bytes, count, from_start):
    if by_bytes:
        with opened(path, streams) as file:
            data = file.read(count) if name == "head" and count >= 0 else file.read()
        if name == "head":
            data = data[:count] if count < 0 else data
        else:
            data = data[max(count - 1, 0) :] if from_start else data[-abs(count) :] if count else b""
        return [decode(data)]
    lines = raw_lines(path, streams)
    if name == "head":
        if count < 0:
            return list(lines)[:count]
        return [line for _, line in zip(range(count), lines, strict=False)]
    if from_start:
        return list(lines)[max(count - 1, 0) :]
    return list(collections.deque(lines, maxlen=abs(count)))


def wc(arguments, streams):
    """wc [-lwcmL] [file...]: lines, words, bytes"""
    found, paths = options.parse(
        arguments, flags="lwcmL", long={"lines": "l", "words": "w", "bytes": "c", "chars": "m", "max-line-length": "L"}
    )
    shown = [letter for letter in "lwmcL" if letter in found] or ["l", "w", "c"]
    totals, counted = collections.Counter(), []

    def count(path):
        numbers = collections.Counter()
        with opened(path, streams) as file:
            for line in file:
                text = decode(line)
                numbers.update({"l": line.endswith(b"\n"), "w": len(text.split()), "c": len(line), "m": len(text)})
                numbers["L"] = max(numbers["L"], len(text.rstrip("\n").expandtabs(8)))
        widest = max(totals["L"], numbers["L"])
        totals.update(numbers)
        totals["L"] = widest
        counted.append((numbers, path))

    status = each(paths or ["-"], streams, count, "wc")
    if len(paths) > 1:
        counted.append((totals, "total"))
    width = 1
    if len(shown) > 1 or len(paths) > 1:
        # Without a file that has a size the numbers get seven places.
        width = max(len(str(totals["c"])), 1) if paths and "-" not in paths else 7
    for numbers, path in counted:
        text = " ".join(f"{numbers[letter]:{width}}" for letter in shown)
        streams.out.write(text + ("" if path == "-" and not paths else f" {path}") + "\n")
    return status


def tee(arguments, streams):
    """tee [-a] file...: passes its input on and into files"""
    found, paths = options.parse(arguments, flags="ai", long={"append": "a"})
    data = streams.input.read()
    for path in paths:
        with open(path, "ab" if "a" in found else "wb") as file:
            file.write(data)
    streams.out.write(decode(data))
