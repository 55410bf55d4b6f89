"""The server under the TypeScript SDK's clients, of both lines and in both protocol eras. What they do is in `tests/node/brumate.mjs`;
`BRUMATE_TEST_CLIENTS` names the `node_modules` that they and their Node are in.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from harness import PATIENCE, Setup
from http_server import serve

SCRIPT = Path(__file__).parent.parent / 'node/brumate.mjs'

# Major version and era: version 1 knows no other.
CLIENTS = [('1', 'legacy'), ('2', 'legacy'), ('2', 'modern')]


def run(transport: str, target: list[str], token: str = '') -> None:
    node = Path(os.environ['BRUMATE_TEST_CLIENTS']) / 'node/bin/node'
    for major, era in CLIENTS:
        command = [
            str(node),
            str(SCRIPT),
            '--major',
            major,
            '--era',
            era,
            '--transport',
            transport,
            '--token',
            token,
            '--target',
            *target,
        ]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        assert ended.returncode == 0, f'version {major} ({era}): {ended.stdout}{ended.stderr}'


async def over_stdio(setup: Setup) -> None:
    """Over standard input and output: each client starts a server."""
    with tempfile.TemporaryDirectory() as data:
        run(
            'stdio',
            [str(setup.brumate), 'stdio', '--tools', 'all', '--cache-dir', str(setup.cache_dir), '--data-dir', data],
        )


async def over_http(setup: Setup) -> None:
    """Over streamable HTTP: one server for all of them, one after the other."""
    with tempfile.TemporaryDirectory() as data:
        with serve(setup.brumate, setup.cache_dir, 'http', '--tools', 'all', '--data-dir', data) as server:
            run('http', [server.origin], server.token)


async def over_sse(setup: Setup) -> None:
    """Over HTTP+SSE."""
    with tempfile.TemporaryDirectory() as data:
        with serve(setup.brumate, setup.cache_dir, 'sse', '--tools', 'all', '--data-dir', data) as server:
            run('sse', [server.origin], server.token)
