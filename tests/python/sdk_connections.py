"""Connections of the Python SDK's client to examples of the crate `brumate-mcp`."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import CreateMessageResult, ElicitResult, TextContent

from harness import PATIENCE, SDK_MAJOR, plain


@dataclass
class Options:
    """What the command line of `sdk_examples.py` says."""

    # The directory of the built examples.
    examples: Path
    # 'auto' (the newest protocol that both know) or 'legacy' (with an initialize handshake).
    era: str


OPTIONS = Options(Path(), 'auto')

# Log messages that the client has received since it connected.
LOGS: list[Any] = []
# Answers of the person at the client to the next forms; `None` declines.
FORMS: list[dict[str, Any] | None] = []
# Pages that the person has opened since the client connected.
PAGES: list[str] = []


async def _log(params: Any) -> None:
    LOGS.append(params.data)


async def _elicit(_: Any, params: Any) -> Any:
    if params.mode == 'url':
        PAGES.append(params.url)
        return ElicitResult(action='accept')
    content = FORMS.pop(0)
    return ElicitResult(action='decline') if content is None else ElicitResult(action='accept', content=content)


async def _sample(_: Any, params: Any) -> Any:
    content = TextContent(type='text', text=f'a model on: {params.messages[-1].content.text}')
    return CreateMessageResult(role='assistant', content=content, model='none')


@contextlib.asynccontextmanager
async def stdio(example: str, *arguments: str) -> AsyncIterator[Any]:
    """An example over standard input and output."""
    parameters = StdioServerParameters(command=str(OPTIONS.examples / example), args=list(arguments))
    async with connected(parameters, lambda: stdio_client(parameters)) as session:
        yield session


@contextlib.asynccontextmanager
async def serving(example: str) -> AsyncIterator[str]:
    """Starts an example over HTTP, yields its address, and checks that an interrupt ends it with status 0."""
    command = [str(OPTIONS.examples / example), '127.0.0.1:0']
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            yield process.stderr.readline().strip()
            process.send_signal(signal.SIGINT)
            status = await anyio.to_thread.run_sync(process.wait, PATIENCE)
            assert status == 0, f'{example} ended with {status}'
        finally:
            process.terminate()


@contextlib.asynccontextmanager
async def http_session(url: str, token: str | None = None) -> AsyncIterator[Any]:
    """A session over streamable HTTP."""
    from mcp.client import streamable_http

    # The name changed between 1.x releases.
    connect = getattr(streamable_http, 'streamable_http_client', None) or streamable_http.streamablehttp_client
    if token is None:
        async with connected(url, lambda: connect(url)) as session:
            yield session
        return
    headers = {'Authorization': f'Bearer {token}'}
    if SDK_MAJOR == 1:
        transport = streamable_http.streamablehttp_client(url, headers)
        async with connected(lambda: None, lambda: transport) as session:
            yield session
        return
    import httpx2

    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE, follow_redirects=True) as client:
        transport = connect(url, http_client=client)
        async with connected(transport, lambda: transport) as session:
            yield session


@contextlib.asynccontextmanager
async def connected(target: Any, transport: Any) -> AsyncIterator[Any]:
    """An initialized session. SDK 2.x connects to `target`; 1.x, and 2.x if `target` is a function, uses the streams of `transport()`."""
    LOGS.clear()
    PAGES.clear()
    callbacks: Any = {'logging_callback': _log, 'elicitation_callback': _elicit, 'sampling_callback': _sample}
    with anyio.fail_after(PATIENCE):
        if SDK_MAJOR >= 2 and not callable(target):
            from mcp import Client

            async with Client(target, mode=OPTIONS.era, log_level='debug', **callbacks) as client:
                assert (client.protocol_version >= '2026-07-28') == (OPTIONS.era == 'auto'), client.protocol_version
                yield client
            return
        async with transport() as (read, write, *_), ClientSession(read, write, **callbacks) as session:
            await session.initialize()
            yield session


async def call(session: Any, name: str, **arguments: Any) -> dict[str, Any]:
    """Calls a tool and returns its result as plain JSON."""
    return plain(await session.call_tool(name, arguments))
