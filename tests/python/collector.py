"""A stand-in for an OpenTelemetry collector: takes OTLP over HTTP (protobuf) and keeps the spans.

Only the fields that cases look at are read; their numbers are those of opentelemetry-proto's trace.proto.
"""

from __future__ import annotations

import contextlib
import dataclasses
import http.server
import struct
import threading
from collections.abc import Iterator
from typing import Any


@dataclasses.dataclass
class Span:
    trace: str
    identity: str
    parent: str
    name: str
    attributes: dict[str, Any]


def fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a protobuf message: numbers and raw values."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value

    while at < len(message):
        key = varint()
        number, kind = key >> 3, key & 7
        if kind == 0:
            yield number, varint()
        elif kind == 1:
            yield number, message[at : at + 8]
            at += 8
        elif kind == 2:
            length = varint()
            yield number, message[at : at + length]
            at += length
        elif kind == 5:
            yield number, message[at : at + 4]
            at += 4
        else:
            raise ValueError(f'wire type {kind}')


def all_of(message: bytes, number: int) -> list[Any]:
    return [value for found, value in fields(message) if found == number]


def first(message: bytes, number: int, default: Any = b'') -> Any:
    return next((value for found, value in fields(message) if found == number), default)


def attribute(message: bytes) -> tuple[str, Any]:
    value: Any = None
    for number, raw in fields(first(message, 2)):
        value = raw.decode() if number == 1 else struct.unpack('<d', raw)[0] if number == 4 else raw
    return first(message, 1).decode(), value


def spans(body: bytes) -> Iterator[Span]:
    for of_resource in all_of(body, 1):
        resource = dict(map(attribute, all_of(first(of_resource, 1), 1)))
        for of_scope in all_of(of_resource, 2):
            for span in all_of(of_scope, 2):
                attributes = resource | dict(map(attribute, all_of(span, 9)))
                identities = [first(span, number).hex() for number in (1, 2, 4)]
                yield Span(*identities, first(span, 5).decode(), attributes)


class Collector:
    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.paths: list[str] = []
        # What it answers with, and when: as soon as `answers` is set.
        self.status = 200
        self.answers = threading.Event()
        self.answers.set()
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers['Content-Length']))
                collector.paths.append(self.path)
                collector.bodies.append(body)
                collector.answers.wait()
                with contextlib.suppress(OSError):
                    self.send_response(collector.status)
                    self.send_header('Content-Length', '0')
                    self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.url = f'http://127.0.0.1:{self.server.server_port}'

    @property
    def spans(self) -> list[Span]:
        return [span for body in self.bodies for span in spans(body)]

    def span(self, name: str, trace: str | None = None) -> Span:
        """The one span of that name (in that trace)."""
        (found,) = [span for span in self.spans if span.name == name and trace in (None, span.trace)]
        return found

    def holds(self, text: str) -> bool:
        return any(text.encode() in body for body in self.bodies)


@contextlib.contextmanager
def collector() -> Iterator[Collector]:
    made = Collector()
    thread = threading.Thread(target=made.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.answers.set()
        made.server.shutdown()
        thread.join()
        made.server.server_close()
