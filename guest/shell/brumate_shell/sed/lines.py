"""The lines that `sed` reads."""

import os

from brumate_shell.streams import decode


class Lines:
    """The lines of several files as one, with a look at the next."""

    def __init__(self, paths, streams, end):
        self.paths = list(paths)
        self.streams = streams
        self.end = end
        self.path = "-"
        self.failed = False
        self.lines = iter(())
        self.ahead = None

    def _next(self):
        while True:
            for line in self.lines:
                return line
            if not self.paths:
                return None
            path = self.paths.pop(0)
            try:
                self.lines = self._open(path)
            except OSError as error:
                problem = error.strerror if not os.path.isdir(path) else "read error on " + path + ": Is a directory"
                self.streams.err.write(f"sed: can't read {path}: {problem}\n")
                self.failed = True

    def _open(self, path):
        if path == "-" and self.end == "\n":
            return ((decode(line.removesuffix(b"\n")), line.endswith(b"\n"), path) for line in self.streams.input)
        if path == "-":
            data = self.streams.input.read()
        else:
            with open(path, "rb") as file:
                data = file.read()
        pieces = decode(data).split(self.end)
        last = pieces.pop()
        return iter([(piece, True, path) for piece in pieces] + ([(last, False, path)] if last else []))

    def take(self):
        """The next line as `(text, whether it has an end)`, or None."""
        line, self.ahead = (self._next(), None) if self.ahead is None else (self.ahead, None)
        if line is None:
            return None
        self.path = line[2]
        return line[:2]

    def is_last(self):
        if self.ahead is None:
            self.ahead = self._next()
        return self.ahead is None

    def rest(self):
        while (line := self.take()) is not None:
            yield line
