"""What commands read and write, and how they refuse."""

import io

# A program writes to these streams while it runs, whatever it has made of the builtins.
from _brumate.pristine import __builtins__

# Characters that one command of a pipeline passes to the next, and of a substituted command.
MAX_PIPE_CHARS = 64 << 20


class Refused(Exception):
    """A command that cannot do what it was asked; the text says why. `status` is its exit status."""

    def __init__(self, message, status=1):
        super().__init__(message)
        self.status = status


class Stopped(BrokenPipeError):
    """Raised in a command whose output nobody reads any more."""


class Streams:
    """What a command reads and writes: binary input, text output and errors; and the shell that runs it, if any."""

    __slots__ = ("input", "out", "err", "shell")

    def __init__(self, input, out, err, shell=None):
        self.input = input
        self.out = out
        self.err = err
        self.shell = shell


class Pipe:
    """Takes a command's output, up to a limit. `lines`: how many the reader wants, None for all of them."""

    def __init__(self, lines=None):
        self.parts = []
        self.written = 0
        self.lines = lines
        self.is_full = False

    def write(self, text):
        if self.is_full:
            raise Stopped(32, "Broken pipe")
        self.parts.append(text)
        self.written += len(text)
        if self.lines is not None:
            self.lines -= text.count("\n")
            self.is_full = self.lines <= 0
        elif self.written > MAX_PIPE_CHARS:
            self.is_full = True
        return len(text)

    def flush(self):
        pass

    def text(self):
        return "".join(self.parts)

    def reader(self):
        """What was written, as a binary file. Reading up to the end of a text that was cut is refused."""
        data = encode(self.text())
        if self.is_full and self.lines is None:
            return io.BufferedReader(_Cut(data))
        return io.BytesIO(data)


class _Cut(io.RawIOBase):
    def __init__(self, data):
        self.data = io.BytesIO(data)

    def readable(self):
        return True

    def readinto(self, buffer):
        count = self.data.readinto(buffer)
        if not count:
            raise Refused("the output is too long to be passed on")
        return count


class Target:
    """A redirection's target: text goes into the file as UTF-8, with lone surrogates as the bytes they stand for."""

    def __init__(self, path, append):
        self.file = open(path, "ab" if append else "wb", buffering=0)

    def write(self, text):
        self.file.write(encode(text))
        return len(text)

    def flush(self):
        pass

    def close(self):
        self.file.close()


class Nowhere:
    """`/dev/null`"""

    def write(self, text):
        return len(text)

    def flush(self):
        pass

    def close(self):
        pass


def encode(text):
    return text.encode("utf-8", "surrogateescape")


def decode(data):
    return data.decode("utf-8", "surrogateescape")
