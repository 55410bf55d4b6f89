"""HTTP by hand, for servers of MCP: requests of the standard library, and what of an answer is compared."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from typing import Any

# Seconds until an answer.
PATIENCE = 120

ACCEPT = 'application/json, text/event-stream'

Headers = dict[str, str]


@dataclass
class Answer:
    """Status, headers and body. Of an event stream the body is its `data` lines."""

    status: int
    headers: Headers
    body: Any

    @property
    def session(self) -> str:
        return self.headers.get('mcp-session-id', '')

    def compared(self) -> dict[str, Any]:
        """Returns the parts that two servers must have in common."""
        kept = {name: self.headers.get(name) for name in ('content-type', 'location')}
        # The methods stand in no order.
        allow = sorted(self.headers.get('allow', '').split(', '))
        return {'status': self.status, 'session': bool(self.session), **kept, 'allow': allow, 'body': self.body}


class Http:
    """A client of a server on this machine. Each request has its own connection."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.number = 0

    def open(self, method: str, path: str, body: bytes | None, headers: Headers) -> tuple[Any, Any]:
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=PATIENCE)
        common = {'Accept': ACCEPT, **({'Content-Type': 'application/json'} if body is not None else {})}
        connection.request(method, path, body, {**common, **headers})
        return connection, connection.getresponse()

    def send(self, method: str, path: str, body: bytes | None = None, headers: Headers | None = None) -> Answer:
        """Sends a request, and returns its answer."""
        connection, response = self.open(method, path, body, headers or {})
        with connection_closed(connection):
            return answer(response, response.read())

    def message(self, path: str, method: str, parameters: Any, headers: Headers | None = None) -> Answer:
        """Posts a request of MCP; without parameters it is a notification."""
        return self.send('POST', path, self.text_of(method, parameters), headers)

    def text_of(self, method: str, parameters: Any) -> bytes:
        if parameters is None:
            return json.dumps({'jsonrpc': '2.0', 'method': method}).encode()
        self.number += 1
        return json.dumps({'jsonrpc': '2.0', 'id': self.number, 'method': method, 'params': parameters}).encode()

    def exchange(self, path: str, requests: list[tuple[str, Any]]) -> list[Answer]:
        """Opens a stream of HTTP+SSE, posts requests where its first event says, and reads their answers from it."""
        connection, stream = self.open('GET', path, None, {})
        with connection_closed(connection):
            if stream.status != 200:
                return [answer(stream, stream.read())]
            place = next_data(stream)
            found = [Answer(stream.status, headers_of(stream), place)]
            for method, parameters in requests:
                found.append(self.message(place, method, parameters))
                if found[-1].status >= 300:
                    break
                found.append(Answer(stream.status, {}, parsed(next_data(stream))))
            return found


class connection_closed:
    """Closes a connection at the end of a block."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self.connection = connection

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        self.connection.close()


def headers_of(response: Any) -> Headers:
    return {name.lower(): value for name, value in response.getheaders()}


def answer(response: Any, body: bytes) -> Answer:
    headers, text = headers_of(response), body.decode('utf-8', 'replace')
    if headers.get('content-type', '').startswith('text/event-stream'):
        data = [line.removeprefix('data:').strip() for line in text.splitlines() if line.startswith('data:')]
        return Answer(response.status, headers, [parsed(line) for line in data if line])
    return Answer(response.status, headers, parsed(text))


def next_data(stream: Any) -> str:
    """Returns the data of the next event of a stream. A comment is none."""
    while line := stream.readline():
        if line.startswith(b'data:'):
            return line.removeprefix(b'data:').strip().decode()
    return 'the stream has ended'


def parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
