"""Python MCP servers in the sandbox. Their messages come and go by a wire of the host's, not by descriptors 0 and 1.

| module | subject |
|---|---|
| `wire` | the descriptor to the host: lines and bytes in both directions |
| `streams` | what servers read and write in place of stdin and stdout |
| `adaptation`, `anyio_inline` | changes to `mcp`, `fastmcp`, `anyio` and others, made when they are imported |
| `uvicorn`, `bridge`, `lifespan` | a stand-in for `uvicorn`; ASGI applications over the wire |
| `loading` | running a file, and finding the server in it |
| `requirements` | what a server needs, from its source text |
| `limits` | stopping a tool that keeps the loop busy |
| `first_use` | what an image has done before a server starts in it |

The first line that the guest sends is JSON and says what follows: `{"serve":"stdio"}`, then a JSON-RPC message a line
in both directions (with `"raw":true` when the program speaks the protocol itself); or `{"serve":"http",...}`, then
frames in both directions (see `bridge`). Nothing here is imported before a server is to run, or code that imports
`mcp` is analyzed.
"""

from ..pristine import __builtins__


def run(file, name=None, transport=None, arguments=None):
    """Runs the server in a file until its client is gone (see `loading.run`), over the host's descriptor."""
    from .loading import run
    from .wire import MESSAGE_FD, Wire

    run(file, Wire(MESSAGE_FD), name, transport, arguments)
