"""One face for the Python SDK's 1.x and 2.x clients.

Messages are handed out as plain JSON (by their wire names), so that cases say what is on the wire.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import inspect
import os
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import ElicitResult

import http_server
from processes import children

SDK_MAJOR = int(importlib.metadata.version('mcp').split('.')[0])

# No answer takes this long unless something hangs.
PATIENCE = 300


@dataclass
class Setup:
    """How to start the server and how to speak to it."""

    brumate: Path
    cache_dir: Path
    # 'auto' (the newest protocol that both know) or 'legacy' (with an initialize handshake).
    era: str
    # 'stdio', or one of `http_server.MODES`.
    transport: str = 'stdio'

    def parameters(self, *flags: str, environment: dict[str, str] | None = None) -> StdioServerParameters:
        args = ['stdio', '--cache-dir', str(self.cache_dir), *flags]
        return StdioServerParameters(command=str(self.brumate), args=args, env=environment)


@dataclass
class Connection:
    """A connected client."""

    session: Any
    modern: bool
    logs: list[tuple[str, Any]] = field(default_factory=list)
    processes: list[int] = field(default_factory=list)
    # Forms that the client was asked to show: their parameters.
    forms: list[dict[str, Any]] = field(default_factory=list)

    async def tools(self) -> list[dict[str, Any]]:
        return plain(await self.session.list_tools())['tools']

    async def call(
        self, code: str, global_variables: dict[str, Any] | None = None, progress: Any = None
    ) -> dict[str, Any]:
        arguments: dict[str, Any] = {'python_code': code}
        if global_variables is not None:
            arguments['global_variables'] = global_variables
        with anyio.fail_after(PATIENCE):
            return plain(await self.session.call_tool('run_python_code', arguments, progress_callback=progress))

    async def text(self, code: str, global_variables: dict[str, Any] | None = None) -> str:
        return text_of(await self.call(code, global_variables))

    async def call_raw(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        with anyio.fail_after(PATIENCE):
            return plain(await self.session.call_tool(name, arguments))

    async def set_level(self, level: str) -> None:
        await self.session.set_logging_level(level)


def plain(model: Any) -> dict[str, Any]:
    return model.model_dump(mode='json', by_alias=True, exclude_none=True)


def text_of(result: dict[str, Any]) -> str:
    (content,) = result['content']
    assert content['type'] == 'text', content
    return content['text']


@contextlib.asynccontextmanager
async def connect(
    setup: Setup,
    *flags: str,
    log_level: str | None = None,
    answer: Callable[[dict[str, Any]], Any] | None = None,
    errors: Any = sys.stderr,
    environment: dict[str, str] | None = None,
    messages: Any = None,
) -> AsyncIterator[Connection]:
    """Starts a server and opens a session. `log_level` is what the client wants logged, however its protocol says so.

    `answer` is the person before the client: given a form's parameters, it returns the result of the elicitation. `errors` is
    where the server's standard error goes, `environment` what it has beside the client's defaults. `messages` is called with every message that
    answers no request.
    """
    logs: list[tuple[str, Any]] = []
    forms: list[dict[str, Any]] = []

    async def elicit(_context: Any, params: Any) -> Any:
        forms.append(plain(params))
        result = answer(forms[-1])
        return ElicitResult.model_validate(await result if inspect.isawaitable(result) else result)

    asking: dict[str, Any] = {'message_handler': messages}
    if answer is not None:
        asking['elicitation_callback'] = elicit

    async def log(params: Any) -> None:
        logs.append((params.level, params.data))

    before = children()
    async with transport(setup, *flags, errors=errors, environment=environment) as (streams, process):

        def processes() -> list[int]:
            return [process] if process else sorted(children() - before)

        if SDK_MAJOR >= 2:
            from mcp import Client

            client = Client(streams, mode=setup.era, logging_callback=log, log_level=log_level, **asking)
            async with client:
                connection = Connection(client, modern=client.protocol_version >= '2026-07-28', logs=logs, forms=forms)
                connection.processes = processes()
                if log_level and not connection.modern:
                    await connection.set_level(log_level)
                yield connection
            return
        async with streams as (read, write):
            async with ClientSession(read, write, logging_callback=log, **asking) as session:
                await session.initialize()
                connection = Connection(session, modern=False, logs=logs, forms=forms)
                connection.processes = processes()
                if log_level:
                    await connection.set_level(log_level)
                yield connection


@contextlib.asynccontextmanager
async def transport(
    setup: Setup, *flags: str, errors: Any, environment: dict[str, str] | None
) -> AsyncIterator[tuple[Any, int | None]]:
    """The way to a new server, and its process if that is started already."""
    if setup.transport == 'stdio':
        yield stdio_client(setup.parameters(*flags, environment=environment), errlog=errors), None
        return
    async with http_server.served(
        setup.brumate, setup.cache_dir, setup.transport, *flags, environment=environment, errors=errors
    ) as server:
        yield http_server.open_streams(setup.transport, server.url, server.headers), server.process.pid
