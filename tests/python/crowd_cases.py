"""Crowds that read nothing, as in `unread_cases.py`, where answers go or stay in another way: over TLS, over HTTP/2, in stateless mode,
as tasks, and in an event store. What the server holds is bounded, another principal is served, and nothing stays.
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import http2
from cases import same
from harness import Setup
from hostile_clients import Watch, dial, served, told
from http_client import LEGACY, TASKS, Client, until
from http_server import Served, certificate
from unread_cases import (
    CROWD,
    MOST,
    large_file,
    many_descriptors,
    memory,
    modern_request,
    read_legacy,
    read_modern,
    send,
    times,
    two,
)

# What an event store may take of its disk.
MOST_STORED = 1 << 30


@contextlib.contextmanager
def bounded(running: Served, other: Client, case: str) -> Iterator[Callable[..., None]]:
    """Yields a function that opens one more connection which reads nothing, by calling what it is given.

    With all of them the server stays below its ceiling, and another principal is served. In the end they are closed.
    """
    many_descriptors()
    served(other)
    undisturbed, first = times(other, 10), memory(running)
    crowd: list[socket.socket] = []
    most = first

    def join(ask: Callable[..., socket.socket], *arguments: Any) -> None:
        nonlocal most
        with contextlib.suppress(OSError):
            crowd.append(ask(*arguments))
        if len(crowd) % 20 == 0:
            most = max(most, memory(running))

    try:
        yield join
        during = times(other, 10)
        most = max(most, memory(running))
        assert most - first <= MOST, (first, most)
        told(case, grown=(most - first) >> 20, ratio=round(during / undisturbed, 2))
    finally:
        for one in crowd:
            one.close()


async def encrypted(setup: Setup) -> None:
    """Over TLS: connections of HTTP/1.1, and of HTTP/2 with several requests each whose windows stay closed."""
    with tempfile.TemporaryDirectory() as directory:
        cert, key = certificate(Path(directory))
        with two(setup, flags=('--tls-cert', str(cert), '--tls-key', str(key))) as (running, hostile, other):
            hostile.tls = other.tls = ssl.create_default_context(cafile=str(cert))
            uri = large_file(hostile)
            watch = Watch(running, hostile.tls)
            with bounded(running, other, 'encrypted') as join:
                # The server takes these requests: its memory does not stay small because it refuses them.
                first = several(hostile, uri, cert)
                http2.await_answer(first)
                join(lambda: first)
                for number in range(CROWD // 4):
                    join(read_modern, hostile, uri, number)
                    join(several, hostile, uri, cert)
            await watch.back()
            answer = hostile.modern('resources/read', {'uri': uri}, uri)
            assert 'result' in answer.messages[-1], answer.body[:300]


def several(client: Client, uri: str, trusted: Path) -> socket.socket:
    """A connection of HTTP/2 that asks for the same file four times and takes 16 bytes of each answer."""
    context = ssl.create_default_context(cafile=str(trusted))
    context.set_alpn_protocols(['h2'])
    connection = context.wrap_socket(dial(client, receive=4096), server_hostname='localhost')
    same(connection.selected_alpn_protocol(), 'h2')
    http2.open_connection(connection, window=16)
    for stream in (1, 3, 5, 7):
        message, headers = modern_request('resources/read', {'uri': uri}, uri, stream)
        http2.post(
            connection, stream, client.path, 'localhost', {**client.headers, **headers}, json.dumps(message).encode()
        )
    return connection


async def stateless(setup: Setup) -> None:
    """In stateless mode, with requests of both protocols."""
    with two(setup, 'http-stateless') as (running, hostile, other):
        uri = large_file(hostile)
        older = Client(running, token=running.token, Mcp_Protocol_Version=LEGACY)
        watch = Watch(running)
        with bounded(running, other, 'stateless') as join:
            for number in range(CROWD // 2):
                join(read_modern, hostile, uri, number)
                join(read_legacy, older, uri, number)
        await watch.back()


async def event_store(setup: Setup) -> None:
    """With an event store: what is kept on its disk for clients that do not come back is bounded as well."""
    with tempfile.TemporaryDirectory() as store:
        with two(setup, flags=('--event-store', store)) as (running, hostile, other):
            uri = large_file(hostile)
            with bounded(running, other, 'event_store') as join:
                for number in range(CROWD // 10):
                    session = await when_there_is_room(hostile)
                    for id in range(3):
                        join(read_legacy, session, uri, id)
                        call = {'name': 'run_python_code', 'arguments': {'python_code': f"'x' * 900_000 + '{number}'"}}
                        assert session.post('tools/call', call).status in (200, 503)
                stored = sum(file.stat().st_size for file in Path(store).rglob('*') if file.is_file())
                assert stored <= MOST_STORED, stored
            told('event_store', stored=stored >> 20)
            await until(lambda: answers(hostile))


def answers(client: Client) -> bool:
    return '42' in client.tool('run_python_code', python_code='40 + 2').body


async def when_there_is_room(client: Client) -> Any:
    """A session of a principal that leaves answers unread: it is refused (503) while its account is full, and never for ever."""
    opened: list[Client | None] = []

    def is_open() -> bool:
        opened.append(client.try_session())
        return opened[-1] is not None

    await until(is_open)
    return opened[-1]


async def tasks(setup: Setup) -> None:
    """Tasks whose results nobody fetches, and answers about them that nobody reads."""
    with two(setup) as (running, hostile, other):
        call = {
            'name': 'execute_code',
            'arguments': {'code': "import time\ntime.sleep(2.5)\n'x' * 900_000", 'session_id': ''},
        }
        begun: list[str] = []
        watch = Watch(running)
        with bounded(running, other, 'tasks') as join:

            def refused_or_begun() -> bool:
                """Begins tasks until the server has enough of them, or there are as many as this case wants."""
                answer = hostile.modern('tools/call', call, 'execute_code', TASKS)
                (message,) = answer.messages
                if 'error' in message or message['result'].get('resultType') != 'task':
                    return True
                begun.append(message['result']['taskId'])
                return len(begun) >= CROWD // 20

            await until(refused_or_begun)
            assert begun
            for number in range(CROWD):
                join(get_task, hostile, begun[number % len(begun)], number)
        await until(lambda: watch.held()['runs'] == 0)
        await until(lambda: answers(hostile))


def get_task(client: Client, task: str, number: int) -> socket.socket:
    message, headers = modern_request('tasks/get', {'taskId': task}, task, number, TASKS)
    return send(client, message, **headers)
