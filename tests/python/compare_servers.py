"""MCP servers in Python, run by a command and by this interpreter: both must send the same messages.

    python compare_servers.py [--only NAME] [--jobs NUMBER] [--seen-as DIRECTORY] -- COMMAND...

The servers are those of `python_servers` (the blocks of the SDK's README; `v2` has them as they are for mcp 2.x) and of
`server_programs`. This interpreter's version of `mcp` says which. In the words of the command `{file}` is a server's file
as the command sees it, `{directory}` this directory. `--seen-as` is the path under which the command sees this directory.
Prints what differs, and a summary. Exit status 0: all messages were the same.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.metadata
import importlib.util
import itertools
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from server_peer import Call, Message, call, prompt, read, talk

HERE = Path(__file__).resolve().parent
SDK_MAJOR = int(importlib.metadata.version('mcp').split('.')[0])

# Servers that run at once, each twice: in the sandbox and under CPython.
JOBS = 3

# Characters of a message that are shown, and differing messages of a server.
SHOWN, DIFFERENCES = 300, 5


@dataclass
class Case:
    """A server and what it is asked, beyond the lists of what it has: pairs of a method and its parameters."""

    file: str
    calls: list[Call]
    # Whether CPython runs it as it should be; else every call must succeed.
    native: bool = True


def with_progress(files: list[str]) -> Call:
    method, parameters = call('long_task', files=files)
    return method, {**parameters, '_meta': {'progressToken': 5}}


README = [
    Case('01_quickstart.py', [call('add', a=1, b=2), call('add', a='x', b=2), read('greeting://Ann'), call('none')]),
    Case('02_lifespan.py', [call('query_db')]),
    Case('03_resources.py', [read('config://app'), read('users://7/profile')]),
    # `fetch_weather` needs a network.
    Case('04_tools.py', [call('calculate_bmi', weight_kg=70, height_m=1.75)]),
    Case('05_prompts.py', [prompt('review_code', code='x=1'), prompt('debug_error', error='E')]),
    Case('06_images.py', [call('create_thumbnail', image_path='{directory}/python_servers/picture.png')]),
    Case('07_context.py', [with_progress([]), with_progress(['a'])]),
    Case('09_direct.py', [('ping', {})]),
    Case('14_echo.py', [call('echo_tool', message='hé'), read('echo://hi'), prompt('echo_prompt', message='m')]),
    Case(
        '15_sqlite.py',
        [
            call('query_data', sql='create table t(a int)'),
            read('schema://main'),
            call('query_data', sql='select 1 union select 2'),
            call('query_data', sql='nonsense'),
        ],
    ),
]
# Cases that only one version has, or has in another way.
FIRST = [
    Case('08_auth.py', []),
    Case('16_lowlevel_lifespan.py', [call('query_db', query='all')]),
    Case('17_lowlevel.py', [prompt('example-prompt', arg1='v'), prompt('other')]),
]
SECOND = [Case('17_lowlevel.py', [call('shout', text='abc')])]
PROGRAMS = [
    Case(
        'server_programs/tools.py',
        [
            call('nap', seconds=0.01),
            call('threads'),
            call('head', path='{directory}/server_programs/tools.py'),
            call('roots'),
            call('long', count=1_000_000),
            call('fails'),
            call('threads'),
        ],
    ),
    Case('server_programs/noisy.py', [call('noisy'), call('noisy')], native=False),
    Case('server_programs/raw_lines.py', []),
    Case('server_programs/raw_pipe.py', []),
]


def cases() -> list[Case]:
    """The cases for this interpreter's SDK, with files relative to this directory."""
    directory = 'python_servers' if SDK_MAJOR == 1 else 'python_servers/v2'
    blocks = README + (FIRST if SDK_MAJOR == 1 else SECOND)
    return [Case(f'{directory}/{case.file}', case.calls, case.native) for case in blocks] + PROGRAMS


def placed(value: Any, directory: str) -> Any:
    """A JSON value with the placeholder for this directory replaced."""
    return json.loads(json.dumps(value).replace('{directory}', directory))


def native(file: Path) -> list[str]:
    """The command that runs a server with this interpreter."""
    if '__main__' in file.read_text(encoding='utf-8'):
        return [sys.executable, str(file)]
    return [sys.executable, __file__, '--serve', str(file)]


def serve(file: Path) -> None:
    """Serves a global of a file, as `mcp run` does; also a low-level server, which `mcp run` refuses."""
    sys.path.insert(0, str(file.parent))
    spec = importlib.util.spec_from_file_location('server_module', file)
    module = sys.modules['server_module'] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    values = [getattr(module, name) for name in ('mcp', 'server', 'app') if hasattr(module, name)]
    if not values:
        return
    if hasattr(values[0], 'run_stdio_async'):
        values[0].run()
    else:
        asyncio.run(serve_low_level(values[0]))


async def serve_low_level(server: Any) -> None:
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


def differences(case: Case, command: list[str], seen_as: str) -> list[str]:
    """Returns the differences between a command's server and this interpreter's, as lines for people."""
    words = [word.replace('{file}', f'{seen_as}/{case.file}').replace('{directory}', str(HERE)) for word in command]
    found, log = talk(words, placed(case.calls, seen_as))
    found = json.loads(json.dumps(found).replace(seen_as, str(HERE)))
    if case.native:
        expected, native_log = talk(native(HERE / case.file), placed(case.calls, str(HERE)))
    else:
        expected, native_log = [message for message in found if is_good(message)], ''
    pairs = [pair for pair in itertools.zip_longest(expected, found) if pair[0] != pair[1]]
    lines = []
    for theirs, ours in pairs[:DIFFERENCES]:
        lines += [f'  expected {json.dumps(theirs)[:SHOWN]}', f'  found    {json.dumps(ours)[:SHOWN]}']
    if len(pairs) > DIFFERENCES:
        lines.append(f'  and {len(pairs) - DIFFERENCES} more')
    if lines:
        lines += [f'  log of {whose}: {text}' for whose, text in [('CPython', native_log), ('it', log)]]
    return lines


def is_good(message: Message) -> bool:
    """Whether a message is an answer that tells of no failure."""
    return message == {'exit status': 0} or ('result' in message and not message['result'].get('isError'))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--only', default='', help='part of the name of a file')
    parser.add_argument('--jobs', type=int, default=JOBS, help='servers that run at once')
    parser.add_argument('--seen-as', default=str(HERE), help='this directory as the command sees it')
    parser.add_argument('--serve', type=Path, help=argparse.SUPPRESS)
    parser.add_argument('command', nargs='*', help='what runs a server, with {file}')
    options = parser.parse_args()
    if options.serve is not None:
        serve(options.serve)
        return
    chosen = [case for case in cases() if options.only in case.file]
    if not chosen:
        parser.error(f'no server is called {options.only}')
    with ThreadPoolExecutor(options.jobs) as pool:
        found = list(pool.map(lambda case: differences(case, options.command, options.seen_as), chosen))
    for case, lines in zip(chosen, found, strict=True):
        if lines:
            print('\n'.join([f'differs {case.file}', *lines]), flush=True)
    failed = sum(map(bool, found))
    print(f'mcp {SDK_MAJOR}.x: {len(chosen) - failed} servers sent the same, {failed} did not')
    sys.exit(failed > 0)


if __name__ == '__main__':
    main()
