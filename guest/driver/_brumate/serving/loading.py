"""Running a server's file, and finding the object in it that is to be served."""

from ..pristine import __builtins__

import asyncio
import builtins
import importlib.util
import os
import sys
import types

from . import adaptation, limits, requirements, streams
from .wire import Current, ServingError

TRANSPORTS = ("stdio", "sse", "streamable-http", "streamable-http-stateless")
# Globals that are looked for, in this order, as by `mcp run`.
NAMES = ("mcp", "server", "app")
# The name under which a file is imported for an object of it, as by `mcp run`.
MODULE = "server_module"

# Classes by the top-level package and the name; a server inherits from one of them.
_RUNNING = frozenset(("mcp.FastMCP", "mcp.MCPServer", "fastmcp.FastMCP"))
_LOW_LEVEL = frozenset(("mcp.Server",))
_ASGI = frozenset(("starlette.Starlette", "fastapi.FastAPI"))


def split(target):
    """Returns `FILE[:OBJECT]` as a pair. The colon of a Windows drive is no separator."""
    head, colon, name = target.rpartition(":")
    if colon and len(head) > 1 and all(part.isidentifier() for part in name.split(".")):
        return head, name
    return target, None


def run(file, wire, name=None, transport=None, arguments=None):
    """Runs a server until its client is gone.

    The file runs as by `python FILE`. When it ends and has served nothing, one of its globals `mcp`, `server` and `app`
    is served. With the `name` of an object the file is imported, and that object is served. `arguments` are for
    `sys.argv`; None leaves that as it is.
    """
    if transport is not None and transport not in TRANSPORTS:
        raise ServingError(f"unknown transport: {transport}")
    path = os.path.abspath(file)
    with open(path, "rb") as stream:
        source = stream.read()
    adaptation.adapt(wire)
    Current.transport = transport
    if arguments is not None:
        sys.argv[:] = [file, *arguments]
    directory = os.path.dirname(path)
    if sys.path[:1] != [directory]:
        sys.path.insert(0, directory)
    streams.install(wire)
    limits.install()
    try:
        module = _execute(path, source, "__main__" if name is None else MODULE)
        # A file that serves ends when its client is gone.
        if wire.mode is None:
            found = _find(module, path) if name is None else _named(module, path, name)
            _serve(found, path if name is None else f"{path}:{name}")
    finally:
        wire.drain()


def _execute(path, source, name):
    """Executes a file as the module of this name, and returns the module. What it raises ends the program."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    if name == "__main__":
        module.__spec__ = None
    # The live builtins: `exec` would give it ours.
    module.__builtins__ = builtins
    sys.modules[name] = module
    try:
        exec(compile(source, path, "exec", dont_inherit=True), vars(module))
    except ImportError as error:
        if error.name == "mcp" and error.name_from == "FastMCP":
            error.add_note(requirements.NO_SUCH_NAME)
        raise
    return module


def _named(module, path, name):
    value = module
    for part in name.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            raise ServingError(f"{os.path.basename(path)} has no object {name!r}") from None
    return value


def _find(module, path):
    """Returns the global to serve: first one that can run by itself, then one of any kind."""
    names = vars(module)
    kinds = [(names[name], _kind(names[name])) for name in NAMES if name in names]
    for wanted in (("server",), ("lowlevel", "asgi")):
        for value, kind in kinds:
            if kind in wanted:
                return value
    file = os.path.basename(path)
    others = [f"{file}:{name}" for name, value in names.items() if not name.startswith("_") and _kind(value)]
    hint = f"; name one: {', '.join(others)}" if others else ""
    raise ServingError(
        f"{file} serves nothing: it has no server in `mcp`, `server` or `app`, and runs none itself{hint}"
    )


def _kind(value):
    """Returns what an object is: `server` with a `run` of its own, `lowlevel`, `asgi`, or None."""
    if isinstance(value, (type, types.ModuleType)):
        return None
    kind = type(value)
    bases = {f"{base.__module__.partition('.')[0]}.{base.__name__}" for base in kind.__mro__}
    if bases & _RUNNING or (hasattr(kind, "run_stdio_async") and hasattr(kind, "run")):
        return "server"
    if bases & _LOW_LEVEL or (hasattr(kind, "create_initialization_options") and hasattr(kind, "run")):
        return "lowlevel"
    if bases & _ASGI:
        return "asgi"
    return None


def _serve(value, where):
    """Serves an object, or what a function makes."""
    kind = _kind(value)
    transport = Current.transport
    if kind == "server":
        # `run` of a class that we have not changed takes it from here.
        value.run(**({} if transport is None else {"transport": transport}))
    elif kind == "lowlevel" and transport in (None, "stdio"):
        asyncio.run(_serve_low_level(value))
    elif kind == "asgi" and transport != "stdio":
        from . import uvicorn

        uvicorn.run(value)
    elif kind is None and callable(value):
        _serve_made(value, where)
    else:
        raise ServingError(f"{where} is a {type(value).__name__}, which cannot be served by {transport or 'stdio'}")


def _serve_made(function, where):
    """Calls a function that serves, or that makes what is to be served."""
    made = function()
    if asyncio.iscoroutine(made):
        made = asyncio.run(_awaited(made))
    if Current.wire.mode is not None:
        return
    if made is None or _kind(made) is None:
        raise ServingError(f"{where} is a function that serves nothing")
    _serve(made, where)


async def _awaited(coroutine):
    return await coroutine


async def _serve_low_level(server):
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())
