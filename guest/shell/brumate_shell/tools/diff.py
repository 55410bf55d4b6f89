"""`diff`: how two files or directories differ."""

import os
import re

from brumate_shell import options
from brumate_shell.lines import opened
from brumate_shell.streams import Refused, decode

_LONG = {
    "unified": "u", "recursive": "r", "brief": "q", "ignore-case": "i", "ignore-all-space": "w",
    "ignore-space-change": "b", "ignore-blank-lines": "B", "report-identical-files": "s", "new-file": "N", "text": "a",
    "color": "", "side-by-side": "y", "context": "c", "label": "L", "strip-trailing-cr": "T", "exclude": "x",
}  # fmt: skip


def diff(arguments, streams):
    """diff [-uqrNiwbBs] [-U LINES] [--label NAME] file file: how two files or directories differ"""
    words, labels, excluded, queue = [], [], [], list(arguments)
    while queue:
        word = queue.pop(0)
        match = re.fullmatch(r"(--label|-L|--exclude|-x)(?:=(.*))?", word)
        if match:
            (labels if "l" in match.group(1).lower()[:4] and "x" not in match.group(1) else excluded).append(
                match.group(2) if match.group(2) is not None else queue.pop(0) if queue else ""
            )
        elif re.fullmatch(r"-u?\d+", word):
            words.append("-U" + word.lstrip("-u"))
        elif word.startswith("--unified="):
            words.append("-U" + word.partition("=")[2])
        else:
            words.append(word)
    found, paths = options.parse(words, flags="uqrNiwbBsaycT", values="U", long=_LONG)
    if "y" in found or "c" in found:
        raise Refused("-y and -c are not supported here; use -u", 2)
    if len(paths) != 2:
        raise Refused("two files are needed", 2)
    return _Diff(found, labels, excluded, arguments, streams).compare(*paths)


class _Diff:
    def __init__(self, found, labels, excluded, arguments, streams):
        self.found = found
        self.labels = labels
        self.excluded = excluded
        self.options = " ".join([word for word in arguments if word[:1] == "-" and len(word) > 1])
        self.streams = streams

    def compare(self, first, second):
        directories = [os.path.isdir(path) for path in (first, second)]
        if all(directories):
            return self.directories(first, second, "")
        if directories[0] and second != "-":
            first = os.path.join(first, os.path.basename(second))
        elif directories[1] and first != "-":
            second = os.path.join(second, os.path.basename(first))
        for path in (first, second):
            if path != "-" and not os.path.exists(path) and "N" not in self.found:
                self.streams.err.write(f"diff: {path}: No such file or directory\n")
                return 2
        return self.files(first, second, "")

    def directories(self, first, second, header):
        status = 0
        names = sorted({*os.listdir(first), *os.listdir(second)})
        from brumate_shell.patterns import matches

        for name in names:
            if any([matches(name, pattern) for pattern in self.excluded]):
                continue
            a, b = os.path.join(first, name), os.path.join(second, name)
            missing = [path for path in (a, b) if not os.path.lexists(path)]
            if missing and "N" not in self.found:
                self.streams.out.write(f"Only in {first if missing[0] == b else second}: {name}\n")
                status = max(status, 1)
            elif os.path.isdir(a) and os.path.isdir(b):
                if "r" in self.found:
                    status = max(status, self.directories(a, b, header))
                else:
                    self.streams.out.write(f"Common subdirectories: {a} and {b}\n")
            elif os.path.isdir(a) != os.path.isdir(b) and not missing:
                kinds = ["a directory" if os.path.isdir(path) else "a regular file" for path in (a, b)]
                self.streams.out.write(f"File {a} is {kinds[0]} while file {b} is {kinds[1]}\n")
                status = max(status, 1)
            else:
                shown = f"diff {self.options} {a} {b}\n" if self.options else f"diff {a} {b}\n"
                status = max(status, self.files(a, b, shown))
        return status

    def read(self, path):
        if "N" in self.found and path != "-" and not os.path.exists(path):
            return b""
        with opened(path, self.streams) as file:
            return file.read()

    def files(self, first, second, header):
        data = [self.read(path) for path in (first, second)]
        if data[0] == data[1]:
            if "s" in self.found:
                self.streams.out.write(f"Files {first} and {second} are identical\n")
            return 0
        if any([b"\0" in one[:8192] for one in data]) and "a" not in self.found:
            if "q" in self.found:
                self.streams.out.write(f"Files {first} and {second} differ\n")
            else:
                self.streams.out.write(f"Binary files {first} and {second} differ\n")
            return 1
        texts = [re.findall(r"[^\n]*\n|[^\n]+", decode(one)) for one in data]
        blocks = self.blocks(*[[self.normal(line) for line in lines] for lines in texts])
        if "B" in self.found:
            blocks = [
                block for block in blocks
                if any([line.strip() for line in [*texts[0][block[0] : block[1]], *texts[1][block[2] : block[3]]]])
            ]  # fmt: skip
        if not blocks:
            return 0
        if "q" in self.found:
            self.streams.out.write(f"Files {first} and {second} differ\n")
            return 1
        self.streams.out.write(header)
        if "u" in self.found or "U" in self.found:
            self.unified(first, second, texts, blocks)
        else:
            self.plain(texts, blocks)
        return 1

    def normal(self, line):
        """A line as it is compared."""
        if "T" in self.found:
            line = line.replace("\r\n", "\n")
        if "w" in self.found:
            line = re.sub(r"\s", "", line)
        elif "b" in self.found:
            line = re.sub(r"\s+", " ", line.rstrip())
        return line.lower() if "i" in self.found else line

    def blocks(self, first, second):
        """What differs, as `(begin, end, begin, end)`."""
        import difflib

        head = len(os.path.commonprefix([first, second]))
        tail = len(os.path.commonprefix([first[head:][::-1], second[head:][::-1]]))
        a, b = first[head : len(first) - tail], second[head : len(second) - tail]
        matcher = difflib.SequenceMatcher(None, a, b, autojunk=False)
        return [
            (i1 + head, i2 + head, j1 + head, j2 + head)
            for tag, i1, i2, j1, j2 in matcher.get_opcodes()
            if tag != "equal"
        ]

    def plain(self, texts, blocks):
        write = self.streams.out.write

        def place(begin, end):
            return str(begin) if end <= begin else f"{begin + 1},{end}" if end > begin + 1 else str(end)

        for a, b, c, d in blocks:
            letter = "a" if a == b else "d" if c == d else "c"
            write(f"{place(a, b)}{letter}{place(c, d)}\n")
            for line in texts[0][a:b]:
                write(_whole("< " + line))
            if letter == "c":
                write("---\n")
            for line in texts[1][c:d]:
                write(_whole("> " + line))

    def unified(self, first, second, texts, blocks):
        context = options.number(self.found.get("U", "3"))
        write = self.streams.out.write
        write(f"--- {self.title(first, 0)}\n+++ {self.title(second, 1)}\n")
        groups = []
        for block in blocks:
            if groups and block[0] - groups[-1][-1][1] <= 2 * context:
                groups[-1].append(block)
            else:
                groups.append([block])
        for group in groups:
            begin, end = max(group[0][0] - context, 0), min(group[-1][1] + context, len(texts[0]))
            begin_b = group[0][2] - (group[0][0] - begin)
            end_b = group[-1][3] + (end - group[-1][1])
            write(f"@@ -{_span(begin, end)} +{_span(begin_b, end_b)} @@\n")
            at = begin
            for a, b, c, d in group:
                for line in texts[0][at:a]:
                    write(_whole(" " + line))
                for line in texts[0][a:b]:
                    write(_whole("-" + line))
                for line in texts[1][c:d]:
                    write(_whole("+" + line))
                at = b
            for line in texts[0][at:end]:
                write(_whole(" " + line))

    def title(self, path, number):
        if number < len(self.labels):
            return self.labels[number]
        from brumate_shell.find.formats import long_time

        exists = path != "-" and os.path.exists(path)
        return f"{path}\t{long_time(os.stat(path).st_mtime_ns if exists else 0)}"


def _span(begin, end):
    if end == begin:
        return f"{begin},0"
    return str(end) if end == begin + 1 else f"{begin + 1},{end - begin}"


def _whole(line):
    return line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
