"""A server of the Python SDK, 1.x or 2.x. The test puts a line before it that says how it is served: `HOW`."""

import asyncio
import os

try:
    from mcp.server.fastmcp import Context, FastMCP

    server = FastMCP("python", stateless_http=HOW == "stateless", json_response=HOW == "stateless")  # noqa: F821
    options = {}
except ImportError:
    from mcp.server.mcpserver import Context
    from mcp.server.mcpserver import MCPServer as FastMCP

    server = FastMCP("python")
    options = {"stateless_http": True, "json_response": True} if HOW == "stateless" else {}  # noqa: F821

count = 0


@server.tool()
def add(a: int, b: int) -> int:
    return a + b


@server.tool()
def counted() -> str:
    global count
    count += 1
    return f"{count} {os.getpid()}"


@server.tool()
async def steps(ctx: Context) -> str:
    for step in range(1, 6):
        await ctx.report_progress(step, 5)
        await asyncio.sleep(0)
    return "stepped"


@server.tool()
def large() -> str:
    return "x" * 300_000


@server.tool()
async def busy() -> str:
    # Asynchronous, so that it is on the loop: outside of the sandbox the newer SDK runs others on threads.
    while True:
        pass


if HOW == "mounted":  # noqa: F821
    import contextlib

    import uvicorn
    from starlette.applications import Starlette
    from starlette.responses import PlainTextResponse
    from starlette.routing import Mount, Route

    inner = server.streamable_http_app()

    @contextlib.asynccontextmanager
    async def lifespan(app):
        async with server.session_manager.run():
            yield

    async def page(request):
        return PlainTextResponse(f"page of {request.client.host}")

    app = Starlette(routes=[Route("/page", page), Mount("/api", inner)], lifespan=lifespan)
    if __name__ == "__main__":
        uvicorn.run(app, host="127.0.0.1", port=9)
elif __name__ == "__main__":
    server.run(transport="sse" if HOW == "sse" else "streamable-http", **options)  # noqa: F821
