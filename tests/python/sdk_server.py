"""A server of the Python SDK, 1.x or 2.x, for the crate's client: sdk_server.py stdio|sse|streamable-http [PORT]."""

import sys
from typing import Annotated

from pydantic import BaseModel

try:
    from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
    from mcp.server.mcpserver.exceptions import ToolError

    server = MCPServer("python", version="2")
    NEWER = True
except ImportError:
    from mcp.server.fastmcp import Context
    from mcp.server.fastmcp import FastMCP as MCPServer
    from mcp.server.fastmcp.exceptions import ToolError

    server = MCPServer("python", host="127.0.0.1", port=int((sys.argv[2:] or ["8000"])[0]))
    NEWER = False


class Person(BaseModel):
    name: str


@server.tool()
def add(a: int, b: int = 1) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def fails() -> str:
    raise ToolError("it always does")


@server.tool()
async def steps(ctx: Context) -> str:
    for step in range(1, 11):
        await ctx.report_progress(step, 10, f"step {step}")
    return "stepped"


@server.tool()
async def talks(ctx: Context) -> str:
    for number in range(3):
        await ctx.info(f"fact {number}")
    return "talked"


if NEWER:

    def who() -> Elicit[Person]:
        return Elicit("Who is there?", Person)

    @server.tool()
    async def asks(person: Annotated[Person, Resolve(who)]) -> str:
        return f"accept {person.name}"

else:

    @server.tool()
    async def asks(ctx: Context) -> str:
        answer = await ctx.elicit("Who is there?", Person)
        return f"{answer.action} {getattr(getattr(answer, 'data', None), 'name', None)}"


@server.resource("text://about")
def about() -> str:
    return "a server for tests"


@server.resource("text://users/{name}")
def user(name: str) -> str:
    return f"the user {name}"


@server.prompt()
def greet(name: str) -> str:
    """Asks a model to greet."""
    return f"Greet {name}."


transport = sys.argv[1]
if NEWER and transport != "stdio":
    server.run(transport, host="127.0.0.1", port=int(sys.argv[2]))
else:
    server.run(transport)
