"""The first use of `mcp` in an image: a server is made, and called over both transports.

Imports, validators of pydantic and caches are made here once; machines that are forked from the image have them.
"""

from ..pristine import __builtins__

import asyncio
import contextlib
import contextvars
import importlib
import json
import logging

from . import adaptation, bridge, limits, loading, requirements, streams, uvicorn

# What a server looks like; its requirements are found in it.
_SOURCE = """
from mcp.server.fastmcp import Context, FastMCP, Image
mcp = FastMCP("first")
@mcp.tool()
def add(a: int, b: int = 1) -> int:
    return a + b
if __name__ == "__main__":
    mcp.run()
"""

_INITIALIZE = {
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {}},
        "clientInfo": {"name": "first", "version": "1"},
    },
}
_REQUESTS = (
    {"method": "ping"},
    {"method": "tools/list", "params": {}},
    {"method": "tools/call", "params": {"name": "add", "arguments": {"a": 1}}},
    {"method": "tools/call", "params": {"name": "greet", "arguments": {"person": {"name": "a"}}}},
    {"method": "resources/list"},
    {"method": "resources/templates/list"},
    {"method": "resources/read", "params": {"uri": "first://a"}},
    {"method": "prompts/list"},
    {"method": "prompts/get", "params": {"name": "ask", "arguments": {"text": "a"}}},
)


# By module: the class of servers in it, and the attribute of a server that has the low-level one.
_CLASSES = {
    "mcp.server.fastmcp": ("FastMCP", "_mcp_server"),
    "mcp.server.mcpserver": ("MCPServer", "_lowlevel_server"),
}


def use(name):
    """Makes a server of the class in a module, and calls it. Other modules have no first use.

    Leaves loaded modules and full caches, and nothing else.
    """
    if name not in _CLASSES:
        return
    requirements.needs(_SOURCE)
    class_name, low_level = _CLASSES[name]
    module = importlib.import_module(name)
    context = contextvars.copy_context()
    with _without_logging(importlib.import_module(name + ".server")):
        server = _fill(getattr(module, class_name)("first"), module.Context)
        context.run(asyncio.run, _over_stdio(getattr(server, low_level)))
        context.run(asyncio.run, _over_http(server.streamable_http_app()))


@contextlib.contextmanager
def _without_logging(server):
    """Servers set up the log when they are made, and so does the first line of a log that nobody has set up."""
    configure, server.configure_logging = server.configure_logging, lambda *_: None
    handler = logging.NullHandler()
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
        server.configure_logging = configure


def _fill(server, Context):
    """Gives a server what servers have."""
    from pydantic import BaseModel, Field

    class Person(BaseModel):
        name: str
        tags: list[str] = Field(default_factory=list, description="tags")

    @server.tool()
    async def add(a: int, b: int = 1) -> int:
        """Adds."""
        return a + b

    @server.tool()
    async def greet(person: Person, context: Context, greeting: str | None = None) -> dict[str, str]:
        """Greets."""
        return {"text": f"{greeting or 'Hello'} {person.name}"}

    @server.resource("first://{name}")
    async def read(name: str) -> str:
        """Reads."""
        return name

    @server.prompt()
    async def ask(text: str) -> str:
        """Asks."""
        return text

    return server


def _messages():
    """Returns the client's messages, with numbers."""
    return [
        {"jsonrpc": "2.0", "id": 0, **_INITIALIZE},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        *[{"jsonrpc": "2.0", "id": number, **request} for number, request in enumerate(_REQUESTS, 1)],
    ]


class _Script:
    """Stands for the wire: the host's bytes are a list, which goes on when everything so far is answered."""

    mode = None

    def __init__(self):
        self.pending = bytearray()
        self.changed = asyncio.Event()

    def claim(self, mode, **_facts):
        self.mode = mode

    def put(self, data):
        self.pending += data

    async def flush(self):
        self.changed.set()
        await asyncio.sleep(0)

    async def written(self, has):
        """Returns the bytes that were written, once `has` is true of them."""
        while not has(self.pending):
            self.changed.clear()
            await self.changed.wait()
        data = bytes(self.pending)
        self.pending.clear()
        return data


class _Lines(_Script):
    """A client over standard input and output."""

    def __init__(self):
        super().__init__()
        self._messages = iter(_messages())
        self._waits = False

    async def read_line(self):
        """Returns the next message, once the last one is answered."""
        if self._waits:
            await self.written(lambda data: data.endswith(b"\n"))
        message = next(self._messages, None)
        if message is None:
            return b""
        self._waits = "id" in message
        return json.dumps(message).encode() + b"\n"


async def _over_stdio(server):
    from mcp.server.stdio import stdio_server

    script = _Lines()
    async with stdio_server(streams.Lines(script), streams.Out(script)) as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


class _Frames(_Script):
    """A client over HTTP."""

    def __init__(self):
        super().__init__()
        self._bytes = b""
        self._client = self._exchange()
        self._number = 0

    async def read_exactly(self, count):
        """Returns bytes of the client's frames."""
        if not self._bytes:
            self._bytes = await anext(self._client, b"")
            if not self._bytes:
                return None
        data, self._bytes = self._bytes[:count], self._bytes[count:]
        return data

    async def _exchange(self):
        """Generates the frames of requests, each after the response to the last one."""
        await self.written(lambda data: b"" != data)  # READY
        session = None
        for message in _messages():
            yield self._request("POST", json.dumps(message).encode(), session)
            head = await self.written(lambda data: data.endswith(self._closed()))
            session = session or _session(head)
        yield self._request("DELETE", b"", session)
        await self.written(lambda data: data.endswith(self._closed()))
        yield bridge.HEAD.pack(0, bridge.SHUTDOWN, 0)

    def _closed(self):
        return bridge.HEAD.pack(0, bridge.CLOSED, self._number)

    def _request(self, method, body, session):
        self._number += 1
        headers = [
            ["host", "127.0.0.1:8000"],
            ["content-type", "application/json"],
            ["accept", "application/json, text/event-stream"],
        ]
        if session is not None:
            headers += [["mcp-session-id", session], ["mcp-protocol-version", "2025-06-18"]]
        facts = {"method": method, "raw_path": "/mcp", "headers": headers, "client": ["127.0.0.1", 1]}
        frames = [(bridge.OPEN, json.dumps(facts).encode()), (bridge.BODY, body), (bridge.END, b"")]
        return b"".join([bridge.HEAD.pack(len(data), kind, self._number) + data for kind, data in frames])


def _session(frames):
    """Returns the session that the first response names."""
    length, kind, _ = bridge.HEAD.unpack_from(frames)
    if kind == bridge.WINDOW:
        return _session(frames[bridge.HEAD.size + length :])
    head = json.loads(frames[bridge.HEAD.size : bridge.HEAD.size + length])
    return dict(head["headers"])["mcp-session-id"]


async def _over_http(app):
    config = uvicorn.Config(app)
    config.load()
    await bridge.Bridge(_Frames(), config, uvicorn.Server(config)).run()
