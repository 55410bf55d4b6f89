"""Abuse over loopback: slow, broken, oversized, thieving and stormy clients, in numbers.

Nothing of it stays with the server, nobody gets what belongs to others, and other clients are served meanwhile.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio

from cases import contains, same
from harness import Setup
from hostile_clients import (
    CROWD,
    FULL,
    SLACK,
    SLOW,
    STORM,
    Watch,
    abused,
    dial,
    event_ids,
    next_event,
    older_session,
    served,
    slow_body,
    told,
)
from http_client import LEGACY, Answer, Client, initialize, numbers, server, until
from http_server import make_token, serve

SEED = int(os.environ.get('BRUMATE_TEST_SEED', '1'))
MALFORMED = 5000 if FULL else 300
LARGE_BODIES = 16 if FULL else 2
CELLS = 16 if FULL else 4


async def slow(setup: Setup) -> None:
    """Clients that stop within a head, within a body, or do not read answers; then all of them disconnect at once."""
    with abused(setup) as (client, reader, watch):
        rounds = []
        for _ in range(2):
            crowd = [SLOW[number % 3](reader, number) for number in range(CROWD)]
            await until(lambda: watch.connections() >= CROWD)
            served(client)
            same(reader.post('tools/list').status, 200)
            during = watch.held()
            for one in crowd:
                one.close()
            rounds.append((during, await watch.back()))
        told('slow', clients=CROWD, first=watch.first, rounds=rounds)
        assert rounds[1][1]['memory'] <= rounds[0][1]['memory'] + SLACK, rounds


async def halves(setup: Setup) -> None:
    """Bodies that end early leave nothing; bodies that are too large are refused and not kept in memory."""
    with abused(setup) as (client, session, watch):
        for number in range(CROWD):
            slow_body(session, number).close()
        large = 100 << 20
        piece = b' ' * (1 << 20)

        def whole(length: bool) -> int | None:
            connection = client.connect()
            with contextlib.closing(connection):
                body: Any = (piece for _ in range(large // len(piece)))
                headers = {**session.headers} | ({'Content-Length': str(large)} if length else {})
                try:
                    connection.request('POST', client.path, body, headers, encode_chunked=not length)
                except (BrokenPipeError, ConnectionResetError):
                    pass  # The server may close before it has read all of it.
                try:
                    return connection.getresponse().status
                except (http.client.HTTPException, OSError):
                    return None

        with ThreadPoolExecutor(LARGE_BODIES) as threads:
            statuses = list(threads.map(whole, [number % 2 == 0 for number in range(2 * LARGE_BODIES)]))
        assert set(statuses) <= {413, None} and 413 in statuses, statuses
        after = await watch.back()
        told('halves', bodies=len(statuses), first=watch.first, after=after)
        # Far less than was sent.
        assert after['memory'] <= watch.first['memory'] + (32 << 20) * LARGE_BODIES + SLACK, (watch.first, after)


async def floods(setup: Setup) -> None:
    """Heads that are too large, and requests of foreign web pages."""
    with abused(setup) as (client, _, watch):
        floods = [
            {f'X-{number}': 'x' * 200 for number in range(1000)},
            {'X-Long': 'x' * (1 << 20)},
            {f'X-{number}': '' for number in range(50_000)},
            {'Cookie': '; '.join(f'a{number}=b' for number in range(100_000))},
        ]
        for flood in floods:
            for _ in range(STORM // 4):
                with contextlib.suppress(BrokenPipeError, ConnectionResetError, http.client.RemoteDisconnected):
                    same(client.send('GET', **flood).status, 431)
        for number in range(STORM):
            origin = ['http://evil.example', 'null', 'https://localhost.evil.example', 'http://127.0.0.1.evil.example'][
                number % 4
            ]
            same(client.send('POST', initialize(), Origin=origin).status, 403)
            same(client.send('POST', initialize(), Host=f'evil{number}.example').status, 403)
        told('floods', first=watch.first, after=await watch.back())


def malformed(chance: random.Random, message: bytes) -> bytes:
    """A message with up to four random changes."""
    text = bytearray(message)
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(text) or 1)
        match chance.randrange(5):
            case 0:
                del text[place : place + chance.randint(1, 20)]
            case 1:
                text[place:place] = chance.randbytes(chance.randint(1, 8))
            case 2:
                text[place : place + 1] = chance.choice(
                    [b'{', b'}', b'[', b'"', b'\\u0000', b'null', b'-', b'1e999', b'\xff']
                )
            case 3:
                text[place:place] = b'[' * chance.randint(1, 300)
            case 4:
                text *= 2
        if not text:
            break
    return bytes(text)


async def nonsense(setup: Setup) -> None:
    """Malformed messages: answered with errors of the protocol or of HTTP, never with 500."""
    with abused(setup) as (client, session, watch):
        chance = random.Random(SEED)
        messages = [
            json.dumps(message).encode()
            for message in (
                initialize(),
                {'jsonrpc': '2.0', 'id': 1, 'method': 'tools/list'},
                {'jsonrpc': '2.0', 'id': 2, 'method': 'resources/read', 'params': {'uri': 'kernel://a/b'}},
                {'jsonrpc': '2.0', 'method': 'notifications/cancelled', 'params': {'requestId': 3}},
                {'jsonrpc': '2.0', 'id': 3, 'result': {}},
            )
        ]
        seen: dict[int, int] = {}
        connection = client.connect()
        for number in range(MALFORMED):
            body = malformed(chance, chance.choice(messages))
            headers = (session if number % 2 else client).headers
            try:
                connection.request('POST', client.path, body, headers)
                status = connection.getresponse()
                text = status.read()
            except (http.client.HTTPException, OSError):
                connection.close()
                continue
            assert status.status < 500, (SEED, number, body, status.status, text)
            seen[status.status] = seen.get(status.status, 0) + 1
            begun = status.headers.get('mcp-session-id')
            if status.status == 200 and begun and begun != session.headers['Mcp-Session-Id']:
                client.send('DELETE', Mcp_Session_Id=begun)
        connection.close()
        assert seen.get(400, 0) + seen.get(415, 0) + seen.get(422, 0) > MALFORMED // 4, seen
        told('nonsense', seed=SEED, statuses=seen, first=watch.first, after=await watch.back())


async def thieves(setup: Setup) -> None:
    """The ids of another principal give access to nothing: sessions, streams, messages of the older transport."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / 'tokens.toml'
        ada, bob = make_token(setup.brumate, 'ada', file), make_token(setup.brumate, 'bob', file)
        with server(setup, tokens=file, token=ada) as running:
            watch = Watch(running)
            owner, thief = Client(running), Client(running, token=bob)
            own = thief.session()
            owned = [owner.session() for _ in range(STORM)]
            secrets = {}
            for number, one in enumerate(owned):
                call = {'name': 'run_python_code', 'arguments': {'python_code': f'"secret-{number}"'}}
                answer = one.post('tools/call', call)
                contains(answer.body, f'secret-{number}')
                secrets[one.headers['Mcp-Session-Id']] = event_ids(answer.body)

            def steal(session: str) -> None:
                for client in (thief, own):
                    for event in ['', *secrets[session]]:
                        more = {'Mcp_Session_Id': session, 'Mcp_Protocol_Version': LEGACY} | (
                            {'Last_Event_ID': event} if event else {}
                        )
                        refused(client.send('GET', **more))
                    message = {'jsonrpc': '2.0', 'id': 1, 'method': 'tools/list'}
                    refused(client.send('POST', message, Mcp_Session_Id=session, Mcp_Protocol_Version=LEGACY))
                    refused(client.send('POST', {'jsonrpc': '2.0', 'id': 0, 'result': {}}, Mcp_Session_Id=session))
                    refused(client.send('DELETE', Mcp_Session_Id=session), 200, 202)
                # Another's event in the thief's own session.
                for event in secrets[session]:
                    with own_stream(own, event) as text:
                        assert 'secret' not in text, text

            with ThreadPoolExecutor(8) as threads:
                list(threads.map(steal, secrets))
            # The owner can still use all sessions.
            for one in owned:
                assert one.post('tools/list').result['tools']
                same(one.send('DELETE').status, 200)
            same(own.send('DELETE').status, 200)
            told('thieves', sessions=len(owned), first=watch.first, after=await watch.back())
        with serve(setup.brumate, setup.cache_dir, 'sse', tokens=file, token=ada) as running:
            with older_session(Client(running)) as (address, stream):
                message = {
                    'jsonrpc': '2.0',
                    'id': 7,
                    **{key: value for key, value in initialize().items() if key in ('method', 'params')},
                }
                unknown = address.partition('=')[0] + '=' + '0' * 32
                stolen, never = (
                    Client(running, token=bob).send('POST', message, path=path) for path in (address, unknown)
                )
                same((stolen.status, stolen.body), (never.status, never.body))
                same(stolen.status, 404)
                same(Client(running).send('POST', message, path=address).status, 202)
                assert '"id":7' in next_event(stream)


def refused(answer: Answer, *also: int) -> None:
    """Checks that an answer has no secret, and a status of refusal or one of `also`."""
    assert 'secret' not in answer.body and answer.status in (401, 403, 404, 500, *also), (answer.status, answer.body)


@contextlib.contextmanager
def own_stream(client: Client, event: str) -> Iterator[str]:
    """The first bytes of a stream that is resumed after an event."""
    connection = client.connect()
    with contextlib.closing(connection):
        connection.request('GET', client.path, headers={**client.headers, 'Last-Event-ID': event})
        response = connection.getresponse()
        if response.status != 200:
            yield response.read().decode()
            return
        connection.sock and connection.sock.settimeout(0.2)
        text = b''
        with contextlib.suppress(TimeoutError, OSError):
            text = response.read1(65536)
        yield text.decode()


async def storm(setup: Setup) -> None:
    """Many clients lose their connection in the middle of a call and come back: each gets its own answer, once."""
    # Four times as many runs may wait: more than there are clients at a time, so that none is refused.
    with abused(setup, '--max-concurrent', '8') as (client, _, watch):
        begun = time.monotonic()

        def lose(number: int) -> str:
            session = client.session()
            call = {'name': 'run_python_code', 'arguments': {'python_code': f'{number} * 1000 + 7'}}
            body = json.dumps({'jsonrpc': '2.0', 'id': number, 'method': 'tools/call', 'params': call})
            connection = session.connect()
            with contextlib.closing(connection):
                connection.request('POST', session.path, body, session.headers)
                response = connection.getresponse()
                # The stream's first event is empty, and says how to come back.
                (event,) = event_ids(next_event(response))
            for _ in range(3):
                # Coming back and leaving again changes nothing.
                with contextlib.closing(session.connect()) as visit:
                    visit.request('GET', session.path, headers={**session.headers, 'Last-Event-ID': event})
                    same(visit.getresponse().status, 200)
            connection = session.connect()
            with contextlib.closing(connection):
                connection.request('GET', session.path, headers={**session.headers, 'Last-Event-ID': event})
                response = connection.getresponse()
                while '"result"' not in (text := next_event(response)):
                    pass
            same(session.send('DELETE').status, 200)
            contains(text, f'"id":{number}', str(number * 1000 + 7))
            return text

        def leave(number: int) -> None:
            # Other clients come and go; some do not end their session.
            session = client.session()
            if number % 4:
                same(session.send('DELETE').status, 200)
            dial(client).close()

        with ThreadPoolExecutor(32) as threads:
            answers = threads.map(lose, range(1, STORM + 1))
            list(threads.map(leave, range(0, STORM, 2)))
            same(len(set(await anyio.to_thread.run_sync(list, answers))), STORM)
        # A session that was not ended stays until it has been idle for long; nothing else is left.
        watch.first['sessions'] += len(range(0, STORM, 4))
        told(
            'storm',
            clients=STORM,
            seconds=round(time.monotonic() - begun, 1),
            first=watch.first,
            after=await watch.back(),
        )


async def ending(setup: Setup) -> None:
    """SIGTERM while cells run, clients are slow and others connect: running cells are answered, the process ends, sessions keep their state."""
    with tempfile.TemporaryDirectory() as data, tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / 'tokens.toml'
        options = {'data': data, 'tokens': file, 'token': make_token(setup.brumate, 'ada', file)}
        flags = ('--max-concurrent', str(CELLS), '--timeout', '1h', '--cpu-timeout', '1h')
        with file.open('a') as entries:
            entries.write(f'\n[defaults]\nruns = {CELLS}\n')
        with server(setup, '--drain-timeout', '1s', *flags, **options) as running:
            client = Client(running)
            cells = [client.cell(f'x = {number}')['session_info']['session_id'] for number in range(CELLS)]
            crowd = [
                SLOW[number % 3](client.session() if number % 3 == 2 else client, number)
                for number in range(CROWD // 3)
            ]

            def run(number: int) -> Any:
                call = {
                    'name': 'execute_code',
                    'arguments': {'code': 'x += 100\nwhile True: pass', 'session_id': cells[number]},
                }
                return client.session().post('tools/call', call).result['structuredContent']['error']

            def come(_number: int) -> set[int]:
                seen = set()
                while running.process.poll() is None:
                    try:
                        seen.add(client.send('POST', initialize()).status)
                    except (OSError, http.client.HTTPException):
                        seen.add(0)
                    time.sleep(0.01)
                return seen

            with ThreadPoolExecutor(CELLS + 8) as threads:
                runs = [threads.submit(run, number) for number in range(CELLS)]
                await until(lambda: int(numbers(client)['brumate_runs']) == CELLS)
                coming = [threads.submit(come, number) for number in range(8)]
                same(await anyio.to_thread.run_sync(running.stop), 0)
                for one in runs:
                    contains(one.result(), 'KeyboardInterrupt')
                seen = set().union(*(one.result() for one in coming))
            # A draining server answers 503; an ended one refuses connections.
            assert seen <= {0, 200, 503}, seen
            for one in crowd:
                one.close()
            told('ending', cells=CELLS, slow=len(crowd), statuses=sorted(seen))
        with server(setup, *flags, **options) as running:
            for number, session in enumerate(cells):
                same(Client(running).cell('x', session)['result'], str(number + 100))
