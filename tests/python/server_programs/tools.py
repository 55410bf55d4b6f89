"""Tools that do what is hard without threads: waits, worker threads, files, questions to the client, long results."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import anyio.from_thread
import anyio.to_thread

try:
    from mcp.server.mcpserver import Context, MCPServer
except ImportError:
    from mcp.server.fastmcp import Context
    from mcp.server.fastmcp import FastMCP as MCPServer


@asynccontextmanager
async def lifespan(server: MCPServer) -> AsyncIterator[dict]:
    async with anyio.create_task_group() as group:
        group.start_soon(anyio.sleep_forever)
        yield {'group': group}
        group.cancel_scope.cancel()


server = MCPServer('Tools', lifespan=lifespan)


@server.tool()
async def nap(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return 'slept'


@server.tool()
async def threads(ctx: Context) -> str:
    def work() -> str:
        async def inner() -> str:
            await asyncio.sleep(0.01)
            return 'inner'

        seen = [asyncio.run(inner()), anyio.from_thread.run(anyio.sleep, 0.01)]
        seen.append(anyio.from_thread.run_sync(lambda: asyncio.get_running_loop().is_running()))
        try:
            seen.append(asyncio.get_running_loop())
        except RuntimeError:
            seen.append('no loop')
        anyio.from_thread.check_cancelled()
        anyio.from_thread.run(ctx.info, 'from a thread')
        return str(seen)

    return await anyio.to_thread.run_sync(work) + await asyncio.to_thread(lambda: 'asyncio')


@server.tool()
async def head(path: str) -> str:
    async with await anyio.open_file(path) as file:
        return (await file.read())[:10]


@server.tool()
async def roots(ctx: Context) -> str:
    return str((await ctx.session.list_roots()).roots)


@server.tool()
def long(count: int) -> str:
    return 'é' * count


@server.tool()
def fails() -> str:
    raise ValueError('it always does')


if __name__ == '__main__':
    server.run()
