"""A server over HTTP, and a client that writes its requests by hand: cases need mistakes that the SDKs' clients do not make."""

from __future__ import annotations

import contextlib
import copy
import http.client
import json
import ssl
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import anyio

from cases import same
from harness import PATIENCE, Setup
from http_server import Served, serve

LEGACY, MODERN = '2025-11-25', '2026-07-28'

# The capabilities of a client that accepts tasks as answers and can ask a person.
TASKS = {'elicitation': {}, 'extensions': {'io.modelcontextprotocol/tasks': {}}}


class Answer:
    """A response: the status, the headers (names in small letters), and all messages of the body."""

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
    """A client of one principal. `headers` are sent with every request."""

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
        """As `session`; `None` while the server has no room for this principal's messages (503)."""
        begun = self.send('POST', initialize())
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


def initialize() -> dict[str, Any]:
    """The first request of a session of the protocol."""
    about = {'protocolVersion': LEGACY, 'capabilities': {}, 'clientInfo': {'name': 'cases', 'version': '1'}}
    return {'jsonrpc': '2.0', 'id': 1, 'method': 'initialize', 'params': about}


@contextlib.contextmanager
def server(setup: Setup, *flags: str, data: str | None = None, **options: Any) -> Iterator[Served]:
    """A server with all tools; its data directory is a new one unless `data` names it."""
    with tempfile.TemporaryDirectory() as directory:
        flags = ('--tools', 'all', '--data-dir', data or directory, *flags)
        with serve(setup.brumate, setup.cache_dir, 'http', *flags, **options) as running:
            yield running


def numbers(client: Client) -> dict[str, str]:
    """The server's metrics by name."""
    lines = client.send('GET', path='/metrics').body.splitlines()
    return dict(line.split(' ') for line in lines if not line.startswith('#'))


async def until(true: Callable[[], Any]) -> None:
    """Waits until the function returns something true."""
    with anyio.fail_after(PATIENCE):
        while not true():
            await anyio.sleep(0.05)
