"""Records and fields of `awk`."""

import os
import re

from brumate_shell.regexes import Pattern
from brumate_shell.streams import Refused, decode, encode

from .values import NOTHING, Input, number, text

# Fields of one record.
MAX_FIELDS = 1_000_000


def pattern(source):
    """An expression of `awk`."""
    return Pattern(source, extended=True, escapes=True)


def separated(line, separator, paragraphs=False):
    """The fields of a text."""
    if separator == " ":
        return (
            [Input(piece) for piece in line.split(None)]
            if line.isascii()
            else [Input(p) for p in re.split(r"[ \t\n]+", line.strip(" \t\n")) if p]
        )
    if line == "":
        return []
    if separator == "":
        return [Input(char) for char in line]
    if paragraphs:
        source = "\n|" + (re.escape(separator) if len(separator) == 1 and separator != " " else separator)
        return _split(line, source)
    if len(separator) == 1 and separator != "\\":
        return [Input(piece) for piece in line.split(separator)]
    return _split(line, separator)


def _split(line, source):
    pieces, at = [], 0
    for found in pattern(source).finditer(line):
        if found.end() > found.start():
            pieces.append(Input(line[at : found.start()]))
            at = found.end()
    pieces.append(Input(line[at:]))
    return pieces


class Reader:
    """The records of one file."""

    def __init__(self, data):
        self.text = data
        self.at = 0

    def next(self, separator):
        """The next record, or None."""
        source, at = self.text, self.at
        if separator == "":
            while source.startswith("\n", at):
                at += 1
            self.at = at
        if at >= len(source):
            return None
        if separator == "":
            found = re.compile("\n\n+").search(source, at)
            end, following = (found.start(), found.end()) if found else (len(source), len(source))
            if found is None and source.endswith("\n"):
                end -= 1
        elif len(separator) == 1:
            end = source.find(separator, at)
            end = len(source) if end < 0 else end
            following = end + 1
        else:
            found = pattern(separator).search(source, at)
            while found is not None and found.end() == found.start():
                found = None
            end, following = (found.start(), found.end()) if found else (len(source), len(source))
            if found is None and source.endswith("\n"):
                end -= 1
        self.at = following
        return source[at:end]


class Record:
    """`$0`, and its fields once somebody asks for them."""

    def __init__(self, variables):
        self.variables = variables
        self.line = Input("")
        self.fields = []
        self.is_split = True
        self.is_joined = True

    def set(self, line):
        self.line = Input(line) if type(line) is str else line
        self.is_split, self.is_joined = False, True

    def split(self):
        if not self.is_split:
            variables = self.variables
            self.fields = separated(
                str(self.line), str(text(variables["FS"])), variables["RS"] == "" and variables["FS"] != " "
            )
            self.is_split = True

    def join(self):
        if not self.is_joined:
            form = self.variables["CONVFMT"]
            self.line = Input(str(text(self.variables["OFS"])).join([str(text(field, form)) for field in self.fields]))
            self.is_joined = True

    def get(self, index):
        if not index:
            self.join()
            return self.line
        self.split()
        if index < 0:
            raise Refused(f"attempt to access field {index}", 2)
        return self.fields[index - 1] if index <= len(self.fields) else NOTHING

    def put(self, index, value):
        if not index:
            self.set(Input(value) if type(value) is Input else text(value, self.variables["CONVFMT"]))
            return
        self.split()
        if index < 0 or index > MAX_FIELDS:
            raise Refused(f"attempt to access field {index}", 2)
        while len(self.fields) < index:
            self.fields.append(Input(""))
        self.fields[index - 1] = value
        self.is_joined = False

    def count(self):
        self.split()
        return len(self.fields)

    def set_count(self, value):
        self.split()
        count = int(number(value))
        if count < 0 or count > MAX_FIELDS:
            raise Refused(f"NF cannot be {count}", 2)
        del self.fields[count:]
        while len(self.fields) < count:
            self.fields.append(Input(""))
        self.is_joined = False


class Files:
    """What a program reads and writes, by name."""

    def __init__(self, streams):
        self.streams = streams
        self.readers = {}
        self.writers = {}

    def read(self, path):
        """All of a file, as a text."""
        if path in ("-", "/dev/stdin"):
            return decode(self.streams.input.read())
        with open(path, "rb") as file:
            return decode(file.read())

    def reader(self, path):
        """A file for `getline`; None when it cannot be read."""
        if path not in self.readers:
            try:
                self.readers[path] = Reader(self.read(path))
            except OSError:
                return None
        return self.readers[path]

    def write(self, operator, path, said):
        if path in ("/dev/stdout", "-"):
            self.streams.out.write(said)
            return
        if path in ("/dev/stderr", "cat 1>&2"):
            self.streams.err.write(said)
            return
        file = self.writers.get(path)
        if file is None:
            if path == "/dev/null":
                return
            file = self.writers[path] = open(path, "wb" if operator == ">" else "ab", buffering=0)
        file.write(encode(said))

    def close(self, path):
        file = self.writers.pop(path, None)
        if file is not None:
            file.close()
            return 0.0
        return 0.0 if self.readers.pop(path, None) is not None else -1.0

    def close_all(self):
        for file in self.writers.values():
            file.close()


def environment():
    return {name: Input(value) for name, value in os.environ.items()}
