"""Tools that break their interpreter, the protocol or a limit, and tools that look at what surrounds the server."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp.server.fastmcp import FastMCP


@asynccontextmanager
async def lifespan(server: FastMCP) -> AsyncIterator[None]:
    print('lifespan begins', file=sys.stderr)
    yield
    print('lifespan ends', file=sys.stderr)


mcp = FastMCP('Abuse', lifespan=lifespan)
waits = {'begun': 0, 'cancelled': 0}


@mcp.tool()
def add(a: int, b: int) -> int:
    return a + b


@mcp.tool()
def spin() -> str:
    while True:
        pass


@mcp.tool()
async def wait() -> str:
    waits['begun'] += 1
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        waits['cancelled'] += 1
        raise
    return 'waited'


@mcp.tool()
def waited() -> dict[str, int]:
    return waits


@mcp.tool()
async def nap(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return 'slept'


@mcp.tool()
def die(status: int) -> str:
    os._exit(status)


@mcp.tool()
def litter(text: str) -> str:
    # The host reads the server's messages from this descriptor.
    os.write(1001, text.encode())
    return 'littered'


@mcp.tool()
def say(text: str) -> str:
    print(text)
    os.write(1, f'raw {text}\n'.encode())
    print('error', text, file=sys.stderr)
    return 'said'


@mcp.tool()
def flood() -> str:
    while True:
        print('x' * 1000)


@mcp.tool()
async def tasks() -> str:
    kept = set()
    while True:
        kept.add(asyncio.create_task(asyncio.sleep(3600)))
        await asyncio.sleep(0)


@mcp.tool()
def environment() -> dict[str, str]:
    return dict(os.environ)


@mcp.tool()
def arguments() -> list[str]:
    return sys.argv


@mcp.tool()
def read(path: str) -> str:
    with open(path) as file:
        return file.read()


@mcp.tool()
def entries(path: str) -> list[str]:
    return sorted(os.listdir(path))


@mcp.tool()
def write(path: str, text: str) -> int:
    with open(path, 'w') as file:
        return file.write(text)
