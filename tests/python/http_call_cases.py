"""Calls over HTTP that outlive their request: tasks, lost connections, and servers that end or are killed.

As in `cases.py`, a case raises when a promise is broken.
"""

from __future__ import annotations

import contextlib
import json
import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio

from cases import contains, same
from harness import Setup
from http_client import MODERN, TASKS, Client, numbers, server, until
from http_server import make_token


async def draining(setup: Setup) -> None:
    """At SIGTERM calls may go on for the drain time, then they are interrupted and answered; sessions survive."""
    with tempfile.TemporaryDirectory() as data, tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / 'tokens.toml'
        token = make_token(setup.brumate, 'ada', file)
        options = {'data': data, 'tokens': file, 'token': token}
        with server(setup, '--drain-timeout', '500ms', '--timeout', '1h', '--cpu-timeout', '1h', **options) as running:
            client = Client(running)
            session = client.cell('x = 41')['session_info']['session_id']
            answers: list[dict[str, Any]] = []
            legacy = client.session()
            code = 'x += 1\nopen("begun", "w").close()\nwhile True: pass'
            call = {'name': 'execute_code', 'arguments': {'code': code, 'session_id': session}}
            thread = threading.Thread(target=lambda: answers.append(legacy.post('tools/call', call).result))
            thread.start()
            # SIGTERM before the code runs would test nothing.
            await until(lambda: running_code(client))
            same(running.stop(), 0)
            await anyio.to_thread.run_sync(thread.join)
            contains(answers[0]['structuredContent']['error'], 'KeyboardInterrupt')
        with server(setup, **options) as running:
            same(Client(running).cell('x', session)['result'], '42')


def running_code(client: Client) -> bool:
    """Whether code runs, by the server's metrics: the tool `interrupt` would stop it."""
    return int(numbers(client)['brumate_runs']) > 0


async def tasks(setup: Setup) -> None:
    """Code that runs for long goes on as a task: it reports progress, asks, can be cancelled, and only its principal sees it."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / 'tokens.toml'
        ada, bob = make_token(setup.brumate, 'ada', file), make_token(setup.brumate, 'bob', file)
        flags = ('--timeout', '1h', '--cpu-timeout', '1h', '--drain-timeout', '1h')
        with server(setup, *flags, tokens=file, token=ada) as running:
            client, stranger = Client(running), Client(running, token=bob)

            def call(code: str, session: str = '') -> dict[str, Any]:
                arguments = {'code': code, 'session_id': session}
                return client.modern(
                    'tools/call', {'name': 'execute_code', 'arguments': arguments}, 'execute_code', TASKS
                ).result

            def ask(method: str, task: str, who: Client = client, **more: Any) -> Any:
                (answer,) = who.modern(method, {'taskId': task, **more}, task, TASKS).messages
                return answer.get('result') or answer['error']

            async def after(task: str, *statuses: str) -> dict[str, Any]:
                answers = []

                def left() -> bool:
                    answers.append(ask('tasks/get', task))
                    return answers[-1]['status'] not in statuses

                # The last answer is kept: a draining server ends once its last task was fetched.
                await until(left)
                return answers[-1]

            async def finished(result: dict[str, Any]) -> dict[str, Any]:
                # Quick code is answered in the call itself, unless the machine is busy.
                return (
                    (await after(result['taskId'], 'working'))['result'] if result['resultType'] == 'task' else result
                )

            session = (await finished(call('x = 0')))['structuredContent']['session_info']['session_id']
            asked = call('name = input("Who? ")\nprint("hello", name)', session)
            same(asked['resultType'], 'task')
            waiting = await after(asked['taskId'], 'working')
            same(waiting['status'], 'input_required')
            ((key, question),) = waiting['inputRequests'].items()
            contains(question['params']['message'], 'Who?')
            for method in ('tasks/get', 'tasks/update', 'tasks/cancel'):
                foreign = ask(method, asked['taskId'], stranger, inputResponses={})
                same(foreign, ask(method, '0' * 32, inputResponses={}))
                same(foreign['code'], -32602)
            answers = {key: {'action': 'accept', 'content': {'value': 'Ada'}}}
            same(ask('tasks/update', asked['taskId'], inputResponses=answers)['resultType'], 'complete')
            ended = await after(asked['taskId'], 'input_required', 'working')
            same(ended['result']['structuredContent']['output'], ['hello Ada\n'])

            long = call('import time\nx = 41\nprint("begun", flush=True)\nwhile True: time.sleep(0.01)', session)
            same(long['resultType'], 'task')
            await until(lambda: 'begun' in ask('tasks/get', long['taskId']).get('statusMessage', ''))
            ask('tasks/cancel', long['taskId'])
            stopped = await after(long['taskId'], 'working')
            same(stopped['status'], 'cancelled')
            contains(stopped['statusMessage'], 'begun')
            same((await finished(call('x + 1', session)))['structuredContent']['result'], '42')

            # At SIGTERM the server waits for tasks, and for their clients to fetch them.
            last = call('input("Well? ")', session)
            waiting = await after(last['taskId'], 'working')
            running.process.send_signal(signal.SIGTERM)
            await until(lambda: client.post('tools/list').status == 503)
            (key,) = waiting['inputRequests']
            ask('tasks/update', last['taskId'], inputResponses={key: {'action': 'accept', 'content': {'value': 'bye'}}})
            ended = await after(last['taskId'], 'input_required', 'working')
            same(ended['result']['structuredContent']['result'], "'bye'")
            same(await anyio.to_thread.run_sync(running.process.wait), 0)


def events(client: Client, method: str, body: Any = None, **headers: str) -> Iterator[tuple[str, Any]]:
    """The ids and messages of a stream's events as they arrive, without the empty ones."""
    connection = client.connect()
    with contextlib.closing(connection):
        text = None if body is None else json.dumps(body)
        more = {name.replace('_', '-'): value for name, value in headers.items()}
        connection.request(method, client.path, text, {**client.headers, **more})
        event: dict[str, str] = {}
        for line in connection.getresponse():
            name, _, value = line.decode().strip().partition(':')
            event[name] = value.strip()
            if not name and not value:
                if event.get('data'):
                    yield event.get('id', ''), json.loads(event['data'])
                event = {}


async def resumed(setup: Setup) -> None:
    """After a `kill -9` a client resumes its stream from the event store; for other principals its session does not exist."""
    with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryDirectory() as data:
        file, store = Path(directory) / 'tokens.toml', Path(directory) / 'events'
        ada, bob = make_token(setup.brumate, 'ada', file), make_token(setup.brumate, 'bob', file)
        flags, options = ('--event-store', str(store), '--timeout', '1h'), {'data': data, 'tokens': file, 'token': ada}
        with server(setup, *flags, **options) as running:
            client = Client(running).session()
            code = 'import time\nwhile True: print("more", flush=True); time.sleep(0.05)'
            params = {'name': 'execute_code', 'arguments': {'code': code}, '_meta': {'progressToken': 7}}
            call = {'jsonrpc': '2.0', 'id': 'cell', 'method': 'tools/call', 'params': params}
            seen: list[tuple[str, Any]] = []
            for event in events(client, 'POST', call):
                seen.append(event)
                if len(seen) == 3:
                    break
            running.process.kill()
            running.process.wait()
        with server(setup, *flags, **options) as running:
            again = Client(running)
            again.headers = client.headers
            missed = list(events(again, 'GET', Last_Event_ID=seen[0][0]))
            same(missed[:2], seen[1:])
            last = missed[-1][1]
            same(last['id'], 'cell')
            contains(last['error']['message'], 'the server ended while it worked on this request')
            assert again.post('tools/list').result['tools']
            stranger = Client(running, token=bob)
            stranger.headers = {**client.headers, 'Authorization': stranger.headers['Authorization']}
            same(stranger.send('GET', Last_Event_ID=seen[0][0]).status, 404)
            same(stranger.post('tools/list').status, 404)


async def vanished(setup: Setup) -> None:
    """Code is interrupted when its client closes a connection that cannot be resumed."""
    with server(setup, '--timeout', '1h', '--cpu-timeout', '1h') as running:
        client = Client(running)
        session = client.cell('x = 1')['session_info']['session_id']
        meta = {
            'io.modelcontextprotocol/protocolVersion': MODERN,
            'io.modelcontextprotocol/clientInfo': {'name': 'cases', 'version': '1'},
            'io.modelcontextprotocol/clientCapabilities': {},
            'io.modelcontextprotocol/logLevel': 'debug',
        }
        code = 'x += 1\nprint("begun")\nwhile True: pass'
        call = {'name': 'execute_code', 'arguments': {'code': code, 'session_id': session}, '_meta': meta}
        connection = client.connect()
        headers = {
            **client.headers,
            'Mcp-Protocol-Version': MODERN,
            'Mcp-Method': 'tools/call',
            'Mcp-Name': 'execute_code',
        }
        connection.request(
            'POST',
            client.path,
            json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': call}),
            headers,
        )
        answer = connection.getresponse()
        await anyio.to_thread.run_sync(lambda: next(line for line in answer if b'begun' in line))
        answer.close()
        connection.close()
        same((await anyio.to_thread.run_sync(client.cell, 'x', session))['result'], '2')
