"""Commands that give texts another shape: `nl`, `rev`, `tac`, `fold`, `fmt`, `split`, `expand`, `shuf`."""

import os
import re

from brumate_shell import options
from brumate_shell.lines import each, lines_of, opened, text_of
from brumate_shell.streams import Refused, decode, encode

# Files that `split` makes.
MAX_FILES = 26 * 26


def nl(arguments, streams):
    """nl [-b a|t|n] [-n ln|rn|rz] [-w WIDTH] [-s SEPARATOR] [-v START] [-i STEP] [file...]: lines with numbers"""
    found, paths = options.parse(
        arguments, flags="p", values="bnwsvi", long={"body-numbering": "b", "number-width": "w"}
    )
    style, width = found.get("b", "t"), options.number(found.get("w", "6"))
    separator, number = found.get("s", "\t"), options.number(found.get("v", "1"))
    for path in paths or ["-"]:
        for line in lines_of(path, streams):
            if style == "a" or (style == "t" and line) or (style[:1] == "p" and re.search(style[1:], line)):
                form = {"ln": f"{number:<{width}}", "rz": f"{number:0{width}}"}.get(
                    found.get("n"), f"{number:>{width}}"
                )
                streams.out.write(form + separator + line + "\n")
                number += options.number(found.get("i", "1"))
            else:
                streams.out.write(" " * (width + len(separator)) + line + "\n")


def rev(arguments, streams):
    """rev [file...]: each line from its end to its beginning"""

    def show(path):
        text = text_of(path, streams)
        streams.out.write("\n".join([line[::-1] for line in text.split("\n")]))

    return each(arguments or ["-"], streams, show, "rev")


def tac(arguments, streams):
    """tac [file...]: the last line first"""
    _, paths = options.parse(arguments)

    def show(path):
        lines = re.findall(r"[^\n]*\n|[^\n]+", text_of(path, streams))
        streams.out.write("".join(reversed(lines)))

    return each(paths or ["-"], streams, show, "tac")


def fold(arguments, streams):
    """fold [-s] [-w WIDTH] [file...]: long lines in several"""
    words = [f"-w{word[1:]}" if re.fullmatch(r"-\d+", word) else word for word in arguments]
    found, paths = options.parse(words, flags="sbc", values="w", long={"width": "w", "spaces": "s", "bytes": "b"})
    width = options.number(found.get("w", "80"))
    if width < 1:
        raise Refused("the width must be 1 or more", 1)

    def show(path):
        for line in text_of(path, streams).splitlines(keepends=True):
            body = line.rstrip("\n")
            while len(body) > width:
                at = width
                if "s" in found and " " in body[:width]:
                    at = body.rindex(" ", 0, width) + 1
                streams.out.write(body[:at] + "\n")
                body = body[at:]
            streams.out.write(body + line[len(line.rstrip("\n")) :])

    return each(paths or ["-"], streams, show, "fold")


def expand(arguments, streams):
    """expand [-t WIDTH] [file...]: spaces for tabs"""
    found, paths = options.parse(arguments, flags="i", values="t", long={"tabs": "t"})
    width = options.number(found.get("t", "8"))

    def show(path):
        lines = text_of(path, streams).splitlines(keepends=True)
        streams.out.write("".join([line.expandtabs(width) for line in lines]))

    return each(paths or ["-"], streams, show, "expand")


def fmt(arguments, streams):
    """fmt [-w WIDTH] [file...]: paragraphs filled"""
    import textwrap

    words = [f"-w{word[1:]}" if re.fullmatch(r"-\d+", word) else word for word in arguments]
    found, paths = options.parse(words, flags="s", values="w", long={"width": "w"})
    width = options.number(found.get("w", "75"))
    for path in paths or ["-"]:
        for paragraph in re.split(r"(\n\s*\n)", text_of(path, streams)):
            if paragraph.strip():
                streams.out.write(textwrap.fill(" ".join(paragraph.split()), width, break_long_words=False) + "\n")
            elif paragraph:
                streams.out.write("\n" * (paragraph.count("\n") - 1))


def split(arguments, streams):
    """split [-l LINES] [-b BYTES] [-n COUNT] [-d] [-a LENGTH] [file [prefix]]: parts of a file"""
    words = [f"-l{word[1:]}" if re.fullmatch(r"-\d+", word) else word for word in arguments]
    found, operands = options.parse(
        words, flags="de", values="lbnaS",
        long={"lines": "l", "bytes": "b", "number": "n", "numeric-suffixes": "d", "suffix-length": "a",
              "additional-suffix": "S"},
    )  # fmt: skip
    path = operands[0] if operands else "-"
    prefix = operands[1] if len(operands) > 1 else "x"
    with opened(path, streams) as file:
        data = file.read()
    if "b" in found:
        size = _bytes(found["b"])
        parts = [data[at : at + size] for at in range(0, len(data), size)]
    elif "n" in found:
        text = found["n"]
        if text[:2] == "l/":
            parts = _by_lines(data, options.number(text[2:]))
        else:
            count = options.number(text)
            size = len(data) // count
            parts = [data[at * size : (at + 1) * size if at < count - 1 else len(data)] for at in range(count)]
    else:
        size = options.number(found.get("l", "1000"))
        lines = re.findall(rb"[^\n]*\n|[^\n]+", data)
        parts = [b"".join(lines[at : at + size]) for at in range(0, len(lines), size)]
    if len(parts) > MAX_FILES:
        raise Refused(f"more than {MAX_FILES} files", 1)
    length = options.number(found.get("a", "2"))
    for number, part in enumerate(parts):
        suffix = f"{number:0{length}d}" if "d" in found else _letters(number, length)
        with open(prefix + suffix + found.get("S", ""), "wb") as file:
            file.write(part)


def _by_lines(data, count):
    lines, parts = re.findall(rb"[^\n]*\n|[^\n]+", data), [[] for _ in range(count)]
    at = 0
    for line in lines:
        parts[min(at * count // max(len(data), 1), count - 1)].append(line)
        at += len(line)
    return [b"".join(part) for part in parts]


def _bytes(text):
    match = re.fullmatch(r"(\d+)([kKmMgG]?)[bB]?", text)
    if match is None or not int(match.group(1)):
        raise Refused(f"invalid number of bytes: {text}", 1)
    return int(match.group(1)) << {"": 0, "k": 10, "m": 20, "g": 30}[match.group(2).lower()]


def _letters(number, length):
    out = ""
    for _ in range(length):
        number, letter = divmod(number, 26)
        out = chr(97 + letter) + out
    return out


def shuf(arguments, streams):
    """shuf [-n COUNT] [-e] [-i FIRST-LAST] [-r] [file]: lines in a random order"""
    import random

    found, operands = options.parse(
        arguments,
        flags="er",
        values="niS",
        long={"head-count": "n", "echo": "e", "input-range": "i", "repeat": "r", "random-source": "S"},
    )
    if "i" in found:
        match = re.fullmatch(r"(\d+)-(\d+)", found["i"])
        if match is None:
            raise Refused(f"invalid input range: {found['i']}", 1)
        lines = list(map(str, range(int(match.group(1)), int(match.group(2)) + 1)))
    else:
        lines = operands if "e" in found else lines_of((operands or ["-"])[0], streams)
    count = options.number(found["n"]) if "n" in found else len(lines)
    if "r" in found and lines:
        chosen = random.choices(lines, k=count)
    else:
        chosen = random.sample(lines, min(count, len(lines)))
    streams.out.write("".join([line + "\n" for line in chosen]))


def cmp(arguments, streams):
    """cmp [-s] file file: where two files begin to differ"""
    found, paths = options.parse(arguments, flags="sl", long={"silent": "s", "quiet": "s"})
    if len(paths) != 2:
        raise Refused("two files are needed", 2)
    data = []
    for path in paths:
        try:
            with opened(path, streams) as file:
                data.append(file.read())
        except OSError as error:
            raise Refused(f"{path}: {error.strerror}", 2) from None
    first, second = data
    if first == second:
        return 0
    at = len(os.path.commonprefix([first, second]))
    if "s" not in found:
        if at == min(len(first), len(second)):
            shorter = paths[0] if len(first) < len(second) else paths[1]
            streams.err.write(f"cmp: EOF on {shorter} after byte {at}\n")
        else:
            line = first.count(b"\n", 0, at) + 1
            streams.out.write(f"{paths[0]} {paths[1]} differ: byte {at + 1}, line {line}\n")
    return 1


def strings(arguments, streams):
    """strings [-n LENGTH] [file...]: texts in files of bytes"""
    found, paths = options.parse(arguments, flags="a", values="nt")
    shortest = options.number(found.get("n", "4"))
    for path in paths or ["-"]:
        data = encode(text_of(path, streams))
        for match in re.finditer(rb"[\t\x20-\x7e]{%d,}" % shortest, data):
            streams.out.write(decode(match.group()) + "\n")
