"""Hostile clients, how many of them there are, and what they leave behind in a server.

`BRUMATE_TEST_LONG` chooses the full numbers (`FULL`).
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cases import contains, same
from harness import PATIENCE, Setup
from http_client import Client, numbers, server, until
from http_server import Served
from processes import resident_bytes

FULL = bool(os.environ.get('BRUMATE_TEST_LONG'))

# Clients of each kind.
CROWD = 1000 if FULL else 90
STORM = 1000 if FULL else 24

# Memory in bytes that the server's allocator may keep after abuse.
SLACK = 64 << 20

# Descriptors of the processes that the server keeps ready.
READY = 40


class Watch:
    """What a server holds: descriptors, memory, sessions, requests."""

    def __init__(self, running: Served, tls: ssl.SSLContext | None = None) -> None:
        self.pid, self.client = running.process.pid, Client(running, token='', tls=tls)
        self.port = int(self.client.address.rpartition(':')[2])
        self.first = self.held()

    def held(self) -> dict[str, int]:
        told = numbers(self.client)
        return {
            'descriptors': self.descriptors(),
            'connections': self.connections(),
            'sessions': int(told['brumate_mcp_sessions']),
            'requests': int(told['brumate_mcp_requests']),
            'runs': int(told['brumate_runs']),
            'memory': resident_bytes(self.pid) or 0,
        }

    def descriptors(self) -> int:
        """Descriptors but those of files: compiled modules are opened on demand, and stay open."""
        found = 0
        for entry in Path(f'/proc/{self.pid}/fd').iterdir():
            with contextlib.suppress(OSError):
                found += not os.readlink(entry).startswith('/')
        return found

    def connections(self) -> int:
        """Connections to the server's port that are established, or that only the client has closed."""
        wanted = f':{self.port:04X}'
        lines = [line.split() for line in Path('/proc/net/tcp').read_text().splitlines()[1:]]
        return sum(1 for line in lines if line[1].endswith(wanted) and line[3] in ('01', '08'))

    async def back(self) -> dict[str, int]:
        """Waits until connections, sessions, requests and runs are as at first; returns what is held then."""

        def is_back() -> bool:
            held = self.held()
            return (
                # The connection that fetched the metrics may still be there.
                held['connections'] <= 1
                and held['descriptors'] <= self.first['descriptors'] + READY
                and all(held[name] <= self.first[name] for name in ('sessions', 'requests', 'runs'))
            )

        try:
            await until(is_back)
        except TimeoutError:
            raise AssertionError(f'left behind: {self.held()}, at first {self.first}') from None
        return self.held()


def told(case: str, **numbers: Any) -> None:
    """Prints what a case has measured."""
    print(case, json.dumps(numbers), flush=True)


def served(client: Client) -> None:
    """Checks that the server answers a run."""
    contains(client.tool('run_python_code', python_code='40 + 2').body, '42')


@contextlib.contextmanager
def abused(setup: Setup, *flags: str) -> Iterator[tuple[Client, Client, Watch]]:
    """A server that serves before and after: a client, the same with a session, and what the server holds."""
    with server(setup, *flags) as running:
        client = Client(running)
        session = client.session()
        served(client)
        yield client, session, Watch(running)
        served(client)


def head(client: Client, **headers: Any) -> bytes:
    """The head of a POST request."""
    lines = {
        'Host': 'localhost',
        **client.headers,
        **{name.replace('_', '-'): value for name, value in headers.items()},
    }
    text = f'POST {client.path} HTTP/1.1\r\n' + ''.join(f'{name}: {value}\r\n' for name, value in lines.items())
    return f'{text}\r\n'.encode()


def dial(client: Client, receive: int | None = None) -> socket.socket:
    """A new connection to the client's server; `receive` is the size of its receive buffer."""
    name, _, port = client.address.partition(':')
    dialled = socket.socket()
    if receive:
        dialled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
    dialled.settimeout(PATIENCE)
    dialled.connect((name, int(port)))
    return dialled


def slow_head(client: Client, number: int) -> socket.socket:
    """A client that sends a part of a head."""
    dialled = dial(client)
    dialled.sendall(head(client)[: number % 150])
    return dialled


def slow_body(client: Client, number: int) -> socket.socket:
    """A client that sends a part of a body."""
    dialled = dial(client)
    dialled.sendall(head(client, Content_Length=1000) + b'{' * (number % 999))
    return dialled


def slow_reader(client: Client, number: int) -> socket.socket:
    """A client that asks for more than any buffer holds, and reads nothing."""
    dialled = dial(client, receive=4096)
    body = json.dumps({'jsonrpc': '2.0', 'id': f'slow {number}', 'method': 'tools/list'}).encode()
    request = head(client, Content_Length=len(body)) + body
    dialled.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        for _ in range(200):
            dialled.send(request)
    return dialled


SLOW: list[Callable[[Client, int], socket.socket]] = [slow_head, slow_body, slow_reader]


def event_ids(text: str) -> list[str]:
    """The ids of the events in a stream's text."""
    return [line[3:].strip() for line in text.splitlines() if line.startswith('id:')]


def next_event(response: Any) -> str:
    """The text of a stream's next event that has data."""
    lines = []
    while True:
        line = response.readline().decode()
        if not line:
            raise AssertionError('the stream has ended')
        if not line.strip() and any(one.startswith('data:') for one in lines):
            return ''.join(lines)
        lines.append(line)


@contextlib.contextmanager
def older_session(client: Client) -> Iterator[tuple[str, Any]]:
    """A session over HTTP+SSE: the path for its messages, and its stream."""
    connection = client.connect()
    with contextlib.closing(connection):
        connection.request('GET', client.path, headers=client.headers)
        response = connection.getresponse()
        same(response.status, 200)
        first = next_event(response)
        yield next(line[5:].strip() for line in first.splitlines() if line.startswith('data:')), response
