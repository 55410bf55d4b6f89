"""The same server as `load serve`, with the Python SDK: one tool, sessions, JSON responses. Its URL on standard
error."""

import socket
import sys

import uvicorn
from mcp.server.fastmcp import FastMCP

server = FastMCP("Echo", json_response=True, log_level="WARNING")


@server.tool()
async def echo(message: str) -> str:
    """Gives back a message."""
    return message


listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
print(f"http://127.0.0.1:{listener.getsockname()[1]}", file=sys.stderr, flush=True)
config = uvicorn.Config(server.streamable_http_app(), log_level="warning", access_log=False)
uvicorn.Server(config).run(sockets=[listener])
