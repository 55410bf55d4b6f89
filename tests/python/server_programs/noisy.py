"""A tool that prints and reads. Under CPython that breaks the protocol."""

import os
import sys

try:
    from mcp.server.mcpserver import MCPServer
except ImportError:
    from mcp.server.fastmcp import FastMCP as MCPServer

mcp = MCPServer('Noisy')


@mcp.tool()
def noisy() -> str:
    print('{"jsonrpc":"2.0","id":1,"result":{}}')
    os.write(1, b'raw\n')
    sys.__stdout__.write('text\n')
    try:
        return input()
    except EOFError:
        return 'nothing to read'
