"""A client of HTTP/2 (RFC 9113) that sends requests by hand and can leave their answers unread."""

from __future__ import annotations

import socket
import struct

PREFACE = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
# Types of frames, flags and settings.
DATA, HEADERS, SETTINGS = 0, 1, 4
END_STREAM, END_HEADERS, ACK = 1, 4, 1
INITIAL_WINDOW_SIZE = 4


def frame(kind: int, flags: int, stream: int, payload: bytes = b'') -> bytes:
    return struct.pack('>I', len(payload))[1:] + struct.pack('>BBI', kind, flags, stream) + payload


def _string(text: str) -> bytes:
    """A string as HPACK has it (RFC 7541, section 5.2), not compressed."""
    data, prefix = text.encode(), bytearray()
    rest = len(data) - 127
    if rest < 0:
        return bytes([len(data)]) + data
    prefix.append(127)
    while rest >= 128:
        prefix.append(rest % 128 + 128)
        rest //= 128
    prefix.append(rest)
    return bytes(prefix) + data


def open_connection(connection: socket.socket, window: int) -> None:
    """Begins a connection on which each answer may have `window` bytes until more are allowed, which this client never does."""
    settings = struct.pack('>HI', INITIAL_WINDOW_SIZE, window)
    connection.sendall(PREFACE + frame(SETTINGS, 0, 0, settings) + frame(SETTINGS, ACK, 0))


def post(
    connection: socket.socket, stream: int, path: str, authority: str, headers: dict[str, str], body: bytes
) -> None:
    """Sends a request on a stream of this connection; streams of clients have odd numbers, each a larger one."""
    lines = {':method': 'POST', ':scheme': 'https', ':path': path, ':authority': authority}
    lines |= {name.lower(): value for name, value in headers.items() if name.lower() != 'host'}
    block = b''.join(b'\0' + _string(name) + _string(value) for name, value in lines.items())
    connection.sendall(frame(HEADERS, END_HEADERS, stream, block) + frame(DATA, END_STREAM, stream, body))


def await_answer(connection: socket.socket) -> None:
    """Waits until one answer on this connection has begun, with status 200."""
    received = bytearray()
    while True:
        while len(received) >= 9 and len(received) >= 9 + int.from_bytes(received[:3], 'big'):
            # The first byte is the entry of HPACK's static table for `:status 200` (RFC 7541, appendix A).
            if received[3] == HEADERS:
                if received[9:10] != b'\x88':
                    raise AssertionError(f'refused: {bytes(received[9:200])!r}')
                return
            del received[: 9 + int.from_bytes(received[:3], 'big')]
        piece = connection.recv(1 << 16)
        if not piece:
            raise AssertionError('the server ended the connection')
        received += piece
