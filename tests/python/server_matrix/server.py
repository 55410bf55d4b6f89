"""One server with all that clients may use, for mcp 1.x or 2.x: server.py [TRANSPORT [PORT]].

It has what `interop.py` and `../../node/interop.mjs` ask for, and for `more.py` completion, sampling and roots.
"""

import asyncio
import sys
from typing import Annotated, Any
from urllib.parse import unquote

from pydantic import BaseModel, Field

TRANSPORT = (sys.argv[1:] or ['stdio'])[0]
PORT = int((sys.argv[2:] or ['8000'])[0])
STATELESS = TRANSPORT == 'streamable-http-stateless'
LISTENING = {'host': '127.0.0.1', 'port': PORT}

try:
    from mcp.server.mcpserver import Context, Elicit, Image, MCPServer, Resolve
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp_types import (
        Completion,
        CompletionContext,
        EmptyResult,
        PromptReference,
        SamplingMessage,
        SetLevelRequestParams,
        TextContent,
    )

    server = MCPServer('matrix')
    NEWER = True
except ImportError:
    from mcp.server.fastmcp import Context, FastMCP, Image
    from mcp.server.fastmcp.exceptions import ToolError
    from mcp.types import Completion, CompletionContext, PromptReference, SamplingMessage, TextContent

    server = FastMCP('matrix', stateless_http=STATELESS, **LISTENING)
    NEWER = False

LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']

# Clients look at no more of it.
PICTURE = b'\x89PNG\r\n\x1a\n'


class State:
    """Values that last between requests."""

    level = 'debug'
    cancelled = 0
    seen: asyncio.Event | None = None


class Sum(BaseModel):
    sum: int


class Person(BaseModel):
    name: str


@server.tool()
def add(a: int, b: int = 1) -> Sum:
    """Adds two numbers."""
    return Sum(sum=a + b)


@server.tool()
def picture() -> Any:
    return ['a pixel', Image(data=PICTURE, format='png')]


@server.tool()
def fails() -> str:
    raise ToolError('it always does')


@server.tool()
def panics() -> str:
    raise RuntimeError


@server.tool()
async def talks(ctx: Context) -> str:
    for level, text in [('debug', 'a detail'), ('info', 'a fact'), ('warning', 'a warning')]:
        # 2.x compares levels itself where the protocol lets a request state its level.
        if LEVELS.index(level) >= LEVELS.index(State.level):
            await ctx.log(level, text)
    return 'talked'


@server.tool()
async def steps(ctx: Context) -> str:
    """Reports progress, and returns when the client says that it has seen it."""
    State.seen = asyncio.Event()
    for done, step in [(1.0, 'one'), (1.5, 'and a half'), (2.0, 'two')]:
        await ctx.report_progress(done, 2.0, step)
    await State.seen.wait()
    return 'stepped'


@server.tool()
async def seen() -> str:
    while State.seen is None:
        await asyncio.sleep(0.01)
    State.seen.set()
    return 'told'


@server.tool()
async def waits(ctx: Context) -> str:
    try:
        await ctx.report_progress(1.0, None, 'waiting')
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        State.cancelled += 1
        raise
    return 'waited'


@server.tool()
def cancelled() -> int:
    return State.cancelled


if NEWER:

    def who() -> Elicit[Person]:
        return Elicit('Who is there?', Person)

    @server.tool()
    async def asks(person: Annotated[Person, Resolve(who)]) -> str:
        return f'hello, {person.name}'

else:

    @server.tool()
    async def asks(ctx: Context) -> str:
        answer = await ctx.elicit('Who is there?', Person)
        return f'hello, {answer.data.name}' if answer.action == 'accept' else 'nobody'


@server.resource('interop://about', mime_type='text/plain')
def about() -> str:
    return 'a server for tests'


@server.resource('interop://users/{name}', mime_type='text/plain')
def user(name: str) -> str:
    return f'the user {unquote(name)}'


@server.prompt()
def greet(name: Annotated[str, Field(description='Who is greeted.')]) -> str:
    """Asks a model to greet."""
    return f'Greet {name}.'


@server.completion()
async def complete(reference: Any, argument: Any, context: CompletionContext | None) -> Completion | None:
    if isinstance(reference, PromptReference):
        return Completion(values=[name for name in ('Ada', 'Alan', 'Grace') if name.startswith(argument.value)])
    return None


# The SDK's servers have no handler for it.
if NEWER:

    async def set_level(_context: Any, params: SetLevelRequestParams) -> EmptyResult:
        State.level = params.level
        return EmptyResult()

    server._lowlevel_server.add_request_handler('logging/setLevel', SetLevelRequestParams, set_level)

else:

    @server._mcp_server.set_logging_level()
    async def set_level(level: str) -> None:
        State.level = level


async def samples(ctx: Context) -> str:
    """Asks the client's model."""
    content = TextContent(type='text', text='Who are you?')
    answer = await ctx.session.create_message([SamplingMessage(role='user', content=content)], max_tokens=10)
    return f'{answer.model}: {answer.content.text}'


async def roots(ctx: Context) -> list[str]:
    return [str(root.uri) for root in (await ctx.session.list_roots()).roots]


# `interop.py` knows all tools that are listed.
if 'more' in sys.argv[3:]:
    server.tool()(samples)
    server.tool()(roots)

if __name__ == '__main__':
    if NEWER and TRANSPORT != 'stdio':
        extra = {'stateless_http': True} if STATELESS else {}
        server.run(TRANSPORT.removesuffix('-stateless'), **LISTENING, **extra)
    else:
        server.run(TRANSPORT.removesuffix('-stateless'))
