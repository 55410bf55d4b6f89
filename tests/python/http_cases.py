"""The HTTP server itself: who is let in, what belongs to whom, health, TLS, and requests that are refused.

As in `cases.py`, a case raises when a promise is broken.
"""

from __future__ import annotations

import contextlib
import http.client
import signal
import socket
import ssl
import subprocess
import tempfile
from pathlib import Path

from cases import contains, same
from harness import PATIENCE, Setup
from http_client import Client, initialize, numbers, server, until
from http_server import certificate, make_token, serve


async def tokens(setup: Setup) -> None:
    """A request without a token is refused; SIGHUP makes the server read the file of tokens again."""
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


async def strangers(setup: Setup) -> None:
    """What belongs to one principal does not exist for another: the answers are the same as for unknown ids."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / 'tokens.toml'
        ada, bob = make_token(setup.brumate, 'ada', file), make_token(setup.brumate, 'bob', file)
        with server(setup, tokens=file, token=ada) as running:
            first, second = Client(running), Client(running, token=bob)
            mine, other = first.session(), second.session()
            # Sessions of the protocol, and their streams that can be resumed.
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


async def mounts(setup: Setup) -> None:
    """Each principal has a directory of its own; one that all could write to is refused."""
    with tempfile.TemporaryDirectory() as directory:
        file, root = Path(directory) / 'tokens.toml', Path(directory) / 'work'
        root.mkdir()
        ada, bob = make_token(setup.brumate, 'ada', file), make_token(setup.brumate, 'bob', file)
        flags = ('--mount', f'{root}/{{principal}}:/work', '--mount', f'{root}:/all:ro')
        with server(setup, *flags, tokens=file, token=ada) as running:
            first, second = Client(running), Client(running, token=bob)
            first.cell("open('/work/own', 'w').write('of ada')")
            same(second.cell("import os; os.listdir('/work')")['result'], '[]')
            same(first.cell("open('/work/own').read()")['result'], "'of ada'")
            same(sorted(path.name for path in root.iterdir()), ['ada', 'bob'])
            same((root / 'ada' / 'own').read_text(), 'of ada')
            # A directory that cannot be used is named by its path in the sandbox.
            (root / 'ada' / 'own').unlink()
            (root / 'ada').rmdir()
            (root / 'ada').write_text('')
            failed = first.tool('execute_code', code='1').body
            contains(failed, '/work cannot be mounted')
            assert directory not in failed, failed
        command = [str(setup.brumate), 'streamable-http', '--port', '0', '--auth-tokens', str(file)]
        refused = subprocess.run(
            [*command, '--mount', f'{root}:/work'], capture_output=True, text=True, timeout=PATIENCE
        )
        same(refused.returncode, 2)
        contains(refused.stderr, f'write `{root}/{{principal}}:/work` for one of each client')


async def guarded(setup: Setup) -> None:
    """Foreign origins and hosts are refused; without tokens the server listens on loopback only."""
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
        # There are no principals, so sessions cannot be listed, but calls are answered.
        client = Client(running, Host='localhost')
        client.address = client.address.replace('0.0.0.0', '127.0.0.1')
        contains(client.tool('run_python_code', python_code='40 + 2').body, '42')


async def health(setup: Setup) -> None:
    """Health and metrics need no token; they name no session and no principal."""
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


async def abuse(setup: Setup) -> None:
    """Slow, broken, oversized and very many requests are refused or ignored, and other clients are served as before."""
    with server(setup) as running:
        client = Client(running)
        host, _, port = client.address.partition(':')
        idle = [socket.create_connection((host, int(port))) for _ in range(200)]
        for number, slow in enumerate(idle):
            # Each sends nothing, a part of a head, or a part of a body.
            head = f'POST {client.path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {running.token}\r\n'
            slow.sendall(
                [b'', head.encode()[: 20 + number], f'{head}Content-Length: 1000\r\n\r\n{{'.encode()][number % 3]
            )
        contains(client.tool('run_python_code', python_code='40 + 2').body, '42')
        for body in [b'{', b'[]', b'\xff\xfe', b'[' * 100_000, b'"x"', b'']:
            answer = client.send('POST', body)
            assert 400 <= answer.status < 500, (body[:20], answer.status, answer.body)
        # The server may close the connection before it has read all of it.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            same(client.send('POST', b' ' * (17 << 20)).status, 413)
        flood = {f'X-{number}': 'x' * 200 for number in range(1000)}
        with contextlib.suppress(BrokenPipeError, ConnectionResetError, http.client.RemoteDisconnected):
            same(client.send('GET', **flood).status, 431)
        # Many clients, each with a session that it ends, and connections that send nothing.
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


async def encrypted(setup: Setup) -> None:
    """TLS; SIGHUP makes the server read its certificate again."""
    with tempfile.TemporaryDirectory() as directory:
        cert, key = certificate(Path(directory))
        with server(setup, '--tls-cert', str(cert), '--tls-key', str(key)) as running:
            contains(running.url, 'https://')
            context = ssl.create_default_context(cafile=str(cert))
            client = Client(running, tls=context)
            contains(client.tool('run_python_code', python_code='40 + 2').body, '42')
            # Plain HTTP gets no answer.
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
