"""The wire to the host: one descriptor, non-blocking, that ends with EOF when the host closes it."""

from ..pristine import __builtins__

import asyncio
import json
import os
import select

# The host's descriptor for the messages of servers.
MESSAGE_FD = 1001
# Bytes of the longest message and of the longest frame. The host neither sends nor takes longer ones.
MAX_MESSAGE = 16 << 20
# Bytes read or written at once.
CHUNK = 1 << 16


class ServingError(Exception):
    """A server cannot be served; the text says why."""

    # Tracebacks show the name alone.
    __module__ = "builtins"


class WireError(ServingError):
    """The host sent something that the protocol of the wire does not allow."""


class Current:
    """Settings of the server of this process."""

    # The wire that it serves by; None as long as nothing is to be served.
    wire = None
    # The transport that the user named; it takes precedence over the one in the program.
    transport = None
    # Whether the program itself reads and writes the messages, by `sys.stdin` and `sys.stdout`.
    raw = False


class Wire:
    """Reads and writes the host's descriptor. Tests give a descriptor for each direction.

    `polled` is for a descriptor whose reads block in spite of `O_NONBLOCK`: it is polled before each read.
    """

    def __init__(self, source, sink=None, polled=False):
        self.source = source
        self.sink = source if sink is None else sink
        # How the server speaks, as its first line says it; None before that.
        self.mode = None
        # Bytes to be written.
        self.pending = bytearray()
        # Bytes that were read and not yet taken, and how many of them were searched for the end of a line.
        self._buffer = bytearray()
        self._searched = 0
        self._ended = False
        self._poll = _poll(source, select.POLLIN) if polled else None
        # The future of the one wait for room to write, shared by all who flush.
        self._room = None
        for descriptor in {self.source, self.sink}:
            try:
                os.set_blocking(descriptor, False)
            except OSError:
                pass  # the host's device cannot be changed, and never blocks

    def claim(self, mode, **facts):
        """Adds the first line, which says how the server speaks. A second server cannot share the wire."""
        if self.mode is not None:
            raise ServingError(
                "this program already serves by its standard input and output; a second server has no client"
            )
        self.mode = mode
        self.put(json.dumps({"serve": mode, **facts}).encode() + b"\n")

    async def read_line(self):
        """Returns the next line with its newline; b"" at the end of the wire."""
        while True:
            line = self._take_line()
            if line is not None or self._ended:
                return line or b""
            await self._read_more()

    def read_line_blocking(self):
        """Returns the next line like `read_line`, without a loop: for programs that read `sys.stdin`."""
        while True:
            line = self._take_line()
            if line is not None or self._ended:
                return line or b""
            data = self._read()
            if data is None:
                _poll(self.source, select.POLLIN).poll()
            else:
                self._add(data)

    async def read_exactly(self, count):
        """Returns `count` bytes; None at the end of the wire."""
        while len(self._buffer) < count:
            if self._ended:
                if self._buffer:
                    raise WireError("the wire ends within a frame")
                return None
            await self._read_more()
        data = bytes(self._buffer[:count])
        del self._buffer[:count]
        return data

    def _take_line(self):
        """Returns a whole line that has been read, or None. The last line may lack its newline."""
        buffer = self._buffer
        end = buffer.find(b"\n", self._searched) + 1
        if not end:
            self._searched = len(buffer)
            if len(buffer) > MAX_MESSAGE:
                raise WireError("a message of the client is too long")
            if not self._ended or not buffer:
                return None
            end = len(buffer)
        line = bytes(buffer[:end])
        del buffer[:end]
        self._searched = 0
        return line

    async def _read_more(self):
        data = self._read()
        while data is None:
            await _ready(self.source, "add_reader", "remove_reader")
            data = self._read()
        self._add(data)

    def _read(self):
        """Returns what can be read now; None when nothing can, b"" at the end."""
        if self._poll is not None and not self._poll.poll(0):
            return None
        try:
            return os.read(self.source, CHUNK)
        except BlockingIOError:
            return None
        except OSError:
            return b""  # the host is gone

    def _add(self, data):
        if data:
            self._buffer += data
        else:
            self._ended = True

    def put(self, data):
        """Adds bytes to those to be written."""
        self.pending += data

    async def flush(self):
        """Waits until everything is written.

        Bytes stay in order whoever is cancelled: what was added is written before what is added later.
        """
        while not self._write():
            if self._room is None or self._room.done():
                self._room = asyncio.ensure_future(_ready(self.sink, "add_writer", "remove_writer"))
            await asyncio.shield(self._room)

    def drain(self):
        """Waits like `flush`, without a loop: at the end, and for programs that write to `sys.stdout`."""
        while not self._write():
            _poll(self.sink, select.POLLOUT).poll()

    def _write(self):
        """Writes what can be written now. Returns whether that was everything."""
        pending = self.pending
        while pending:
            try:
                count = os.write(self.sink, bytes(memoryview(pending)[:CHUNK]))
            except BlockingIOError:
                return False
            except OSError:
                pending.clear()  # the host is gone, so nobody reads it
                return True
            del pending[:count]
        return True


def _poll(descriptor, events):
    """Returns a poll object for one descriptor."""
    poll = select.poll()
    poll.register(descriptor, events)
    return poll


async def _ready(descriptor, add, remove):
    """Waits until a descriptor can be read or written; `add` and `remove` are the loop's methods for that."""
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    getattr(loop, add)(descriptor, _wake, future)
    try:
        await future
    finally:
        getattr(loop, remove)(descriptor)


def _wake(future):
    if not future.done():
        future.set_result(None)
