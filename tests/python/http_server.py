"""A server over HTTP, started for a case, and a client's way to it.

Clients are let in by a token: sessions and what is kept for them belong to its principal.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio
from mcp.client.sse import sse_client
from mcp.client.stdio import get_default_environment

# How a transport is asked for on the command line.
MODES = {'http': 'streamable-http', 'http-stateless': 'streamable-http-stateless', 'sse': 'sse'}

# The line that says where the server listens begins with this.
SERVING = 'brumate: serving MCP at '


class Served:
    """A server that runs."""

    def __init__(self, process: subprocess.Popen[str], url: str, token: str) -> None:
        self.process, self.url, self.token = process, url, token

    @property
    def headers(self) -> dict[str, str]:
        return {'Authorization': f'Bearer {self.token}'} if self.token else {}

    @property
    def origin(self) -> str:
        return '/'.join(self.url.split('/')[:3])

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(120)


def make_token(brumate: Path, name: str, file: Path) -> str:
    """A new token, whose entry is appended to the file of tokens."""
    made = subprocess.run([str(brumate), 'token', name], capture_output=True, text=True, check=True)
    with file.open('a') as entries:
        entries.write(made.stderr)
    file.chmod(0o600)
    return made.stdout.strip()


def certificate(directory: Path) -> tuple[Path, Path]:
    """Makes a new certificate for this machine, and its key: `cert.pem` and `key.pem` in the directory."""
    cert, key = directory / 'cert.pem', directory / 'key.pem'
    make = [
        'openssl',
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        '-days',
        '2',
    ]
    names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1']
    subprocess.run([*make, *names, '-keyout', str(key), '-out', str(cert)], check=True, capture_output=True)
    return cert, key


@contextlib.contextmanager
def serve(
    brumate: Path,
    cache_dir: Path,
    transport: str,
    *flags: str,
    environment: dict[str, str] | None = None,
    errors: Any = sys.stderr,
    tokens: Path | None = None,
    token: str | None = None,
) -> Iterator[Served]:
    """Starts a server, and ends it as its operator would. Without `tokens` it has one principal, `tester`; an empty `token`: none."""
    with tempfile.TemporaryDirectory() as directory:
        if token is None:
            tokens = Path(directory) / 'tokens.toml'
            token = make_token(brumate, 'tester', tokens)
        command = [str(brumate), MODES[transport], '--port', '0', '--cache-dir', str(cache_dir), *flags]
        if tokens is not None:
            command += ['--auth-tokens', str(tokens)]
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            encoding='utf-8',
            errors='replace',
            env=get_default_environment() | (environment or {}),
        )
        said, url, reader = [], None, None
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith(SERVING):
                url = line.removeprefix(SERVING).strip()
                break
            said.append(line)
        try:
            if url is None:
                raise RuntimeError(f'the server did not start ({process.wait()}): {"".join(said)}')
            reader = threading.Thread(target=_pass_on, args=(process.stderr, errors), daemon=True)
            reader.start()
            yield Served(process, url, token)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(120)
                finally:
                    process.kill()
            process.wait()
            if reader is not None:
                reader.join(10)


def _pass_on(stream: Any, errors: Any) -> None:
    descriptor = errors if isinstance(errors, int) else errors.fileno()
    for line in stream:
        with contextlib.suppress(OSError):
            os.write(descriptor, line.encode())


@contextlib.asynccontextmanager
async def open_streams(transport: str, url: str, headers: dict[str, str]) -> AsyncIterator[Any]:
    """The two streams that a session of the SDK is made of."""
    if transport == 'sse':
        async with sse_client(url, headers=headers) as (read, write):
            yield read, write
        return
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    async with create_mcp_http_client(headers=headers) as client:
        async with streamable_http_client(url, http_client=client) as streams:
            yield streams[0], streams[1]


@contextlib.asynccontextmanager
async def served(*args: Any, **kwargs: Any) -> AsyncIterator[Served]:
    """As `serve`, without holding up other tasks meanwhile."""
    manager = serve(*args, **kwargs)
    running = await anyio.to_thread.run_sync(manager.__enter__)
    try:
        yield running
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(lambda: manager.__exit__(None, None, None))
