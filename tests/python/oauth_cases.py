"""A server that accepts the access tokens of an authorization server (`--auth-issuer`), which is a stand-in here."""

from __future__ import annotations

import contextlib
import http.server
import json
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from cases import contains, same
from harness import Setup
from http_client import Client, server, until
from http_server import make_token

AUDIENCE = 'http://localhost/mcp'


class Issuer:
    """An authorization server that gives tokens to whoever asks in this program, and says whether one is active."""

    def __init__(self) -> None:
        self.key = rsa.generate_private_key(65537, 2048)
        self.active: dict[str, Any] = {}
        self.asked: list[str] = []
        self.url = ''

    def documents(self) -> dict[str, Any]:
        public = json.loads(RSAAlgorithm.to_jwk(self.key.public_key()))
        return {
            '/.well-known/openid-configuration': {
                'issuer': self.url,
                'token_endpoint': f'{self.url}/token',
                'jwks_uri': f'{self.url}/keys',
            },
            '/keys': {'keys': [{**public, 'kid': 'one', 'use': 'sig', 'alg': 'RS256'}]},
        }

    def token(self, subject: str, key: Any = None, **claims: Any) -> str:
        claims = {
            'iss': self.url,
            'sub': subject,
            'aud': AUDIENCE,
            'client_id': 'app',
            'scope': 'run',
            'exp': int(time.time()) + 600,
            **claims,
        }
        return jwt.encode(claims, key or self.key, 'RS256', headers={'kid': 'one', 'typ': 'at+jwt'})


@contextlib.contextmanager
def issuing() -> Iterator[Issuer]:
    issuer = Issuer()

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def answer(self, document: Any) -> None:
            body = json.dumps(document or {}).encode()
            self.send_response(404 if document is None else 200)
            self.send_header('Content-Type', 'application/json')
            self.send_header('Content-Length', str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            self.answer(issuer.documents().get(self.path))

        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers['Content-Length'])).decode())
            issuer.asked.append(self.headers.get('Authorization', ''))
            self.answer(issuer.active.get(form['token'][0], {'active': False}))

    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler) as serving:
        issuer.url = f'http://127.0.0.1:{serving.server_port}'
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield issuer
        serving.shutdown()


async def signed(setup: Setup) -> None:
    """Signed tokens: what is wrong with one is answered with the right challenge, and the file of tokens may stand beside."""
    with issuing() as issuer, tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / 'tokens.toml'
        own = make_token(setup.brumate, 'ada', file)
        flags = ['--auth-issuer', issuer.url, '--audience', AUDIENCE, '--required-scope', 'run']
        with server(setup, *flags, tokens=file, token=own) as running:
            path = '/.well-known/oauth-protected-resource/mcp'
            found = json.loads(Client(running, token='').send('GET', path=path, Accept='*/*').body)
            same((found['resource'], found['authorization_servers']), (AUDIENCE, [issuer.url]))
            names = f'resource_metadata="http://localhost{path}", scope="run"'
            other = rsa.generate_private_key(65537, 2048)
            now = int(time.time())
            for token, status, error in [
                ('', 401, None),
                ('nonsense', 401, 'invalid_token'),
                (issuer.token('ada', aud='http://localhost/other'), 401, 'invalid_token'),
                (issuer.token('ada', iss='https://evil.example'), 401, 'invalid_token'),
                (issuer.token('ada', exp=now - 120), 401, 'invalid_token'),
                (issuer.token('ada', nbf=now + 600), 401, 'invalid_token'),
                (issuer.token('ada', nonce='x'), 401, 'invalid_token'),
                (issuer.token('ada', key=other), 401, 'invalid_token'),
                (issuer.token('ada', scope='other'), 403, 'insufficient_scope'),
            ]:
                answer = Client(running, token=token).post('tools/list')
                challenge = answer.headers['www-authenticate']
                same((answer.status, challenge.endswith(names)), (status, True))
                same((f'error="{error}"' in challenge, 'error=' in challenge), (error is not None, error is not None))
            # A subject is the same person in another client's hands, but another principal; a name of the file is neither.
            clients = [
                Client(running, token=issuer.token('ada')),
                Client(running, token=issuer.token('ada', client_id='other')),
                Client(running, token=own),
            ]
            made = clients[0].cell('x = 1')['session_info']['session_id']
            same(Client(running, token=issuer.token('ada')).cell('x', made)['result'], '1')
            for client in clients[1:]:
                contains(client.tool('execute_code', code='x', session_id=made).body, 'not found or has expired')
            # Whoever the file blocks may do nothing from then on.
            session = clients[0].session()
            file.write_text(file.read_text() + '[subject.ada]\nblocked = true\n')
            await until(lambda: session.post('tools/list').status == 401)
            assert clients[2].post('tools/list').status != 401


async def introspected(setup: Setup) -> None:
    """Tokens that only the authorization server can read."""
    with issuing() as issuer, tempfile.TemporaryDirectory() as directory:
        secret = Path(directory) / 'secret'
        secret.write_text('s3cret\n')
        issuer.active['good'] = {'active': True, 'sub': 'ada', 'aud': AUDIENCE, 'iss': issuer.url}
        issuer.active['foreign'] = {'active': True, 'sub': 'ada', 'aud': 'http://localhost/other'}
        flags = ['--auth-issuer', issuer.url, '--audience', AUDIENCE, '--introspect', f'{issuer.url}/introspect']
        flags += ['--introspect-client', 'brumate', '--introspect-secret-file', str(secret)]
        with server(setup, *flags, token='') as running:
            for token, expected in [('good', '42'), ('foreign', 'not valid'), ('unknown', 'not valid')]:
                contains(Client(running, token=token).tool('run_python_code', python_code='40 + 2').body, expected)
            contains(Client(running, token='good').tool('run_python_code', python_code='1 + 1').body, '2')
            # The answer about a token was used again.
            same(issuer.asked, ['Basic YnJ1bWF0ZTpzM2NyZXQ='] * 3)
