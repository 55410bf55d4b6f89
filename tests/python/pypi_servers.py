"""MCP servers of PyPI, unmodified, as `brumate run` runs them.

    python pypi_servers.py [--only NAME] [--jobs NUMBER] -- brumate run [OPTIONS]

The programs are in `pypi_servers`: each names one version of its project in inline metadata, and calls its main function.
A server of `WORKING` has to initialize, list its tools, answer calls, and end when its input ends. One of `FAILING` needs what the
sandbox does not have, and has to say so. Prints a line per server. Exit status 0: all did as expected.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from server_peer import START, Call, Message, Peer, call, initialize, read

PROGRAMS = Path(__file__).resolve().parent / 'pypi_servers'

# Servers that run at once.
JOBS = 2

# The table that servers read, in a mounted directory.
TABLE = 'name,points\nAnn,1\nBob,5\n'


@dataclass
class Server:
    """A server, its calls with a part of each answer, and its command line."""

    name: str
    calls: list[tuple[Call, str]]
    arguments: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)


@dataclass
class Failure:
    """A server that does not work, and a part of what is said: in the answer to a call, or in the log if there is no call."""

    name: str
    text: str
    call: Call | None = None


# The comments say which `mcp` each server requires, and which version it gets. Without a bound that is 1.x, from the bundle.
WORKING = [
    # mcp>=2.3,<3: 2.x
    Server(
        'mcp-server-time',
        [
            (call('convert_time', source_timezone='UTC', time='12:00', target_timezone='Asia/Tokyo'), '+9.0h'),
            (call('get_current_time', timezone='Europe/Nowhere'), 'Invalid timezone'),
        ],
    ),
    # mcp[cli]>=1.6: 1.x. It uses names that 2.x does not have.
    Server(
        'mcp-server-sqlite',
        [
            (call('create_table', query='create table t(a int)'), 'Table created'),
            (call('write_query', query='insert into t values (5)'), "'affected_rows': 1"),
            (call('read_query', query='select a * 2 as b from t'), "{'b': 10}"),
            (read('memo://insights'), 'No business insights'),
        ],
        arguments=['--db-path', '/tmp/t.db'],
    ),
    # mcp>=1.9.2: 1.x
    Server(
        'mcp-sqlite',
        [(call('sqlite_execute', sql='select 6 * 7'), '42'), (call('sqlite_get_catalog'), 'databases')],
        arguments=[':memory:'],
    ),
    # mcp>=1.4.1,<2: 1.x
    Server(
        'mcp-server-calculator',
        [(call('calculate', expression='2**10 + sqrt(16)'), '1028'), (call('calculate', expression='('), 'Error')],
    ),
    # mcp[cli]>=1.6: 1.x
    Server('mcp-server-math', [(call('sum', numbers=[1, 2, 4]), '7'), (call('median', numbers=[3, 1, 2]), '2')]),
    # mcp>=1.1.1: 1.x
    Server(
        'mcp-datetime',
        [(call('get_datetime', format='date'), '-'), (call('get_datetime', format='x'), 'Unknown format type')],
    ),
    # mcp>=1.1.2: 1.x
    Server(
        'mcp-timeserver',
        [(call('get-current-time'), 'current time'), (read('datetime://Asia/Tokyo/now'), 'YYYY-MM-DD')],
    ),
    # mcp>=1: 1.x
    Server(
        'mcp-dice',
        [(call('roll_dice', notation='2d6+3'), 'total'), (call('roll_dice', notation='2d1'), 'must be at least 2')],
    ),
    # mcp>=1.25,<2: 1.x
    Server(
        'mcp-text-editor',
        [
            (call('create_text_file', file_path='/tmp/a.txt', contents='one\ntwo\n'), 'ok'),
            (call('get_text_file_contents', files=[{'file_path': '/tmp/a.txt', 'ranges': [{'start': 2}]}]), 'two'),
        ],
    ),
    # mcp>=1.2: 1.x. It serves SSE unless it is told otherwise.
    Server('mcp-think', [(call('think', thought='so be it'), 'so be it')], arguments=['--transport', 'stdio']),
    # mcp>=1.0, pandas, matplotlib: 1.x
    Server(
        'mcp-pandas',
        [(call('average', column='points'), 'Average of points: 3.0'), (call('plot', kind='bar'), 'iVBOR')],
        arguments=['--data-path', '/data/table.csv'],
        options=['--mount', '{data}:/data:ro'],
    ),
    # mcp, matplotlib: 1.x
    Server(
        'chart-mcp',
        [
            (
                call(
                    'generate_bar_chart', title='T', y_label='y', categories=['a'], values=[1], output_path='/tmp/c.png'
                ),
                'c.png',
            )
        ],
    ),
    # mcp[cli]>=1.10.1, fastmcp>=2,<3, openpyxl: 1.x
    Server(
        'excel-mcp-server',
        [
            (call('create_workbook', filepath='/tmp/a.xlsx'), 'Created workbook'),
            (
                call('write_data_to_excel', filepath='/tmp/a.xlsx', sheet_name='Sheet1', data=[['n'], [7]]),
                'Data written',
            ),
            (call('read_data_from_excel', filepath='/tmp/a.xlsx', sheet_name='Sheet1'), '7'),
        ],
        arguments=['stdio'],
    ),
    # fastmcp>=2: the newest, on mcp 2.x
    Server(
        'mcp-hashlib',
        [(call('hash_sha256', data='a'), 'ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb')],
    ),
    # fastmcp: the same
    Server(
        'sequential-thinking-mcp',
        [
            (
                call(
                    'think',
                    thread_purpose='purpose',
                    thought='a thought',
                    thought_index=1,
                    tool_recommendation='none',
                    left_to_be_done='nothing',
                ),
                'Thought 1 logged',
            )
        ],
    ),
    # fastmcp>=2.8.1, python-docx: the same
    Server(
        'office-word-mcp-server',
        [
            (call('create_document', filename='/tmp/a.docx', title='T'), 'created successfully'),
            (call('add_paragraph', filename='/tmp/a.docx', text='Hello, reader'), 'added'),
            (call('get_document_text', filename='/tmp/a.docx'), 'Hello, reader'),
        ],
    ),
    # fastmcp, holidays, timezonefinder: the same
    Server(
        'mcp-simple-timeserver',
        [(call('calculate_time_distance', from_date='2026-01-01', to_date='2026-01-31'), '30 day')],
    ),
]

FAILING = [
    # It runs the program `git`.
    Failure('mcp-server-git', 'The git executable must be specified'),
    # It starts. The sandbox has no network.
    Failure('mcp-server-fetch', 'Failed to fetch', call('fetch', url='https://example.com/')),
    # It requires a pydantic whose `pydantic-core` has no wheel for the sandbox.
    Failure('mcp-server-qdrant', 'has parts that the sandbox cannot compile (its build backend is `maturin`)'),
]


def start(name: str, command: list[str], options: list[str], arguments: list[str]) -> tuple[Peer, Message | None]:
    """Starts a server. Returns it and its answer to `initialize`."""
    line = [*command, *options, str(PROGRAMS / f'{name}.py'), *(['--', *arguments] if arguments else [])]
    peer = Peer(line)
    answer = peer.ask(0, 'initialize', initialize(), START)
    if answer is not None:
        peer.send({'method': 'notifications/initialized'})
    return peer, answer


def problems_of_working(server: Server, command: list[str]) -> list[str]:
    with tempfile.TemporaryDirectory() as data:
        Path(data, 'table.csv').write_text(TABLE, encoding='utf-8')
        options = [option.replace('{data}', data) for option in server.options]
        peer, answer = start(server.name, command, options, server.arguments)
        problems = []
        if answer is None or 'result' not in answer:
            problems.append(f'initialize: {shown(answer)}')
        else:
            listed = peer.ask(1, 'tools/list', {})
            names = {tool['name'] for tool in (listed or {}).get('result', {}).get('tools', [])}
            for number, (request, part) in enumerate(server.calls, 2):
                method, parameters = request
                if method == 'tools/call' and parameters['name'] not in names:
                    problems.append(f'the tool {parameters["name"]} is not among {sorted(names)}')
                answer = peer.ask(number, method, parameters)
                if part not in text_of(answer):
                    problems.append(f'{method} {shown(parameters)}: {part!r} is not in {shown(answer)}')
        status = peer.close()
        if status:
            problems.append(f'exit status {status}')
    return [*problems, peer.end_of_log()] if problems else []


def problems_of_failing(failure: Failure, command: list[str]) -> list[str]:
    peer, answer = start(failure.name, command, [], [])
    found = ''
    if failure.call is not None and answer is not None:
        found = text_of(peer.ask(1, *failure.call))
    status = peer.close()
    log = peer.end_of_log()
    if failure.call is None:
        found = log
        if status == 0:
            return ['exit status 0', log]
    return [] if failure.text in found else [f'{failure.text!r} is not in {found!r}', log]


def text_of(answer: Message | None) -> str:
    """All that an answer says, as text."""
    result = (answer or {}).get('result', {})
    parts = [*result.get('content', []), *result.get('contents', [])]
    return '\n'.join(str(part.get('text', part.get('data', ''))) for part in parts)


def shown(value: Any) -> str:
    return json.dumps(value)[:500]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--only', default='', help='part of the name of a server')
    parser.add_argument('--every', type=int, default=1, help='try one server of so many, by chance')
    parser.add_argument('--seed', type=int, default=1, help='what chance follows from')
    parser.add_argument('--jobs', type=int, default=JOBS, help='servers that run at once')
    parser.add_argument('command', nargs='+', help='what runs a server')
    options = parser.parse_args()

    def check(server: Server | Failure) -> list[str]:
        if isinstance(server, Server):
            return problems_of_working(server, options.command)
        return problems_of_failing(server, options.command)

    chosen = [server for server in [*WORKING, *FAILING] if options.only in server.name]
    some = set(random.Random(options.seed).sample(range(len(chosen)), -(-len(chosen) // options.every)))
    chosen = [one for index, one in enumerate(chosen) if index in some]
    failed = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for server, problems in zip(chosen, pool.map(check, chosen), strict=True):
            expected = 'works' if isinstance(server, Server) else 'fails as expected'
            print(f'{server.name}: {"; ".join(problems) or expected}', flush=True)
            failed += bool(problems)
    sys.exit(failed > 0)


if __name__ == '__main__':
    main()
