"""The SDKs' clients against one server in Python, over each transport: what works, and what does not.

    python matrix.py --sdk 1|2 [--only TEXT] [--every NUMBER] [--seed NUMBER] [--jobs NUMBER] -- COMMAND...

The server is `server.py` with that version of `mcp`. In the words of the command `{file}` is its file, `{transport}` the transport and
`{port}` a free port: `python {file} {transport} {port}`, or `brumate run --transport {transport} --port {port} {file} -- {transport} {port}`.
The command ends with the program's arguments. Clients are those of Python, `mcp` 1.x and 2.x, and of TypeScript, 1.x and 2.x; they are found as the variables
say that `cargo xtask test` sets. `interop.py`, `../../node/interop.mjs` and `more.py` are what they do.

Prints what does not work, and a summary. Exit status 0: all works.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTS = HERE.parents[1]

LEGACY, MODERN = '2025-11-25', '2026-07-28'
TRANSPORTS = ['stdio', 'streamable-http', 'streamable-http-stateless', 'sse']
AREAS = ['tools', 'resources', 'prompts', 'logging', 'progress', 'elicitation', 'cancel']
MORE = ['completion', 'sampling', 'roots']

# Seconds until a server listens, and until a client has ended.
START, END = 180, 300

# Combinations that are tried at once.
JOBS = 2


@dataclass(frozen=True)
class Client:
    name: str
    variable: str
    major: int

    @property
    def is_python(self) -> bool:
        return self.name.startswith('python')


CLIENTS = [
    Client('python-1', 'BRUMATE_TEST_PYTHON_MCP1', 1),
    Client('python-2', 'BRUMATE_TEST_PYTHON_MCP2', 2),
    Client('typescript-1', 'BRUMATE_TEST_CLIENTS', 1),
    Client('typescript-2', 'BRUMATE_TEST_CLIENTS', 2),
]


@dataclass(frozen=True)
class Combination:
    client: Client
    server: int
    transport: str
    modern: bool
    more: bool

    def __str__(self) -> str:
        script = ' more' if self.more else ''
        return f'{self.client.name} {self.transport} {"modern" if self.modern else "legacy"}{script}'

    @property
    def areas(self) -> list[str]:
        """Returns the areas to try. Without a session, a server of 2025-11-25 cannot ask its client, and knows no call that a message cancels."""
        is_stateless = self.transport == 'streamable-http-stateless' and not self.modern
        if self.more:
            # Requests of 2026-07-28 have no way to ask for samples and roots but for the results of tools.
            return ['completion'] if is_stateless or self.modern else MORE
        return [area for area in AREAS if not is_stateless or area not in ('elicitation', 'cancel')]


def combinations(server: int) -> list[Combination]:
    found = []
    for client in CLIENTS:
        for transport in TRANSPORTS:
            # SSE is older than the protocol that needs no sessions.
            modern = [False, True] if client.major == server == 2 and transport != 'sse' else [False]
            for more in [False, True] if client.is_python else [False]:
                found += [Combination(client, server, transport, era, more) for era in modern]
    return found


def words(command: list[str], combination: Combination, port: int) -> list[str]:
    places = {'{file}': str(HERE / 'server.py'), '{transport}': combination.transport, '{port}': str(port)}
    line = list(command)
    for place, value in places.items():
        line = [word.replace(place, value) for word in line]
    return line


def client_command(combination: Combination, target: list[str]) -> list[str]:
    client = combination.client
    place = os.environ.get(client.variable)
    if not place:
        sys.exit(f'{client.variable} is not set: it names where {client.name} is; `cargo xtask test` sets it')
    kind = {'stdio': 'stdio', 'sse': 'sse'}.get(combination.transport, 'http')
    common = ['--transport', kind, '--era', 'modern' if combination.modern else 'legacy', '--target', *target]
    if combination.more:
        return [place, str(HERE / 'more.py'), '--areas', *combination.areas, *common]
    if client.is_python:
        script = [place, str(TESTS / 'python/interop.py'), '--areas', *combination.areas]
    else:
        script = [f'{place}/node/bin/node', str(TESTS / 'node/interop.mjs'), '--major', str(client.major)]
        script += ['--tried', ','.join(combination.areas)]
    # What is said of a missing argument is the SDK's.
    return [*script, '--missing', '', *common]


def free_port() -> int:
    with socket.create_server(('127.0.0.1', 0)) as listener:
        return listener.getsockname()[1]


def wait_until_it_listens(process: subprocess.Popen[bytes], port: int) -> bool:
    end = time.monotonic() + START
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection(('127.0.0.1', port), 1).close()
            return True
        except OSError:
            time.sleep(0.05)
    return False


def problems(combination: Combination, command: list[str]) -> list[str]:
    """Returns what is not as expected, as lines for people."""
    port = free_port()
    line = words(command, combination, port)
    if combination.more:
        line.append('more')
    with tempfile.TemporaryFile() as log:
        if combination.transport == 'stdio':
            found = ask(client_command(combination, line), log)
        else:
            server = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)
            try:
                found = {'connecting': 'the server does not listen'}
                if wait_until_it_listens(server, port):
                    found = ask(client_command(combination, [f'http://127.0.0.1:{port}']), log)
            finally:
                server.terminate()
                server.wait()
        lines = [f'{area}: {found.get(area)}' for area in combination.areas if found.get(area) != 'ok']
        lines += [f'{area}: {found[area]}' for area in ('connecting', 'closing') if area in found]
        protocol = found.get('connected')
        if protocol != (MODERN if combination.modern else LEGACY):
            lines.append(f'connected: {protocol}')
        if lines:
            log.seek(max(0, log.seek(0, os.SEEK_END) - 1500))
            lines.append(log.read().decode('utf-8', 'replace'))
    return lines


def ask(command: list[str], log: object) -> dict[str, str]:
    """Runs a client. Returns what it has found."""
    environment = {**os.environ, 'PYTHONDONTWRITEBYTECODE': '1', 'PYTHONWARNINGS': 'ignore'}
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=log, env=environment, timeout=END)
        return json.loads(done.stdout.splitlines()[-1])
    except (subprocess.TimeoutExpired, ValueError, IndexError) as error:
        return {'connecting': f'the client ended without a report: {error}'}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--sdk', type=int, required=True, choices=[1, 2], help="the server's version of `mcp`")
    parser.add_argument('--only', default='', help='part of the name of a combination')
    parser.add_argument('--every', type=int, default=1, help='try one combination of so many, by chance')
    parser.add_argument('--seed', type=int, default=1, help='what chance follows from')
    parser.add_argument('--jobs', type=int, default=JOBS, help='combinations that are tried at once')
    parser.add_argument('command', nargs='+', help='what runs the server')
    options = parser.parse_args()
    chosen = [one for one in combinations(options.sdk) if options.only in str(one)]
    some = set(random.Random(options.seed).sample(range(len(chosen)), -(-len(chosen) // options.every)))
    chosen = [one for index, one in enumerate(chosen) if index in some]
    with ThreadPoolExecutor(options.jobs) as pool:
        failed = 0
        for combination, lines in zip(
            chosen, pool.map(lambda one: problems(one, options.command), chosen), strict=True
        ):
            failed += bool(lines)
            if lines:
                print('\n  '.join([str(combination), *lines]), flush=True)
    print(f'mcp {options.sdk}.x: {len(chosen) - failed} combinations work, {failed} do not')
    sys.exit(failed > 0)


if __name__ == '__main__':
    main()
