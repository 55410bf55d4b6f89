"""An MCP server in Python, for `sections/python_servers.py`: run by native CPython and by `brumate run`."""

import asyncio

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("Bench", log_level="WARNING")


@mcp.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@mcp.tool()
async def nap(seconds: float) -> float:
    """Sleeps."""
    await asyncio.sleep(seconds)
    return seconds


if __name__ == "__main__":
    mcp.run()
