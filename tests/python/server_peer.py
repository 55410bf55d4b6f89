"""A process that serves MCP over standard input and output, and its client: raw messages, without an SDK."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import tempfile
import threading
import time
from typing import Any

# Seconds until the first answer, which includes installing packages; until another one; and until a server has ended.
START, ANSWER, END = 180, 60, 30

# Bytes of a log that are shown, from its end.
LOG_BYTES = 2000

PROTOCOL = '2025-06-18'

Message = dict[str, Any]
Call = tuple[str, Message]


def call(tool: str, /, **arguments: Any) -> Call:
    return 'tools/call', {'name': tool, 'arguments': arguments}


def read(uri: str) -> Call:
    return 'resources/read', {'uri': uri}


def prompt(name: str, /, **arguments: str) -> Call:
    return 'prompts/get', {'name': name, 'arguments': arguments}


def initialize(**capabilities: Any) -> Message:
    """The parameters of `initialize`."""
    client = {'name': 'cases', 'version': '1'}
    return {'protocolVersion': PROTOCOL, 'capabilities': capabilities, 'clientInfo': client}


def listings(capabilities: Message) -> list[Call]:
    """The requests for all that a server with these capabilities has."""
    methods = {
        'tools': ['tools/list'],
        'prompts': ['prompts/list'],
        'resources': ['resources/list', 'resources/templates/list'],
    }
    return [(method, {}) for name in methods if name in capabilities for method in methods[name]]


def reply(method: str) -> Message:
    """The client's answer to a request of the server's."""
    if method == 'roots/list':
        return {'result': {'roots': []}}
    return {'error': {'code': -32601, 'message': f'no {method}'}}


class Peer:
    """A server process and its client. The process has a working directory of its own, and its log is in a file."""

    def __init__(self, command: list[str]) -> None:
        self.log = tempfile.TemporaryFile()
        self.directory = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, cwd=self.directory.name
        )
        # What came, in order, and of it what `wait` has not looked at; None is the end.
        self.messages: list[Any] = []
        self.arriving: queue.Queue[Message | None] = queue.Queue()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self) -> None:
        for line in self.process.stdout or ():
            try:
                message = json.loads(line)
            except ValueError:
                message = {'no JSON': line.decode('utf-8', 'replace')}
            # A command that is not `brumate run` may show the first line of the sandbox.
            if 'serve' not in message:
                self.arriving.put(message)
        self.arriving.put(None)

    def send(self, message: Message) -> None:
        # A server that has ended is seen by `wait`.
        with contextlib.suppress(OSError):
            self.process.stdin.write(json.dumps({'jsonrpc': '2.0', **message}).encode() + b'\n')
            self.process.stdin.flush()

    def ask(self, number: int, method: str, parameters: Message, seconds: float = ANSWER) -> Message | None:
        """Sends a request, and returns its answer. `None` if there is none."""
        self.send({'id': number, 'method': method, 'params': parameters})
        return self.wait(number, seconds)

    def wait(self, number: int, seconds: float) -> Message | None:
        """Returns the answer to a request, and answers what the server asks meanwhile."""
        end = time.monotonic() + seconds
        while True:
            try:
                message = self.arriving.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                self.messages.append({'no answer to': number})
                return None
            if message is None:
                self.messages.append({'ended before the answer to': number})
                self.arriving.put(None)
                return None
            self.messages.append(message)
            if 'method' in message and 'id' in message:
                self.send({'id': message['id'], **reply(message['method'])})
            elif message.get('id') == number:
                return message

    def close(self) -> int:
        """Ends the input, waits for the server's end, and returns its exit status."""
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            status = self.process.wait(END)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        # What came after the last answer.
        while (message := self.arriving.get(timeout=END)) is not None:
            self.messages.append(message)
        self.messages.append({'exit status': status})
        self.directory.cleanup()
        return status

    def end_of_log(self) -> str:
        size = self.log.seek(0, os.SEEK_END)
        self.log.seek(max(0, size - LOG_BYTES))
        return self.log.read().decode('utf-8', 'replace')


def talk(command: list[str], calls: list[Call]) -> tuple[list[Any], str]:
    """Starts a server, asks for all it has, and makes the calls. Returns its messages, and the end of its log."""
    peer = Peer(command)
    try:
        first = peer.ask(0, 'initialize', initialize(roots={}), START)
        if first is not None and 'result' in first:
            peer.send({'method': 'notifications/initialized'})
            script = listings(first['result']['capabilities']) + calls
            for number, (method, parameters) in enumerate(script, 1):
                peer.ask(number, method, parameters)
    finally:
        peer.close()
    return peer.messages, peer.end_of_log()
