"""Stand-ins for stdin and stdout of servers.

`Lines` and `Out` are for `stdio_server` of `mcp`. The stand-ins for descriptors 0 and 1 are for programs that read and
write the messages themselves; until such a program reads, what it prints is log.
"""

from ..pristine import __builtins__

import io
import sys

from . import limits
from .wire import Current

# Bytes that may wait to be written before `Out.write` waits.
HIGH_WATER = 1 << 20


class Lines:
    """The client's messages, one a line. Has what `stdio_server` calls of a file opened by anyio."""

    def __init__(self, wire):
        self.wire = wire

    def __aiter__(self):
        return self

    async def __anext__(self):
        while True:
            line = await self.readline()
            if not line:
                raise StopAsyncIteration
            if line.strip():
                return line

    async def readline(self):
        """Returns the next line; "" at the end."""
        line = await self.wire.read_line()
        limits.note_message(line)
        return line.decode("utf-8", "replace")

    async def aclose(self):
        """Does nothing: the host closes the wire."""


class Out:
    """Takes the server's messages. Has what `stdio_server` calls of a file opened by anyio."""

    def __init__(self, wire):
        self.wire = wire

    async def write(self, text):
        """Adds a message; waits only when more than `HIGH_WATER` bytes are to be written."""
        self.wire.put(text.encode("utf-8", "replace"))
        if len(self.wire.pending) > HIGH_WATER:
            await self.wire.flush()
        return len(text)

    async def flush(self):
        """Waits until the host has taken everything."""
        await self.wire.flush()

    async def aclose(self):
        """Does nothing: the host closes the wire."""


class RawInput(io.RawIOBase):
    """Stands for descriptor 0. The first read claims the wire for a program that speaks the protocol itself."""

    def __init__(self, wire):
        self._wire = wire
        self._rest = b""

    def readable(self):
        return True

    def fileno(self):
        # Libraries that never read ask for it as well (rich does), so it claims nothing.
        return self._wire.source

    def readinto(self, target):
        claim_raw(self._wire)
        if not Current.raw:
            return 0  # a server of the SDK has the wire: `input()` in a tool finds the end of the file
        data = self._rest or self._wire.read_line_blocking()
        count = min(len(target), len(data))
        target[:count] = data[:count]
        self._rest = data[count:]
        return count


class RawOutput(io.RawIOBase):
    """Stands for descriptor 1 of a program that has claimed the wire by reading."""

    def __init__(self, wire):
        self._wire = wire

    def writable(self):
        return True

    def fileno(self):
        return self._wire.sink

    def write(self, data):
        self._wire.put(bytes(data))
        self._wire.drain()
        return len(data)


def install(wire):
    """Puts the stand-in for descriptor 0 in `sys`."""
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(io.BufferedReader(RawInput(wire)), "utf-8", "replace")


def claim_raw(wire):
    """Claims a free wire for a program that speaks the protocol itself: what it prints are messages from now on."""
    if wire.mode is not None:
        return
    wire.claim("stdio", raw=True)
    wire.drain()
    Current.raw = True
    output = io.BufferedWriter(RawOutput(wire))
    sys.stdout = sys.__stdout__ = io.TextIOWrapper(output, "utf-8", "replace", "\n", line_buffering=True)


def is_standard(stream, number):
    """Returns whether a stream given to `stdio_server` stands for descriptor `number`, 0 or 1.

    Programs give none, or a wrapper of their own around the buffer of `sys.stdin` or `sys.stdout`.
    """
    if stream is None:
        return True
    standard = [(sys.stdin, sys.__stdin__), (sys.stdout, sys.__stdout__)][number]
    # A file of anyio, the text, its buffer, and the raw file below that.
    file = getattr(stream, "wrapped", stream)
    for _ in range(4):
        if isinstance(file, (RawInput, RawOutput)) or any(file is one for one in standard):
            return True
        inner = getattr(file, "buffer", None) or getattr(file, "raw", None)
        if inner is None:
            break
        file = inner
    try:
        return file.fileno() == number
    except (AttributeError, OSError, ValueError):
        return False
