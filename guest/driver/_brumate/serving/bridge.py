"""The ASGI bridge: runs an application for the host, which has the sockets.

A frame is `[u32 length of the payload][u8 kind][u32 stream]` in network order, then the payload. A stream is a request,
with a number that the host chooses; stream 0 is the application itself.

| kind | from | payload |
|---|---|---|
| OPEN | host | JSON: `method`, `raw_path`, `headers`, and what may be left out (see `_scope`) |
| BODY | host | a piece of the request's body |
| END | host | none: the body is complete |
| SHUTDOWN | host | none: the application is to end; so is it when the wire ends |
| PING | host | none: asks whether the loop is busy |
| ABORT | both | none: the client is gone, or the application failed |
| WINDOW | both | u32: how many more bytes of a body the other side may send |
| START | guest | JSON: `status`, `headers` |
| DATA | guest | a piece of the response's body |
| FINISH | guest | none: the response is complete |
| READY | guest | none: the application has started |
| FAILED | guest | text: why it has not |
| PONG | guest | none: the answer to PING |
| CLOSED | guest | none: the application has returned; the last frame of each stream |

JSON has bytes of paths, queries and headers as the characters of Latin-1 that they are.
Each side may send `CREDIT` bytes of a body, and more as WINDOW says.
"""

from ..pristine import __builtins__

import asyncio
import json
import logging
import re
import struct
from urllib.parse import unquote_to_bytes

from .lifespan import Lifespan
from .wire import MAX_MESSAGE, WireError

OPEN, BODY, END, ABORT, WINDOW, SHUTDOWN, PING = 1, 2, 3, 4, 5, 7, 8
START, DATA, FINISH, READY, FAILED, PONG, CLOSED = 16, 17, 18, 19, 20, 21, 22

HEAD = struct.Struct(">IBI")
_COUNT = struct.Struct(">I")

# Requests at a time.
MAX_STREAMS = 1024
# Bytes of a body that may be sent before the other side allows more.
CREDIT = 256 << 10
# Bytes of the longest piece of a response's body.
PIECE = 64 << 10
# Headers of the longest list, and bytes of the longest START. The host takes no more.
MAX_HEADERS = 256
MAX_HEAD = 128 << 10
# Bytes of the longest text of FAILED. Of a longer one the end is sent: tracebacks end with the error.
MAX_TEXT = 64 << 10
# Seconds that requests may take to end when the server does: first by themselves, then cancelled.
PATIENCE = 1


# Names and values of headers, as the host takes them.
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}")
_VALUE = re.compile(rb"[^\x00-\x08\x0a-\x1f\x7f]*")


def _head(message):
    """Returns the payload of START; RuntimeError when HTTP cannot carry such a response."""
    status, headers, lengths = int(message["status"]), [], 0
    if not 200 <= status <= 999:
        raise RuntimeError(f"{status} is no status of a response")
    for name, value in message.get("headers", ()):
        name, value = bytes(name), bytes(value).strip(b" \t")
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise RuntimeError(f"the header {name!r} of the response is not valid")
        if name.lower() == b"content-length":
            lengths += 1
            if lengths > 1 or not value.isdigit() or len(value) > 18:
                raise RuntimeError("the content-length of the response is not valid")
        headers.append([name.decode("latin-1"), value.decode("latin-1")])
    payload = json.dumps({"status": status, "headers": headers}).encode()
    if len(headers) > MAX_HEADERS or len(payload) > MAX_HEAD:
        raise RuntimeError("the response has too many headers")
    return payload


class Stream:
    """One request: its `receive` and `send` are those of ASGI."""

    def __init__(self, bridge, number):
        self.number = number
        self.task = None
        # The host says that the client is gone.
        self.gone = False
        # The response is complete, or never will be.
        self.finished = False
        # The application has returned: no frame of this stream may follow.
        self.closed = False
        self._bridge = bridge
        self._started = False
        # Pieces of the body that were not received yet, whether there are no more, and whether `receive` has said so.
        self._body = []
        self._complete = False
        self._told = False
        # Bytes that the host may send, and bytes that may be sent to it.
        self._allowed = CREDIT
        self._credit = CREDIT
        self._changed = asyncio.Event()

    def take(self, kind, payload):
        """Takes a frame of the host's."""
        if kind == BODY:
            self._allowed -= len(payload)
            if self._allowed < 0 or self._complete:
                raise WireError("more of a body than was allowed")
            self._body.append(payload)
        elif kind == END:
            self._complete = True
        elif kind == ABORT:
            self.gone = True
        elif kind == WINDOW:
            if len(payload) != _COUNT.size:
                raise WireError("a window without a number")
            self._credit += _COUNT.unpack(payload)[0]
        else:
            raise WireError(f"a frame of the unknown kind {kind}")
        self._changed.set()

    def abandon(self):
        """Tells the application that the client is gone."""
        self.gone = True
        self._changed.set()

    def close(self):
        """Ends the stream: the application has returned. Tasks that it has left find a client that is gone."""
        if not self.finished:
            # The host answers 500 when the response has not begun, and cuts the connection when it has.
            self._bridge.put(ABORT, self.number)
        self._bridge.put(CLOSED, self.number)
        self.finished = self.closed = True
        self._changed.set()

    async def _change(self):
        self._changed.clear()
        await self._changed.wait()

    async def receive(self):
        """Returns the application's next message."""
        while True:
            if self._body or (self._complete and not self._told):
                data = b"".join(self._body)
                self._body.clear()
                self._told = self._complete
                if data and not self.closed:
                    self._allowed += len(data)
                    await self._bridge.send(WINDOW, self.number, _COUNT.pack(len(data)))
                return {"type": "http.request", "body": data, "more_body": not self._told}
            if self.gone or self.finished:
                return {"type": "http.disconnect"}
            await self._change()

    async def send(self, message):
        """Sends a message of the application's. As in uvicorn, what nobody would get is dropped.

        Trailers, early hints and pushes are no part of the scope, so no application sends them.
        """
        if self.gone or self.closed:
            return
        kind = message["type"]
        if self.finished:
            raise RuntimeError("the response is complete")
        if kind == "http.response.start":
            if self._started:
                raise RuntimeError("the response has begun already")
            payload = _head(message)
            self._started = True
            await self._bridge.send(START, self.number, payload)
        elif kind == "http.response.body":
            if not self._started:
                raise RuntimeError("the response has not begun")
            await self._send_body(bytes(message.get("body", b"")))
            if not message.get("more_body", False) and not self.finished and not self.closed:
                self.finished = True
                self._changed.set()
                await self._bridge.send(FINISH, self.number)

    async def _send_body(self, body):
        data = memoryview(body)
        while data and not self.gone and not self.finished:
            count = min(len(data), self._credit, PIECE)
            if not count:
                await self._change()
                continue
            self._credit -= count
            await self._bridge.send(DATA, self.number, data[:count])
            data = data[count:]


class Bridge:
    """Runs the application of a `uvicorn.Config`; `server` is the `uvicorn.Server` that a program may end."""

    def __init__(self, wire, config, server):
        self.wire = wire
        self.config = config
        self.server = server
        self.streams = {}
        # What the application's lifespan leaves for its requests.
        self.state = {}

    async def send(self, kind, stream, payload=b""):
        """Sends a whole frame, and waits until the host has taken it."""
        self.put(kind, stream, payload)
        await self.wire.flush()

    def put(self, kind, stream, payload=b""):
        """Adds a frame to what is to be written."""
        self.wire.put(HEAD.pack(len(payload), kind, stream))
        self.wire.put(payload)

    async def run(self):
        """Serves until the host or the program ends it."""
        config = self.config
        self.wire.claim("http", host=str(config.host), port=int(config.port), root_path=config.root_path)
        await self.wire.flush()
        lifespan = Lifespan(config.loaded_app, config.lifespan, self.state)
        try:
            try:
                await lifespan.startup()
            except Exception as error:
                await self.send(FAILED, 0, str(error).encode("utf-8", "replace")[-MAX_TEXT:])
                raise
            await self.send(READY, 0)
            self.server.started = True
            await self._serve()
        finally:
            self.server.should_exit = True
            await self._end_requests()
            await lifespan.shutdown()

    async def _serve(self):
        frames = asyncio.ensure_future(self._take_frames())
        leaving = asyncio.ensure_future(self.server.wait_for_exit())
        try:
            await asyncio.wait([frames, leaving], return_when=asyncio.FIRST_COMPLETED)
            if frames.done():
                frames.result()
        finally:
            frames.cancel()
            leaving.cancel()

    async def _end_requests(self):
        for stream in list(self.streams.values()):
            stream.abandon()
        running = [stream.task for stream in self.streams.values() if stream.task is not None]
        if not running:
            return
        _, late = await asyncio.wait(running, timeout=PATIENCE)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=PATIENCE)

    async def _take_frames(self):
        while True:
            head = await self.wire.read_exactly(HEAD.size)
            if head is None:
                return
            length, kind, number = HEAD.unpack(head)
            if length > MAX_MESSAGE:
                raise WireError("a frame is too long")
            payload = await self.wire.read_exactly(length) if length else b""
            if payload is None:
                raise WireError("the wire ends within a frame")
            if kind == SHUTDOWN:
                return
            if kind == PING:
                await self.send(PONG, 0)
            elif kind == OPEN:
                self._open(number, payload)
            elif number in self.streams:
                self.streams[number].take(kind, payload)
            # Else the request has ended, and the host did not know when it sent this.

    def _open(self, number, payload):
        if number in self.streams or len(self.streams) >= MAX_STREAMS:
            raise WireError("a stream that cannot be opened")
        stream = self.streams[number] = Stream(self, number)
        stream.task = asyncio.ensure_future(self._respond(stream, payload))

    def _scope(self, facts):
        """Returns ASGI's description of a request, from the host's."""
        root, path = self.config.root_path, facts["raw_path"].encode("latin-1")
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": facts.get("http_version", "1.1"),
            "method": facts["method"],
            "scheme": facts.get("scheme", "http"),
            "path": root + unquote_to_bytes(path).decode("utf-8", "replace"),
            "raw_path": root.encode("utf-8", "replace") + path,
            "query_string": facts.get("query_string", "").encode("latin-1"),
            "root_path": root,
            "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in facts["headers"]],
            "client": tuple(facts["client"]) if facts.get("client") else None,
            "server": tuple(facts["server"]) if facts.get("server") else (self.config.host, self.config.port),
            "state": self.state.copy(),
            "extensions": {},
        }

    async def _respond(self, stream, payload):
        """Answers one request. Whatever goes wrong with it ends its stream, not the server, as in uvicorn."""
        try:
            scope = self._scope(json.loads(payload))
            await self.config.loaded_app(scope, stream.receive, stream.send)
        except (asyncio.CancelledError, KeyboardInterrupt):
            raise  # the server ends
        except BaseException:
            logging.getLogger("uvicorn.error").exception("Exception in ASGI application")
        finally:
            self.streams.pop(stream.number, None)
            stream.close()
            await self.wire.flush()
