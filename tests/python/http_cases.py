"""What holds over HTTP alone: who is let in, what belongs to whom, how the server ends, and what abuse costs it.

Requests are written by hand here, where the SDKs' clients would not make the mistakes that are looked for.
"""

from __future__ import annotations

import contextlib
import copy
import http.client
import json
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio

from cases import contains, same
from harness import PATIENCE, Setup
from http_server import Served, certificate, make_token, serve

LEGACY, MODERN = '2025-11-25', '2026-07-28'


class Answer:
    """What came back: the status, the headers (names in small letters), and all messages of the body."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read().decode()

    @property
    def messages(self) -> list[Any]:
        if self.headers.get('content-type', '').startswith('text/event-stream'):
            lines = [line[5:].strip() for line in self.body.splitlines() if line.startswith('data:')]
            return [json.loads(line) for line in lines if line]
        return [json.loads(self.body)]

    @property
    def result(self) -> Any:
        (answer,) = [message for message in self.messages if 'method' not in message]
        return answer['result']


class Client:
    """One client, which writes its requests by hand."""

    def __init__(
        self, server: Served, token: str | None = None, tls: ssl.SSLContext | None = None, **headers: str
    ) -> None:
        scheme, _, self.address = server.origin.partition('://')
        self.path = server.url.removeprefix(server.origin)
        self.tls = tls
        token = server.token if token is None else token
        self.headers = {'Content-Type': 'application/json', 'Accept': 'application/json, text/event-stream', **headers}
        if token:
            self.headers['Authorization'] = f'Bearer {token}'

    def connect(self) -> http.client.HTTPConnection:
        if self.tls:
            return http.client.HTTPSConnection(self.address, timeout=PATIENCE, context=self.tls)
        return http.client.HTTPConnection(self.address, timeout=PATIENCE)

    def send(self, method: str, body: Any = None, path: str | None = None, **headers: str) -> Answer:
        connection = self.connect()
        with contextlib.closing(connection):
            text = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
            more = {name.replace('_', '-'): value for name, value in headers.items()}
            connection.request(method, path or self.path, text, {**self.headers, **more})
            return Answer(connection.getresponse())

    def post(self, method: str, params: dict[str, Any] | None = None, **headers: str) -> Answer:
        message = {'jsonrpc': '2.0', 'id': 1, 'method': method, 'params': params or {}}
        return self.send('POST', message, **headers)

    def session(self) -> Client:
        """The same client with a session of the protocol."""
        opened = self.try_session()
        assert opened, 'the server has no room for messages of this principal'
        return opened

    def try_session(self) -> Client | None:
        """As `session`; none while the server has no room for this principal's messages (503)."""
        about = {'protocolVersion': LEGACY, 'capabilities': {}, 'clientInfo': {'name': 'cases', 'version': '1'}}
        begun = self.post('initialize', about)
        if begun.status == 503:
            return None
        same(begun.status, 200)
        client = copy.copy(self)
        client.headers = {
            **self.headers,
            'Mcp-Session-Id': begun.headers['mcp-session-id'],
            'Mcp-Protocol-Version': LEGACY,
        }
        ready = client.send('POST', {'jsonrpc': '2.0', 'method': 'notifications/initialized'})
        if ready.status == 503:
            client.send('DELETE')
            return None
        same(ready.status, 202)
        return client

    def modern(
        self, method: str, params: dict[str, Any], name: str | None = None, capabilities: Any = None, **more: str
    ) -> Answer:
        """A request as of 2026-07-28, which belongs to no session."""
        meta = {
            'io.modelcontextprotocol/protocolVersion': MODERN,
            'io.modelcontextprotocol/clientInfo': {'name': 'cases', 'version': '1'},
            'io.modelcontextprotocol/clientCapabilities': capabilities or {},
            **more,
        }
        headers = {'Mcp-Protocol-Version': MODERN, 'Mcp-Method': method} | ({'Mcp-Name': name} if name else {})
        return self.post(method, {**params, '_meta': meta}, **headers)

    def tool(self, name: str, **arguments: Any) -> Answer:
        return self.modern('tools/call', {'name': name, 'arguments': arguments}, name)

    def cell(self, code: str, session: str = '') -> dict[str, Any]:
        return self.tool('execute_code', code=code, session_id=session).result['structuredContent']


@contextlib.contextmanager
def server(setup: Setup, *flags: str, data: str | None = None, **options: Any) -> Iterator[Served]:
    with tempfile.TemporaryDirectory() as directory:
        flags = ('--tools', 'all', '--data-dir', data or directory, *flags)
        with serve(setup.brumate, setup.cache_dir, 'http', *flags, **options) as running:
            yield running


async def tokens(setup: Setup) -> None:
    """Without a token nobody is let in; the file of tokens is read again when it is asked for."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / 'tokens.toml'
        ada = make_token(setup.brumate, 'ada', file)
        with server(setup, tokens=file, token=ada) as running:
            none = Client(running, token='').post('tools/list')
            same((none.status, none.headers['www-authenticate']), (401, 'Bearer realm="mcp"'))
            wrong = Client(running, token=ada[:-1]).post('tools/list')
            same((wrong.status, wrong.headers['www-authenticate']), (401, 'Bearer realm="mcp", error="invalid_token"'))
            same(Client(running, token='', Authorization=f'Basic {ada}').post('tools/list').status, 401)
            same(
                Client(running, token='').send('POST', {}, path=f'{Client(running).path}?access_token={ada}').status,
                401,
            )
            client = Client(running).session()
            assert client.post('tools/list').result['tools']
            bob = make_token(setup.brumate, 'bob', file)
            running.process.send_signal(signal.SIGHUP)
            await until(lambda: Client(running, token=bob).post('tools/list').status != 401)
            file.write_text(file.read_text().partition('[principal.bob]')[2].join(['[principal.bob]', '']))
            running.process.send_signal(signal.SIGHUP)
            await until(lambda: client.post('tools/list').status == 401)
            assert Client(running, token=bob).session().post('tools/list').result['tools']


async def until(true: Any) -> None:
    with anyio.fail_after(PATIENCE):
        while not true():
            await anyio.sleep(0.05)


async def strangers(setup: Setup) -> None:
    """What belongs to one principal does not exist for another: the answers are those about what never was."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / 'tokens.toml'
        ada, bob = make_token(setup.brumate, 'ada', file), make_token(setup.brumate, 'bob', file)
        with server(setup, tokens=file, token=ada) as running:
            first, second = Client(running), Client(running, token=bob)
            mine, other = first.session(), second.session()
            # Sessions of the protocol, and what is kept for those who come back.
            stolen, unknown = mine.headers['Mcp-Session-Id'], '0' * 32
            for method, headers in [('GET', {}), ('GET', {'Last_Event_ID': '0-0'}), ('POST', {})]:
                body = {'jsonrpc': '2.0', 'id': 1, 'method': 'tools/list'} if method == 'POST' else None
                answers = [other.send(method, body, Mcp_Session_Id=id, **headers) for id in (stolen, unknown)]
                same((answers[0].status, answers[0].body), (answers[1].status, answers[1].body))
                assert answers[0].status in (404, 500), answers[0].status
            answers = [other.send('DELETE', Mcp_Session_Id=id) for id in (stolen, unknown)]
            same((answers[0].status, answers[0].body), (answers[1].status, answers[1].body))
            assert mine.post('tools/list').result['tools'] and other.post('tools/list').result['tools']
            # Sessions of the interpreter, their files and their running code.
            made = first.cell("open('secret.txt', 'w').write('42')\nx = 1")
            session, never = made['session_info']['session_id'], 'A' * 16
            for name, arguments in [
                ('execute_code', {'code': 'x'}),
                ('list_session_files', {}),
                ('clear_session', {}),
                ('fork_session', {}),
                ('reset_session', {}),
                ('interrupt', {}),
                ('upload_file', {'filename': 'a', 'content': 'b'}),
            ]:
                answers = [
                    second.tool(name, session_id=id, **arguments).body.replace(id, 'ID') for id in (session, never)
                ]
                same(answers[0], answers[1])
            for id in (session, never):
                read = second.modern(
                    'resources/read', {'uri': f'kernel://{id}/secret.txt'}, f'kernel://{id}/secret.txt'
                )
                assert 'error' in read.messages[-1] and '42' not in read.body, read.body
            same(second.modern('resources/list', {}).result['resources'], [])
            assert any('secret.txt' in found['uri'] for found in first.modern('resources/list', {}).result['resources'])
            # Code that waits for input.
            asking = {'elicitation': {'form': {}}}
            call = {'name': 'run_python_code', 'arguments': {'python_code': "input('? ')"}}
            asked = first.modern('tools/call', call, call['name'], asking).result
            answer = {'inputResponses': {'input': {'action': 'accept', 'content': {'value': 'mine'}}}}
            for client, text in [(second, 'no longer waits for this input'), (first, 'mine')]:
                resumed = client.modern(
                    'tools/call', {**call, **answer, 'requestState': asked['requestState']}, call['name'], asking
                )
                contains(resumed.body, text)
            same(first.cell('x', session)['result'], '1')


async def guarded(setup: Setup) -> None:
    """Foreign web pages and names are refused; beyond this machine nobody listens without tokens."""
    with server(setup, '--allow-origin', 'https://app.example', '--allow-host', 'mcp.example') as running:
        for headers, status in [
            ({}, 200),
            ({'Origin': 'http://evil.example'}, 403),
            ({'Origin': 'https://app.example'}, 200),
            ({'Host': 'evil.example'}, 403),
            ({'Host': 'mcp.example'}, 200),
            ({'Origin': 'null'}, 403),
        ]:
            answer = Client(running).send('POST', initialize(), **headers)
            same((headers, answer.status), (headers, status))
            if status == 403:
                contains(answer.body, '--allow-')
        page = Client(running, token='').send(
            'OPTIONS', Origin='https://app.example', Access_Control_Request_Method='POST'
        )
        same((page.status, page.headers['access-control-allow-origin']), (200, 'https://app.example'))
    command = [
        str(setup.brumate),
        'streamable-http',
        '--host',
        '0.0.0.0',
        '--port',
        '0',
        '--cache-dir',
        str(setup.cache_dir),
    ]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    same(refused.returncode, 1)
    contains(refused.stderr, '--auth-tokens', '--allow-unauthenticated')
    with serve(
        setup.brumate, setup.cache_dir, 'http', '--host', '0.0.0.0', '--allow-unauthenticated', token=''
    ) as running:
        # Nobody is known, so nobody learns of others' sessions, but calls are answered.
        client = Client(running, Host='localhost')
        client.address = client.address.replace('0.0.0.0', '127.0.0.1')
        contains(client.tool('run_python_code', python_code='40 + 2').body, '42')


def initialize() -> dict[str, Any]:
    about = {'protocolVersion': LEGACY, 'capabilities': {}, 'clientInfo': {'name': 'cases', 'version': '1'}}
    return {'jsonrpc': '2.0', 'id': 1, 'method': 'initialize', 'params': about}


async def health(setup: Setup) -> None:
    """Who watches over the server is told how it is, without a token, and nothing of what is done with it."""
    with server(setup) as running:
        client = Client(running, token='')
        same(client.send('GET', path='/healthz').status, 200)
        await until(lambda: client.send('GET', path='/readyz').status == 200)
        session = Client(running).cell('x = 1')['session_info']['session_id']
        metrics = client.send('GET', path='/metrics')
        contains(metrics.headers['content-type'], 'text/plain; version=0.0.4')
        numbers = dict(line.split(' ') for line in metrics.body.splitlines() if not line.startswith('#'))
        same((numbers['brumate_ready'], numbers['brumate_interpreter_sessions']), ('1', '1'))
        assert session not in metrics.body and 'tester' not in metrics.body, metrics.body


async def draining(setup: Setup) -> None:
    """A server that is asked to end lets calls go on for a while, interrupts them, and answers; sessions survive."""
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
            # The code runs when somebody could interrupt it.
            await until(lambda: running_code(client))
            same(running.stop(), 0)
            await anyio.to_thread.run_sync(thread.join)
            contains(answers[0]['structuredContent']['error'], 'KeyboardInterrupt')
        with server(setup, **options) as running:
            same(Client(running).cell('x', session)['result'], '42')


def running_code(client: Client) -> bool:
    """Whether code runs, told by the server's metrics: asking a session would interrupt it."""
    return int(numbers(client)['brumate_runs']) > 0


# What a client says that takes tasks for answers and can ask a person.
TASKS = {'elicitation': {}, 'extensions': {'io.modelcontextprotocol/tasks': {}}}


async def tasks(setup: Setup) -> None:
    """Code that takes its time goes on as a task: it says how it goes, asks, is stopped, and exists for its principal alone."""
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

                # Not asked for again: a server that is to end does so when its last task was fetched.
                await until(left)
                return answers[-1]

            async def finished(result: dict[str, Any]) -> dict[str, Any]:
                # What is quick is answered in the call, and a busy machine is slow.
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

            # A server that is asked to end waits for tasks, and lets their clients come for them.
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
    """The events of a stream with their ids, as they come; empty ones are left out."""
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
    """A client goes on where it was though the server was killed; for others its session is none."""
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
    """Code whose client closes its connection is interrupted, where nobody could come back for its answer."""
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


async def abuse(setup: Setup) -> None:
    """Slow, broken, oversized and stormy clients are refused or ignored, and everybody else is served as before."""
    with server(setup) as running:
        client = Client(running)
        host, _, port = client.address.partition(':')
        idle = [socket.create_connection((host, int(port))) for _ in range(200)]
        for number, slow in enumerate(idle):
            # Nothing, a part of a head, or a part of a body.
            head = f'POST {client.path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {running.token}\r\n'
            slow.sendall(
                [b'', head.encode()[: 20 + number], f'{head}Content-Length: 1000\r\n\r\n{{'.encode()][number % 3]
            )
        contains(client.tool('run_python_code', python_code='40 + 2').body, '42')
        for body in [b'{', b'[]', b'\xff\xfe', b'[' * 100_000, b'"x"', b'']:
            answer = client.send('POST', body)
            assert 400 <= answer.status < 500, (body[:20], answer.status, answer.body)
        # The server need not read all of it.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            same(client.send('POST', b' ' * (17 << 20)).status, 413)
        flood = {f'X-{number}': 'x' * 200 for number in range(1000)}
        with contextlib.suppress(BrokenPipeError, ConnectionResetError, http.client.RemoteDisconnected):
            same(client.send('GET', **flood).status, 431)
        # A storm of clients that come, and go without a word.
        before = numbers(client)['brumate_mcp_sessions']
        for _ in range(50):
            visitor = Client(running).session()
            same(visitor.send('DELETE').status, 200)
            socket.create_connection((host, int(port))).close()
        await until(lambda: numbers(client)['brumate_mcp_sessions'] == before)
        contains(client.tool('run_python_code', python_code='40 + 2').body, '42')
        for slow in idle:
            slow.close()
        await until(lambda: numbers(client)['brumate_mcp_requests'] == '0')


def numbers(client: Client) -> dict[str, str]:
    lines = client.send('GET', path='/metrics').body.splitlines()
    return dict(line.split(' ') for line in lines if not line.startswith('#'))


async def encrypted(setup: Setup) -> None:
    """TLS, with a certificate that is read again when it changes."""
    with tempfile.TemporaryDirectory() as directory:
        cert, key = certificate(Path(directory))
        with server(setup, '--tls-cert', str(cert), '--tls-key', str(key)) as running:
            contains(running.url, 'https://')
            context = ssl.create_default_context(cafile=str(cert))
            client = Client(running, tls=context)
            contains(client.tool('run_python_code', python_code='40 + 2').body, '42')
            # Plain HTTP is not answered there.
            plain = Client(running)
            try:
                plain.post('tools/list')
                raise AssertionError('answered without TLS')
            except (http.client.HTTPException, OSError):
                pass
            certificate(Path(directory))
            running.process.send_signal(signal.SIGHUP)
            renewed = Client(running, tls=ssl.create_default_context(cafile=str(cert)))

            def trusted() -> bool:
                try:
                    return renewed.send('GET', path='/healthz').status == 200
                except ssl.SSLError:
                    return False

            await until(trusted)
