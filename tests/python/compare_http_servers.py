"""MCP servers in Python over HTTP, run by a command and by this interpreter: both must answer alike.

    python compare_http_servers.py [--only NAME] [--jobs NUMBER] -- COMMAND...

The servers are blocks of the SDK's README (`python_servers`) that serve HTTP, and others that are told to. This interpreter's version of
`mcp` says which. In the words of the command `{file}` is `FILE[:OBJECT]`, `{port}` a free port, and a word `{transport}` stands for
`--transport NAME`, or nothing: `brumate run {transport} --port {port} {file}`.
Compares status, content type and messages, but for ids of sessions and events. Prints what differs, and a summary.
Exit status 0: all was the same.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import re
import runpy
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from http_messages import Answer, Http
from server_peer import initialize

HERE = Path(__file__).resolve().parent
SDK_MAJOR = int(importlib.metadata.version('mcp').split('.')[0])
SERVERS = HERE / ('python_servers' if SDK_MAJOR == 1 else 'python_servers/v2')

# Seconds until a server listens, and until it has ended.
START, END = 180, 30
# Servers that run at once, each twice.
JOBS = 2
# Characters that are shown of an answer and of a log.
SHOWN, LOG = 400, 1500

SSE, STREAMABLE, STATELESS = 'sse', 'streamable-http', 'streamable-http-stateless'

Talk = Callable[[Http], list[Answer]]


@dataclass
class Case:
    """A server, its transport where its file names none, what is asked by hand, and whether the SDK's client is used, at which path."""

    file: str
    transport: str | None
    talk: Talk
    client: str | None = None
    # The name of the tool and its arguments for the SDK's client.
    call: tuple[str, dict[str, Any]] = ('', {})
    # Arguments of the program.
    arguments: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f'{self.file.removeprefix(f"{HERE}/")} {self.transport or ""}'.strip()


def stateless(path: str, *requests: tuple[str, dict[str, Any]]) -> Talk:
    """Requests without a session, and requests that are refused."""

    def talk(http: Http) -> list[Answer]:
        found = [http.message(path, 'initialize', initialize()), http.message(path, 'tools/list', {})]
        found += [http.message(path, method, parameters) for method, parameters in requests]
        found.append(http.message(path, 'nothing/known', {}))
        return found + refused(http, path)

    return talk


def refused(http: Http, path: str) -> list[Answer]:
    wrong_type, no_type = {'Content-Type': 'text/plain'}, {'Accept': 'text/html'}
    return [
        http.send('POST', path, b'no JSON'),
        http.send('POST', path, b'{}', wrong_type),
        http.send('POST', path, b'{}', no_type),
        http.send('PUT', path, b'{}'),
        http.send('GET', '/nowhere'),
    ]


def session(http: Http) -> list[Answer]:
    """A session from its beginning to its end, and requests outside of it."""
    path = '/mcp'
    found = [http.message(path, 'initialize', initialize())]
    known = {'Mcp-Session-Id': found[0].session}
    found.append(http.message(path, 'notifications/initialized', None, known))
    found.append(http.message(path, 'tools/list', {}, known))
    parameters = {'name': 'echo_tool', 'arguments': {'message': 'hé'}}
    found.append(http.message(path, 'tools/call', parameters, known))
    found.append(http.message(path, 'resources/read', {'uri': 'echo://hi'}, known))
    found.append(http.message(path, 'tools/list', {}))
    found.append(http.message(path, 'tools/list', {}, {'Mcp-Session-Id': 'unknown'}))
    found.append(http.send('DELETE', path, None, known))
    found.append(http.message(path, 'tools/list', {}, known))
    return found + refused(http, path)


def events(*paths: str) -> Talk:
    """The first event of streams, which names where messages go; and one exchange over it."""

    def talk(http: Http) -> list[Answer]:
        found = []
        for path in paths:
            found += http.exchange(path, [('initialize', initialize()), ('tools/list', {})])
        return [*found, http.send('GET', '/nowhere'), http.send('POST', '/messages/?session_id=1', b'{}')]

    return talk


def pages(*requests: tuple[str, str]) -> Talk:
    return lambda http: [http.send(method, path) for method, path in requests]


def unauthorized(http: Http) -> list[Answer]:
    found = [
        http.message('/mcp', 'initialize', initialize(), headers) for headers in ({}, {'Authorization': 'Bearer x'})
    ]
    paths = ['/.well-known/oauth-authorization-server', '/.well-known/oauth-protected-resource/mcp', '/authorize']
    return [*found, *(http.send('GET', path) for path in paths), http.send('POST', '/register', b'{}')]


def both(*talks: Talk) -> Talk:
    return lambda http: [answer for talk in talks for answer in talk(http)]


ECHO = ('echo_tool', {'message': 'hi'})
COMMON = [
    Case('14_echo.py', STREAMABLE, session, '/mcp', ECHO),
    Case(
        '14_echo.py',
        STATELESS,
        stateless('/mcp', ('tools/call', {'name': ECHO[0], 'arguments': ECHO[1]})),
        '/mcp',
        ECHO,
    ),
    Case('14_echo.py', SSE, events('/sse'), '/sse', ECHO),
    Case('12_mount.py:app', None, events('/sse')),
]
FIRST = [
    # The server answers with JSON.
    Case('10_streamable_http.py', None, stateless('/mcp')),
    Case('13_mount_paths.py:app', None, events('/github/sse', '/search/sse')),
    Case(
        '11_fastapi_fixed/main.py:app',
        None,
        both(
            stateless('/echo/mcp', ('tools/call', {'name': 'echo', 'arguments': {'message': 'hi'}})),
            stateless('/math/mcp', ('tools/call', {'name': 'add_two', 'arguments': {'n': 5}})),
            pages(('GET', '/openapi.json'), ('GET', '/docs'), ('HEAD', '/docs'), ('OPTIONS', '/docs')),
        ),
        '/echo/mcp',
        ('echo', {'message': 'hi'}),
    ),
]


# The server wants tokens, which nobody has. The README's block about them imports what no version has.
COMMON.append(Case(str(HERE / 'sdk_auth_server.py'), None, unauthorized, arguments=['{port}']))


def cases() -> list[Case]:
    return COMMON + (FIRST if SDK_MAJOR == 1 else [])


class Server:
    """A process that serves HTTP."""

    def __init__(self, command: list[str], port: int) -> None:
        self.log = tempfile.TemporaryFile()
        self.directory = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, cwd=self.directory.name
        )
        end = time.monotonic() + START
        while self.process.poll() is None and time.monotonic() < end:
            try:
                socket.create_connection(('127.0.0.1', port), 1).close()
                return
            except OSError:
                time.sleep(0.05)

    def close(self) -> str:
        """Ends the server. Returns the end of its log."""
        self.process.terminate()
        try:
            self.process.wait(END)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.seek(max(0, self.log.seek(0, os.SEEK_END) - LOG))
        self.directory.cleanup()
        return self.log.read().decode('utf-8', 'replace')


def free_port() -> int:
    with socket.create_server(('127.0.0.1', 0)) as listener:
        return listener.getsockname()[1]


def serve(server: str, transport: str, port: int) -> None:
    """Serves a file under CPython, as `brumate run` does: its object, or what it runs itself, on the port."""
    import uvicorn

    config = uvicorn.Config.__init__

    def on_port(self: Any, app: Any, *arguments: Any, **options: Any) -> None:
        config(self, app, *arguments, **{**options, 'host': '127.0.0.1', 'port': port})

    uvicorn.Config.__init__ = on_port
    file, _, name = server.partition(':')
    sys.path.insert(0, str(Path(file).parent))
    sys.argv[:] = [file, str(port)]
    module = runpy.run_path(file, run_name='server_module')
    if name:
        uvicorn.run(module[name])
    elif transport:
        mcp, is_stateless = module['mcp'], transport == STATELESS
        transport = transport.removesuffix('-stateless')
        if SDK_MAJOR == 1:
            mcp.settings.stateless_http = is_stateless
            mcp.run(transport)
        else:
            mcp.run(transport, **({'stateless_http': True} if is_stateless else {}))


async def through_the_sdk(address: str, case: Case) -> list[Any]:
    """Returns the results of the SDK's client."""
    from mcp import ClientSession
    from mcp.client.sse import sse_client
    from mcp.client.streamable_http import streamable_http_client

    open_transport = sse_client if case.transport == SSE else streamable_http_client
    async with open_transport(address) as (read, write, *_), ClientSession(read, write) as client:
        results = [await client.initialize(), await client.list_tools(), await client.call_tool(*case.call)]
        return [result.model_dump(mode='json', by_alias=True, exclude_none=True) for result in results]


def answers(case: Case, command: list[str], port: int) -> tuple[list[str], str]:
    """Starts a server. Returns what it answers, without what differs from run to run, and its log."""
    server = Server(command, port)
    try:
        found: list[Any] = [answer.compared() for answer in case.talk(Http(port))]
        if case.client is not None:
            with_patience = START

            async def run() -> list[Any]:
                with anyio.fail_after(with_patience):
                    return await through_the_sdk(f'http://127.0.0.1:{port}{case.client}', case)

            found += anyio.run(run)
    except Exception as error:
        found = [f'{type(error).__name__}: {error}']
    finally:
        log = server.close()
    return [re.sub(r'127\.0\.0\.1:\d+|[0-9a-f]{32}', '#', json.dumps(one, ensure_ascii=False)) for one in found], log


def differences(case: Case, command: list[str]) -> list[str]:
    place = str(SERVERS / case.file)
    port, native_port = free_port(), free_port()
    words = [word.replace('{file}', place).replace('{port}', str(port)) for word in command]
    transport = ['--transport', case.transport] if case.transport else []
    words = [part for word in words for part in (transport if word == '{transport}' else [word])]
    if case.arguments:
        words += ['--', *(argument.replace('{port}', str(port)) for argument in case.arguments)]
    found, log = answers(case, words, port)
    native = [sys.executable, __file__, '--serve', place, case.transport or '', str(native_port)]
    expected, native_log = answers(case, native, native_port)
    lines = []
    for number in range(max(len(expected), len(found))):
        theirs, ours = (dict(enumerate(one)).get(number, 'nothing') for one in (expected, found))
        if theirs != ours:
            lines += [f'  {number} expected {theirs[:SHOWN]}', f'  {number} found    {ours[:SHOWN]}']
    if len(expected) == 1:
        lines.append(f'  CPython fails: {expected[0][:SHOWN]}')
    if lines:
        lines += [f'  log of {whose}: {text}' for whose, text in [('CPython', native_log), ('it', log)]]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--only', default='', help='part of the name of a case')
    parser.add_argument('--jobs', type=int, default=JOBS, help='servers that run at once')
    parser.add_argument('--serve', nargs=3, metavar=('FILE', 'TRANSPORT', 'PORT'), help=argparse.SUPPRESS)
    parser.add_argument('command', nargs='*', help='what runs a server')
    options = parser.parse_args()
    if options.serve is not None:
        file, transport, port = options.serve
        serve(file, transport, int(port))
        return
    chosen = [case for case in cases() if options.only in str(case)]
    failed = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        found = pool.map(lambda case: differences(case, options.command), chosen)
        for case, lines in zip(chosen, found, strict=True):
            failed += bool(lines)
            if lines:
                print('\n'.join([f'differs {case}', *lines]), flush=True)
    print(f'mcp {SDK_MAJOR}.x: {len(chosen) - failed} servers answered the same, {failed} did not')
    sys.exit(failed > 0)


if __name__ == '__main__':
    main()
