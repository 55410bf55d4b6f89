"""Clients of one principal that ask for much and read nothing of it, on every transport: what the server holds for them is bounded,
another principal is served meanwhile, and in the end nothing stays.

With `BRUMATE_TEST_LONG` set there are ten thousand of them.
"""

from __future__ import annotations

import contextlib
import json
import resource
import socket
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cases import contains, same
from harness import Setup
from hostile_clients import FULL, Watch, dial, next_event, older_session, served, told
from http_client import MODERN, Client, initialize, server, until
from http_server import Served, make_token, serve
from processes import resident_bytes

# Clients that do not read, and the file that they ask for.
CROWD = 10_000 if FULL else 120
FILE_BYTES = 30_000_000
# What the server may hold for all of them together. Each answer has 40 MB.
MOST = 600 << 20

Ask = Callable[[Client, str, int], socket.socket]


def send(client: Client, message: dict[str, Any], **headers: str) -> socket.socket:
    """A connection on which a message was sent, and of which nothing is read."""
    body = json.dumps(message).encode()
    lines = {'Host': 'localhost', **client.headers, 'Content-Length': str(len(body)), **headers}
    head = f'POST {client.path} HTTP/1.1\r\n' + ''.join(f'{name}: {value}\r\n' for name, value in lines.items())
    connection = dial(client, receive=4096)
    if client.tls:
        connection = client.tls.wrap_socket(connection, server_hostname='localhost')
    connection.sendall(f'{head}\r\n'.encode() + body)
    return connection


def modern_request(
    method: str, params: dict[str, Any], name: str, number: int, capabilities: Any = None
) -> tuple[dict[str, Any], dict[str, str]]:
    """A request as of 2026-07-28, and its headers."""
    meta = {
        'io.modelcontextprotocol/protocolVersion': MODERN,
        'io.modelcontextprotocol/clientInfo': {'name': 'cases', 'version': '1'},
        'io.modelcontextprotocol/clientCapabilities': capabilities or {},
    }
    message = {'jsonrpc': '2.0', 'id': number, 'method': method, 'params': {**params, '_meta': meta}}
    return message, {'Mcp-Protocol-Version': MODERN, 'Mcp-Method': method, 'Mcp-Name': name}


def read_modern(client: Client, uri: str, number: int) -> socket.socket:
    message, headers = modern_request('resources/read', {'uri': uri}, uri, number)
    return send(client, message, **headers)


def read_legacy(client: Client, uri: str, number: int) -> socket.socket:
    """In one session of the protocol, which all of them share."""
    return send(client, {'jsonrpc': '2.0', 'id': number, 'method': 'resources/read', 'params': {'uri': uri}})


def half_body(client: Client, _uri: str, number: int) -> socket.socket:
    """A body of which most comes, and never all."""
    connection = dial(client)
    lines = {'Host': 'localhost', **client.headers, 'Content-Length': str(16_000_000)}
    head = f'POST {client.path} HTTP/1.1\r\n' + ''.join(f'{name}: {value}\r\n' for name, value in lines.items())
    connection.settimeout(0.2)
    with contextlib.suppress(OSError):
        connection.sendall(f'{head}\r\n'.encode() + b' ' * (2_000_000 + number % 7))
    return connection


def many_descriptors() -> None:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))


def times(client: Client, count: int) -> float:
    """The median time of a call without a session, in milliseconds."""
    taken = []
    for _ in range(count):
        begun = time.monotonic()
        served(client)
        taken.append((time.monotonic() - begun) * 1000)
    return statistics.median(taken)


def memory(running: Served) -> int:
    return resident_bytes(running.process.pid) or 0


@contextlib.contextmanager
def two(
    setup: Setup, transport: str = 'http', flags: tuple[str, ...] = (), **options: Any
) -> Iterator[tuple[Served, Client, Client]]:
    """A server with two principals, a client of each."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / 'tokens.toml'
        ada, bob = make_token(setup.brumate, 'ada', file), make_token(setup.brumate, 'bob', file)
        flags = ('--tools', 'all', '--data-dir', directory + '/data', *flags)
        with serve(setup.brumate, setup.cache_dir, transport, *flags, tokens=file, token=ada, **options) as running:
            yield running, Client(running), Client(running, token=bob)


def large_file(client: Client) -> str:
    """The address of a large file in a session of the interpreter."""
    made = client.cell(f"import os\nopen('large.bin', 'wb').write(os.urandom({FILE_BYTES}))")
    return f'kernel://{made["session_info"]["session_id"]}/large.bin'


async def unread(setup: Setup) -> None:
    """Over HTTP: answers of 40 MB to requests with and without sessions of the protocol, and bodies that never end."""
    many_descriptors()
    with two(setup) as (running, hostile, other):
        uri = large_file(hostile)
        session = hostile.session()
        for client in (hostile, other):
            served(client)
        undisturbed, first = times(other, 20), memory(running)
        watch = Watch(running)
        kinds: list[tuple[Client, Ask]] = [(hostile, read_modern), (session, read_legacy), (hostile, half_body)]
        crowd, most = [], 0
        for number in range(CROWD):
            client, ask = kinds[number % 3]
            with contextlib.suppress(OSError):
                crowd.append(ask(client, uri, number))
            if number % 50 == 0:
                most = max(most, memory(running))
        # Others are served, and the session of the hostile ones is not damaged.
        during = times(other, 20)
        for _ in range(20):
            most = max(most, memory(running))
            time.sleep(0.1)
        same(other.session().post('tools/list').status, 200)
        assert most - first <= MOST, (first, most)
        for one in crowd:
            one.close()
        watch.first['sessions'] += 1
        after = await watch.back()
        told(
            'unread',
            clients=CROWD,
            grown=(most - first) >> 20,
            after=(after['memory'] - first) >> 20,
            ratio=round(during / undisturbed, 2),
        )
        # Nobody is locked out for ever.
        answer = hostile.modern('resources/read', {'uri': uri}, uri)
        assert len(answer.result['contents'][0]['blob']) == FILE_BYTES * 4 // 3, answer.body[:300]


async def stalled(setup: Setup) -> None:
    """Who stays and does not read is cut off after a while: what was held for them is free again though they are still there."""
    with two(setup) as (running, hostile, _):
        uri = large_file(hostile)
        served(hostile)
        session = hostile.session()
        crowd = [read_modern(hostile, uri, 1), read_legacy(session, uri, 2)]
        # There is room for one of them at a time; what is refused meanwhile says so.
        answer = session.post('tools/list')
        assert answer.status in (200, 503), answer.status

        def free() -> bool:
            answer = hostile.modern('resources/read', {'uri': uri}, uri)
            return answer.status == 200 and 'result' in answer.messages[-1]

        await until(free)
        for one in crowd:
            one.close()
        told('stalled', memory=memory(running))


async def unread_older(setup: Setup) -> None:
    """Over HTTP+SSE: answers pile up on a stream that nobody reads."""
    with two(setup, 'sse') as (running, hostile, other):
        # Sessions of the interpreter are made over streamable HTTP, which is beside it.
        hostile.path = other.path = '/mcp'
        uri = large_file(hostile)
        for client in (hostile, other):
            served(client)
        first, most = memory(running), 0
        hostile.path = '/sse'
        with contextlib.ExitStack() as streams:
            for _ in range(CROWD // 20):
                address, stream = streams.enter_context(older_session(hostile))
                begin = {key: value for key, value in initialize().items() if key != 'id'} | {'id': 0}
                same(hostile.send('POST', begin, path=address).status, 202)
                contains(next_event(stream), '"id":0')
                same(
                    hostile.send(
                        'POST', {'jsonrpc': '2.0', 'method': 'notifications/initialized'}, path=address
                    ).status,
                    202,
                )
                for number in range(1, 4):
                    message = {'jsonrpc': '2.0', 'id': number, 'method': 'resources/read', 'params': {'uri': uri}}
                    assert hostile.send('POST', message, path=address).status in (202, 503)
                most = max(most, memory(running))
            served(other)
            for _ in range(20):
                most = max(most, memory(running))
                time.sleep(0.1)
        assert most - first <= MOST, (first, most)
        told('unread_older', grown=(most - first) >> 20)


async def unread_notes(setup: Setup) -> None:
    """What a session keeps for clients that come back is swept, and bounded over all sessions of a principal."""
    with two(setup) as (running, hostile, other):
        for client in (hostile, other):
            served(client)
        first = memory(running)
        text = 'x' * 1_000_000
        sessions = [hostile.session() for _ in range(CROWD // 2 if FULL else 90)]
        for session in sessions:
            for number in range(4):
                # An answer of a megabyte: it is read, and kept for a while.
                call = {'name': 'run_python_code', 'arguments': {'python_code': f"'x' * 900_000 + '{number}'"}}
                answer = session.post('tools/call', call)
                assert answer.status in (200, 503), (answer.status, answer.body[:200])
        grown = memory(running) - first
        assert grown <= 300 << 20, grown >> 20
        told('unread_notes', sessions=len(sessions), grown=grown >> 20, text=len(text))


async def same_id(setup: Setup) -> None:
    """An id that is used again while its call runs: the second call is answered with an error of its own."""
    with two(setup) as (_, client, _other):
        session = client.session()
        slow = {'name': 'run_python_code', 'arguments': {'python_code': "import time\ntime.sleep(2)\n'first'"}}
        message = {'jsonrpc': '2.0', 'id': 7, 'method': 'tools/call', 'params': slow}
        connection = session.connect()
        with contextlib.closing(connection):
            connection.request('POST', session.path, json.dumps(message), session.headers)
            response = connection.getresponse()
            quick = {'name': 'run_python_code', 'arguments': {'python_code': "'second'"}}
            second = session.send('POST', {**message, 'params': quick})
            (answer,) = [message for message in second.messages if 'error' in message]
            same((answer['id'], answer['error']['code']), (7, -32600))
            contains(answer['error']['message'], 'in use')
            text = ''
            while '"result"' not in text:
                text = next_event(response)
            contains(text, 'first')
        # Answered, the id is free.
        contains(session.send('POST', {**message, 'params': quick}).body, 'second')


async def revoked(setup: Setup) -> None:
    """A token that is taken out of the file ends what was begun with it: streams, running calls, sessions."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / 'tokens.toml'
        bob = make_token(setup.brumate, 'bob', file)
        kept = file.read_text()
        ada = make_token(setup.brumate, 'ada', file)
        with server(setup, '--timeout', '1h', '--cpu-timeout', '1h', tokens=file, token=ada) as running:
            client, other = Client(running), Client(running, token=bob)
            served(client)
            session = client.session()
            watch = Watch(running)
            stream = session.connect()
            stream.request('GET', session.path, headers=session.headers)
            same(stream.getresponse().status, 200)
            call = {'name': 'run_python_code', 'arguments': {'python_code': 'while True: pass'}}
            message = {'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': call}
            calls = [send(session, message), send(client, message)]
            await until(lambda: watch.held()['runs'] >= 1)
            file.write_text(kept)
            await until(lambda: watch.held()['runs'] == 0 and watch.held()['sessions'] == 0)
            same(session.post('tools/list').status, 401)
            served(other)
            with contextlib.closing(stream):
                pass
            for one in calls:
                one.close()
