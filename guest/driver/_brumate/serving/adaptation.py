"""Changes to libraries, made when they are imported: servers use the host's wire."""

from ..pristine import __builtins__

import contextlib
import errno
import functools
import importlib.machinery
import os
import sys

from .. import import_hooks
from . import streams
from .wire import Current

_UVICORN = ("uvicorn", "uvicorn.config", "uvicorn.server", "uvicorn.main")
# httpx imports its command line along with itself, and with it click, rich and pygments where they are installed.
_HTTPX_COMMAND = "httpx._main"

# Neither a banner in the log, nor a question about newer versions to a network that is not there.
_ENVIRONMENT = {
    "FASTMCP_SHOW_SERVER_BANNER": "false",
    "FASTMCP_SHOW_CLI_BANNER": "false",  # before fastmcp 2.14
    "FASTMCP_CHECK_FOR_UPDATES": "off",
    "FASTMCP_ENABLE_RICH_LOGGING": "false",
}


def adapt(wire):
    """Makes libraries serve by this wire. Modules that an image has loaded are changed at once."""
    Current.wire = wire
    if Finder in sys.meta_path:
        return
    sys.meta_path.insert(0, Finder)
    for name, change in CHANGES.items():
        import_hooks.after_import(name, change)
    for name in _UVICORN:
        if name in sys.modules:
            _Uvicorn.exec_module(sys.modules[name])
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)


class Finder:
    """First on `sys.meta_path`: finds our `uvicorn`, also where the real one is installed."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in _UVICORN:
            return importlib.machinery.ModuleSpec(name, _Uvicorn, is_package=name == "uvicorn")
        if name == _HTTPX_COMMAND:
            raise ModuleNotFoundError(f"No module named {name!r}: servers need no command line", name=name)
        return None

    @staticmethod
    def invalidate_caches():
        pass


class _Uvicorn:
    """Loads a module of uvicorn's with our names."""

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        from . import uvicorn

        uvicorn.fill(module)


def _replace(module, name, function):
    """Replaces a function in its module, and in modules of an image that have taken it from there."""
    original = getattr(module, name)
    for other in list(sys.modules.values()):
        if getattr(other, "__dict__", {}).get(name) is original:
            setattr(other, name, function)
    setattr(module, name, function)


def _stdio(module):
    """`mcp.server.stdio`: descriptors 0 and 1 are the host's wire."""
    original = module.stdio_server

    @functools.wraps(original)
    @contextlib.asynccontextmanager
    async def stdio_server(stdin=None, stdout=None, *arguments, **options):
        if streams.is_standard(stdin, 0) and streams.is_standard(stdout, 1):
            wire = Current.wire
            wire.claim("stdio")
            await wire.flush()
            stdin, stdout = streams.Lines(wire), streams.Out(wire)
        async with original(stdin, stdout, *arguments, **options) as pair:
            yield pair

    _replace(module, "stdio_server", stdio_server)


def _transports(module):
    """A module with a class of servers: `run` takes the transport that the user named."""
    for name in ("FastMCP", "MCPServer"):
        # In its own module 1.x calls the low-level class `MCPServer`, whose `run` is another.
        kind = getattr(module, name, None)
        if hasattr(kind, "run_stdio_async") and hasattr(kind, "run"):
            kind.run = _forced(kind.run)


def _forced(original):
    @functools.wraps(original)
    def run(self, transport=None, *arguments, **options):
        forced = Current.transport
        if forced is None:
            if transport is None:
                return original(self, *arguments, **options)
            return original(self, transport, *arguments, **options)
        if forced == "stdio":
            return original(self, "stdio")
        if forced == "streamable-http-stateless":
            forced = "streamable-http"
            settings = getattr(self, "settings", None)
            if settings is not None and hasattr(settings, "stateless_http"):  # 1.x
                settings.stateless_http = True
            else:
                options.setdefault("stateless_http", True)
        return original(self, forced, *arguments, **options)

    return run


def _plain_logging(module):
    """The SDK's log: without `rich`, whose import and first traceback take up to two seconds."""
    original = module.configure_logging

    @functools.wraps(original)
    def configure_logging(level="INFO", *arguments, **options):
        import logging

        logging.basicConfig(level=level, format="%(message)s", handlers=[logging.StreamHandler()])

    _replace(module, "configure_logging", configure_logging)


def _pipes(module):
    """`loop.connect_read_pipe(..., sys.stdin)`: the program speaks the protocol itself, and reads it asynchronously."""
    loop = module._UnixSelectorEventLoop
    original = loop.connect_read_pipe

    @functools.wraps(original)
    async def connect_read_pipe(self, protocol_factory, pipe):
        wire = Current.wire
        if wire is not None and getattr(pipe, "fileno", lambda: -1)() == wire.source:
            streams.claim_raw(wire)
        return await original(self, protocol_factory, pipe)

    loop.connect_read_pipe = connect_read_pipe


def _log_files(module):
    """A log file where nothing can be written, such as beside an installed package: its lines go to stderr."""
    original = module.FileHandler._open

    @functools.wraps(original)
    def _open(self):
        try:
            return original(self)
        except OSError as error:
            if error.errno != errno.EROFS:
                raise
            return open(os.dup(2), self.mode, encoding=self.encoding, errors=self.errors)

    module.FileHandler._open = _open


# The change of each module, made when it is imported.
CHANGES = {
    "asyncio.unix_events": _pipes,
    "fastmcp.server.server": _transports,
    "logging": _log_files,
    "mcp.server.fastmcp.server": _transports,
    "mcp.server.fastmcp.utilities.logging": _plain_logging,
    "mcp.server.mcpserver.server": _transports,
    "mcp.server.mcpserver.utilities.logging": _plain_logging,
    "mcp.server.stdio": _stdio,
}
