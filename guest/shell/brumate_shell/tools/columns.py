"""Commands about parts of lines: `cut`, `paste`, `join`, `comm`, `column`, `tr`."""

import itertools
import re

from brumate_shell import options
from brumate_shell.bash.echoes import unescape
from brumate_shell.lines import each, lines_of, raw_lines
from brumate_shell.patterns import CLASSES
from brumate_shell.streams import Refused, decode, encode

_RANGE_END = 1 << 30


def _ranges(wanted):
    """`1,3-5,7-` as pairs, sorted."""
    found = []
    for part in wanted.split(","):
        match = re.fullmatch(r"(\d*)(-?)(\d*)", part.strip())
        if match is None or part.strip() in ("", "-"):
            raise Refused(f"invalid list: {wanted}", 1)
        first, dash, last = match.groups()
        begin = int(first or 1)
        end = begin if not dash else int(last) if last else _RANGE_END
        if not begin or end < begin:
            raise Refused("fields and positions are numbered from 1, and ranges do not decrease", 1)
        found.append((begin, end))
    return found


def cut(arguments, streams):
    """cut -f LIST [-d DELIMITER] [-s] | -c LIST | -b LIST [--complement] [file...]: parts of lines"""
    found, paths = options.parse(
        arguments,
        flags="sznv",
        values="fdcbo",
        long={
            "fields": "f", "delimiter": "d", "characters": "c", "bytes": "b", "only-delimited": "s", "complement": "v",
            "output-delimiter": "o",
        },
    )  # fmt: skip
    wanted = found.get("f") or found.get("c") or found.get("b")
    if not wanted:
        raise Refused("say which fields (-f), characters (-c) or bytes (-b)", 1)
    ranges = _ranges(wanted)
    by_field = "f" in found
    delimiter = found.get("d", "\t")
    if len(delimiter) > 1:
        raise Refused("the delimiter must be a single character", 1)
    joiner = found.get("o", delimiter if by_field else "")

    def is_kept(at):
        return any([a <= at <= b for a, b in ranges]) != ("v" in found)

    def show(path):
        for line in raw_lines(path, streams):
            line = line.removesuffix("\n")
            if by_field and delimiter not in line:
                streams.out.write("" if "s" in found else line + "\n")
                continue
            if "b" in found:
                data = encode(line)
                line = decode(bytes([byte for at, byte in enumerate(data, 1) if is_kept(at)]))
                streams.out.write(line + "\n")
                continue
            pieces = line.split(delimiter) if by_field else line
            streams.out.write(joiner.join([piece for at, piece in enumerate(pieces, 1) if is_kept(at)]) + "\n")

    return each(paths or ["-"], streams, show, "cut")


def paste(arguments, streams):
    """paste [-s] [-d DELIMITERS] [file...]: lines side by side"""
    found, paths = options.parse(arguments, flags="sz", values="d", long={"serial": "s", "delimiters": "d"})
    delimiters = unescape(found.get("d", "\t")).replace("\0", "") or ""
    files, stdin = [], None
    for path in paths or ["-"]:
        if path == "-":
            # Several `-` take the lines of the input in turn.
            stdin = iter(lines_of("-", streams)) if stdin is None else stdin
            files.append(stdin)
        else:
            files.append(iter(lines_of(path, streams)))

    def joined(parts):
        out = [parts[0]]
        for number, part in enumerate(parts[1:]):
            out += [delimiters[number % len(delimiters)] if delimiters else "", part]
        return "".join(out) + "\n"

    if "s" in found:
        for file in files:
            lines = list(file)
            streams.out.write(joined(lines) if lines else "\n")
        return 0
    while True:
        row = [next(file, None) for file in files]
        if all([part is None for part in row]):
            return 0
        streams.out.write(joined([part or "" for part in row]))


def comm(arguments, streams):
    """comm [-123] file file: what two sorted files share, and what only one of them has"""
    found, paths = options.parse(arguments, flags="123z", values="", long={"check-order": "", "nocheck-order": ""})
    if len(paths) != 2:
        raise Refused("two files are needed", 1)
    first, second = [lines_of(path, streams) for path in paths]
    heads = [
        "",
        "\t" if "1" not in found else "",
        ("\t" if "1" not in found else "") + ("\t" if "2" not in found else ""),
    ]
    a = b = 0
    while a < len(first) or b < len(second):
        if b >= len(second) or (a < len(first) and encode(first[a]) < encode(second[b])):
            column, line = 1, first[a]
            a += 1
        elif a >= len(first) or encode(second[b]) < encode(first[a]):
            column, line = 2, second[b]
            b += 1
        else:
            column, line = 3, first[a]
            a, b = a + 1, b + 1
        if str(column) not in found:
            streams.out.write(heads[column - 1] + line + "\n")
    return 0


def join(arguments, streams):
    """join [-1 FIELD] [-2 FIELD] [-j FIELD] [-t CHARACTER] [-a FILE] [-v FILE] [-o LIST] [-e TEXT] [-i] file file"""
    words, sides = [], {"a": set(), "v": set()}
    queue = list(arguments)
    while queue:
        word = queue.pop(0)
        match = re.fullmatch(r"-([av])(\d?)", word)
        if match:
            sides[match.group(1)].add(match.group(2) or (queue.pop(0) if queue else ""))
        else:
            words.append(word)
    found, paths = options.parse(words, flags="iz", values="12jtoe", long={"nocheck-order": "", "header": "i"})
    if len(paths) != 2:
        raise Refused("two files are needed", 1)
    separator = found.get("t")
    fields = [options.number(found.get(letter, found.get("j", "1"))) - 1 for letter in "12"]
    empty = found.get("e", "")

    def rows(path):
        return [line.split(separator) if separator else line.split() for line in lines_of(path, streams)]

    tables = [rows(path) for path in paths]

    def key(row, side):
        text = row[fields[side]] if fields[side] < len(row) else ""
        return encode(text.lower() if "i" in found else text)

    def write(rows_of_pair):
        first = next(row for row in rows_of_pair if row is not None)
        side = 0 if rows_of_pair[0] is not None else 1
        value = first[fields[side]] if fields[side] < len(first) else ""
        if "o" in found:
            out = []
            for part in re.split(r"[ ,]+", found["o"]):
                if part == "0":
                    out.append(value)
                    continue
                number, _, field = part.partition(".")
                row = rows_of_pair[int(number) - 1]
                at = int(field) - 1
                out.append(row[at] if row is not None and at < len(row) and row[at] else empty)
        else:
            out = [value]
            for number, row in enumerate(rows_of_pair):
                if row is not None:
                    out += [cell for at, cell in enumerate(row) if at != fields[number]]
        streams.out.write((separator or " ").join(out) + "\n")

    shown = not sides["v"]
    alone = [str(number) in sides["a"] | sides["v"] for number in (1, 2)]
    a = b = 0
    first, second = tables
    while a < len(first) or b < len(second):
        left = key(first[a], 0) if a < len(first) else None
        right = key(second[b], 1) if b < len(second) else None
        if right is None or (left is not None and left < right):
            if alone[0]:
                write((first[a], None))
            a += 1
        elif left is None or right < left:
            if alone[1]:
                write((None, second[b]))
            b += 1
        else:
            ends = [a, b]
            while ends[0] < len(first) and key(first[ends[0]], 0) == left:
                ends[0] += 1
            while ends[1] < len(second) and key(second[ends[1]], 1) == left:
                ends[1] += 1
            if shown:
                for pair in itertools.product(first[a : ends[0]], second[b : ends[1]]):
                    write(pair)
            a, b = ends
    return 0


def column(arguments, streams):
    """column [-t] [-s SEPARATORS] [-o SEPARATOR] [-N NAMES] [file...]: lines as a table"""
    found, paths = options.parse(
        arguments,
        flags="tne",
        values="socNR",
        long={"table": "t", "separator": "s", "output-separator": "o", "table-columns": "N"},
    )
    lines = [line for path in paths or ["-"] for line in lines_of(path, streams) if line.strip()]
    if "t" not in found:
        return _fill(lines, options.number(found.get("c", "80")), streams)
    separators = found.get("s")
    rows = [re.split("[" + re.escape(separators) + "]", line) if separators else line.split() for line in lines]
    if "N" in found:
        rows.insert(0, found["N"].split(","))
    size = max([len(row) for row in rows], default=0)
    widths = [max([len(row[at]) for row in rows if at < len(row)]) for at in range(size)]
    right = {int(number) - 1 for number in found["R"].split(",")} if "R" in found else set()
    joiner = found.get("o", "  ")
    for row in rows:
        cells = [cell.rjust(widths[at]) if at in right else cell.ljust(widths[at]) for at, cell in enumerate(row)]
        if len(row) == size and size - 1 not in right:
            cells[-1] = row[-1]
        streams.out.write(joiner.join(cells) + "\n")
    return 0


def _fill(lines, width, streams):
    """Columns from above to below, in a width."""
    if not lines:
        return 0
    cell = (max([len(line) for line in lines]) // 8 + 1) * 8
    count = max(width // cell, 1)
    height = -(-len(lines) // count)
    for at in range(height):
        row = lines[at::height]
        out = ""
        for number, text in enumerate(row):
            out += text
            if number < len(row) - 1:
                out += "\t" * -(-(cell - len(text)) // 8)
        streams.out.write(out + "\n")
    return 0


# tr


def _set(text):
    """The characters of a set of `tr`; `(characters, place of a repetition or None)`."""
    text = re.sub(r"\\\\", "\0", text)
    text = unescape(text).replace("\0", "\\")
    out, at = [], 0
    while at < len(text):
        match = re.compile(r"\[:(\w+):\]").match(text, at)
        if match:
            out += _class(match.group(1))
            at = match.end()
            continue
        match = re.compile(r"\[(.)\*(\d*)\]", re.DOTALL).match(text, at)
        if match:
            out += [match.group(1)] * int(match.group(2) or 1) if match.group(2) else [("fill", match.group(1))]
            at = match.end()
            continue
        if text[at + 1 : at + 2] == "-" and at + 2 < len(text):
            first, last = ord(text[at]), ord(text[at + 2])
            if last < first:
                raise Refused(f"range-endpoints of '{text[at : at + 3]}' are in reverse order", 1)
            out += [chr(code) for code in range(first, last + 1)]
            at += 3
            continue
        out.append(text[at])
        at += 1
    return out


def _class(name):
    if name not in CLASSES and name not in ("cntrl", "print", "graph"):
        raise Refused(f"invalid character class '{name}'", 1)
    from brumate_shell.regexes import ALL_CLASSES

    fits = re.compile(f"[{ALL_CLASSES[name]}]").match
    return [chr(code) for code in range(128) if fits(chr(code))]


def tr(arguments, streams):
    """tr [-cds] SET [SET]: other characters, or fewer"""
    found, sets = options.parse(
        arguments, flags="cCdst", long={"complement": "c", "delete": "d", "squeeze-repeats": "s"}
    )
    if not 1 <= len(sets) <= 2 or ("d" not in found and "s" not in found and len(sets) < 2):
        raise Refused("one or two sets of characters are needed", 1)
    first = [char for char in _set(sets[0]) if type(char) is str]
    second = _set(sets[1]) if len(sets) > 1 else []
    complement = "c" in found or "C" in found
    text = decode(streams.input.read())
    chosen = frozenset(first)

    def is_chosen(char):
        return (char in chosen) != complement

    squeezed = None
    if "d" in found:
        text = "".join([char for char in text if not is_chosen(char)])
        squeezed = frozenset(one for one in second if type(one) is str) if "s" in found and second else None
    elif second:
        fill = next((at for at, one in enumerate(second) if type(one) is tuple), None)
        if fill is not None:
            count = max(len(first) - len(second) + 1, 0)
            second[fill : fill + 1] = [second[fill][1]] * count
        if complement:
            last = second[-1]
            text = "".join([last if is_chosen(char) else char for char in text])
        else:
            pairs = itertools.zip_longest(first, second[: len(first)], fillvalue=second[-1])
            table = {}
            for char, other in pairs:
                table[ord(char)] = other
            text = text.translate(table)
        squeezed = frozenset(second) if "s" in found else None
    elif "s" in found:
        text = _squeezed(text, is_chosen)
    if squeezed is not None:
        text = _squeezed(text, lambda char: char in squeezed)
    streams.out.write(text)


def _squeezed(text, is_chosen):
    out, before = [], None
    for char in text:
        if char != before or not is_chosen(char):
            out.append(char)
        before = char
    return "".join(out)
