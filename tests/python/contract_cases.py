"""The rows of the code interpreter's contract about its tools and cells. `contract.md` says which case holds which sentence.

Other rows are in `contract_file_cases.py` (files as resources), `output_cases.py` (what cells show), `session_cases.py`,
`cell_cases.py`, `file_cases.py` and `figure_cases.py`.
"""

from __future__ import annotations

import json
import re
from typing import Any

import anyio

from cases import contains, same
from harness import SDK_MAJOR, Setup, plain
from interpreter import EXPIRED, NATIVE, Host, Interpreter, resources

ANSWER = ['success', 'output', 'result', 'error', 'traceback', 'files', 'session_info']
FILE = ['uri', 'mime_type', 'name', 'size']


async def identity(setup: Setup) -> None:
    """The server's name, and its tools in their order."""
    with Host(setup) as host:
        async with host.server() as client:
            info = client.session.server_info if SDK_MAJOR >= 2 else (await initialized(host))['serverInfo']
            same(info['name'] if isinstance(info, dict) else info.name, 'Python Code Interpreter')
            names = [tool['name'] for tool in await client.tools()]
            same(names[:3], ['execute_code', 'list_session_files', 'clear_session'])
            assert 'run_python_code' not in names, names


async def initialized(host: Host) -> dict[str, Any]:
    """The answer to `initialize`, which a connected client of version 1 does not hand out."""
    from mcp import ClientSession
    from mcp.client.stdio import stdio_client

    async with stdio_client(host.setup.parameters('--tools', 'interpreter')) as (read, write):
        async with ClientSession(read, write) as session:
            return plain(await session.initialize())


async def schemas(setup: Setup) -> None:
    """Arguments with their types and defaults, and the shape of each answer."""
    with Host(setup) as host:
        async with host.server() as client:
            tools = {tool['name']: tool for tool in await client.tools()}
            for name, arguments, required in [
                ('execute_code', ['code', 'session_id'], ['code']),
                ('list_session_files', ['session_id'], ['session_id']),
                ('clear_session', ['session_id'], ['session_id']),
            ]:
                schema = tools[name]['inputSchema']
                same((list(schema['properties']), schema['required']), (arguments, required))
                same({part['type'] for part in schema['properties'].values()}, {'string'})
            same(tools['execute_code']['inputSchema']['properties']['session_id']['default'], '')
            execute = tools['execute_code']['outputSchema']
            same((list(execute['properties']), execute['required']), (ANSWER, ANSWER))
            same(list(execute['properties']['files']['items']['properties']), FILE)
            listing = tools['list_session_files']['outputSchema']
            same(
                (list(listing['properties']), listing['required']),
                (['session_id', 'files', 'error'], ['session_id', 'files']),
            )
            same(list(tools['clear_session']['outputSchema']['properties']), ['success', 'message'])
            # No session, an empty one and "0" all mean a new one.
            made = [
                await client.call_raw('execute_code', {'code': '1', **more})
                for more in ({}, {'session_id': ''}, {'session_id': '0'})
            ]
            same(len({answer['structuredContent']['session_info']['session_id'] for answer in made}), 3)
            wrong = await client.call_raw('execute_code', {'source': '1'})
            same(wrong['isError'], True)


async def answers(setup: Setup) -> None:
    """The text is the JSON of the structure with an indent of 2, its fields in their order."""
    with Host(setup) as host:
        async with host.server() as client:
            made = await client.call_raw('execute_code', {'code': "open('é.txt', 'w').write('x')\nprint('<ü>')\n[1]"})
            session = made['structuredContent']['session_info']['session_id']
            failed = await client.call_raw('execute_code', {'code': '1 / 0', 'session_id': session})
            expired = await client.call_raw('execute_code', {'code': '1', 'session_id': 'x' * 16})
            listed = await client.call_raw('list_session_files', {'session_id': session})
            cleared = await client.call_raw('clear_session', {'session_id': session})
            for result in (made, failed, expired, listed, cleared):
                text = json.dumps(result['structuredContent'], indent=2, ensure_ascii=False)
                same(result['content'][0], {'type': 'text', 'text': text})
                assert not result.get('isError'), result
            for result in (made, failed, expired):
                same(list(result['structuredContent']), ANSWER)
            same(list(made['structuredContent']['files'][0]), FILE)
            same(list(made['structuredContent']['session_info']), ['session_id', 'instructions'])
            same(list(listed['structuredContent']), ['session_id', 'files'])
            same(list(cleared['structuredContent']), ['success', 'message'])


async def ids(setup: Setup) -> None:
    """Ids are 16 URL-safe characters and unique. Only the answer that made the session has its id."""
    with Host(setup) as host:
        async with host.server(*(() if NATIVE else ('--max-live-sessions', '2'))) as client:
            interpreter = Interpreter(client)
            seen = [await interpreter.open() for _ in range(12)]
            same(len(set(seen)), 12)
            for session in seen:
                assert re.fullmatch('[A-Za-z0-9_-]{16}', session), session
            # 192 characters of an alphabet of 64: a good generator uses most of it.
            assert len(set(''.join(seen))) > 40, seen
            for code in ('1', '1 / 0'):
                same((await interpreter.cell(code, seen[0]))['session_info'], None)


async def results(setup: Setup) -> None:
    """The result is the text that IPython shows; output is what was written, in order."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            session = await interpreter.open()
            for code, result in [
                ("'text'", "'text'"),
                ('1.0', '1.0'),
                ('None', None),
                ('x = 5', None),
                ('5;', None),
                ('print(1)', None),
                ("{'b': [1, 2], 'a': (3,)}", "{'b': [1, 2], 'a': (3,)}"),
                ('list(range(3))', '[0, 1, 2]'),
                ('import numpy as np\nnp.arange(3)', 'array([0, 1, 2])'),
                ('np.float64(1.5)', 'np.float64(1.5)'),
                ('class A:\n    def __repr__(self): return "an A"\nA()', 'an A'),
                ('import asyncio\nawait asyncio.sleep(0.01)\n"awaited"', "'awaited'"),
            ]:
                answer = await interpreter.cell(code, session)
                same(
                    (answer['success'], answer['result'], answer['error'], answer['traceback']),
                    (True, result, None, []),
                )
            mixed = "import sys\nprint('a')\nprint('b')\nprint('c', file=sys.stderr)\nprint('d', end='')"
            same((await interpreter.cell(mixed, session))['output'], ['a\nb\n', 'c\n', 'd'])


async def errors(setup: Setup) -> None:
    """`Name: message`, CPython's own words, and a traceback of the cell's lines; the session goes on."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            session = await interpreter.open('kept = 1')
            for code, error in [
                ('1 / 0', 'ZeroDivisionError: division by zero'),
                ('unknown', "NameError: name 'unknown' is not defined"),
                ("raise ValueError('no')", 'ValueError: no'),
                ('raise ValueError', 'ValueError'),
                ("{}['k']", "KeyError: 'k'"),
                ('assert kept == 2', 'AssertionError'),
                ('import not_a_package', "ModuleNotFoundError: No module named 'not_a_package'"),
                ('%no_such_magic', 'UsageError: Line magic function `%no_such_magic` not found.'),
            ]:
                answer = await interpreter.cell(f"print('before')\n{code}", session)
                same((answer['success'], answer['error'], answer['result']), (False, error, None))
                same(answer['output'], ['before\n'])
                contains('\n'.join(answer['traceback']), error.partition(':')[0], error.partition(': ')[2])
                assert not any('_brumate' in line for line in answer['traceback']), answer
            nested = await interpreter.cell('def inner(n):\n    return 1 / n\ninner(0)', session)
            contains('\n'.join(nested['traceback']), 'inner(0)', 'return 1 / n')
            broken = await interpreter.cell('def broken(:', session)
            contains(broken['error'], 'SyntaxError: invalid syntax')
            same(await interpreter.value(session, 'kept'), '1')


async def state(setup: Setup) -> None:
    """Variables, imports, functions and files stay; sessions know nothing of each other."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            first = await interpreter.open(
                "import math\nx = 2\ndef f(y):\n    return x * y\nopen('f.txt', 'w').write('first')"
            )
            second = await interpreter.open("x = 'second'")
            same(await interpreter.value(first, "math.floor(f(2.5)), open('f.txt').read()"), "(5, 'first')")
            same(await interpreter.value(second, "x, __import__('os').listdir()"), "('second', [])")
            await interpreter.cell('x = 10', first)
            same(await interpreter.value(first, 'f(2)'), '20')


async def missing_sessions(setup: Setup) -> None:
    """Every tool answers for an unknown session as the contract says."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            for session in ('x' * 16, 'abc123xyz456', '../../etc', 'é'):
                gone = EXPIRED.format(id=session)
                executed = await interpreter.cell('1', session)
                same((executed['success'], executed['error'], executed['traceback']), (False, gone, []))
                same((executed['output'], executed['files'], executed['session_info']), ([], [], None))
                listed = await interpreter.tool('list_session_files', session_id=session)
                same(listed, {'session_id': session, 'files': [], 'error': gone})
                cleared = await interpreter.tool('clear_session', session_id=session)
                same(cleared, {'success': False, 'message': f'Session {session} not found'})


async def expired(setup: Setup) -> None:
    """An unused session expires, and every tool says so; a used one stays. The texts name the time that was set."""
    with Host(setup) as host:
        async with host.server('--session-timeout', '3s') as client:
            interpreter = Interpreter(client)
            made = await interpreter.cell("open('a.txt', 'w').write('x')")
            contains(made['session_info']['instructions'], 'Session will expire after 3 s of inactivity.')
            session = made['session_info']['session_id']
            gone = EXPIRED.format(id=session).replace('30 minutes', '3 s')
            used = await interpreter.open('n = 0')
            # Nothing but the clock can end a session; using the other one does not hold this one.
            while not (await interpreter.tool('list_session_files', session_id=used)).get('error'):
                await anyio.sleep(3.5)
                answer = await interpreter.cell('1', session)
                if answer['success']:
                    continue
                same((answer['error'], answer['traceback']), (gone, []))
                break
            contains(await interpreter.refused(f'kernel://{session}/a.txt'), 'not found')
            same((await interpreter.tool('list_session_files', session_id=session))['error'], gone)
            cleared = await interpreter.tool('clear_session', session_id=session)
            same(cleared, {'success': False, 'message': f'Session {session} not found'})


async def clearing(setup: Setup) -> None:
    """Clearing a session removes it with its files, and changes no other session."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            session = await interpreter.open("open('a.txt', 'w').write('x')")
            other = await interpreter.open("open('a.txt', 'w').write('other')")
            same((await interpreter.read(f'kernel://{session}/a.txt'))['text'], 'x')
            cleared = await interpreter.tool('clear_session', session_id=session)
            same(cleared, {'success': True, 'message': f'Session {session} cleared and all files deleted'})
            await interpreter.refused(f'kernel://{session}/a.txt')
            same(
                (await interpreter.tool('list_session_files', session_id=session))['error'], EXPIRED.format(id=session)
            )
            uris = [resource['uri'] for resource in await resources(client)]
            same(uris, [f'kernel://{other}/a.txt'])
            same(await interpreter.value(other, "open('a.txt').read()"), "'other'")


async def walls(setup: Setup) -> None:
    """Code cannot reach the environment, the files, the network or the processes of the host."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            session = await interpreter.open()
            environment = json.loads(
                await interpreter.printed(session, 'import json, os\nprint(json.dumps(dict(os.environ)))')
            )
            same(set(environment), {'HOME', 'USER', 'LANG', 'TZ', 'PATH', 'MPLBACKEND', 'OUTPUT_DIR'})
            for value in environment.values():
                assert host.data.name not in value and str(setup.cache_dir) not in value, environment
            for code, error in [
                ("open('/etc/passwd')", 'FileNotFoundError'),
                (f'open({str(setup.brumate)!r})', 'FileNotFoundError'),
                (f'open({host.data.name + "/sessions.sqlite"!r})', 'FileNotFoundError'),
                ("open('/proc/self/environ')", 'Error'),
                ("import urllib.request\nurllib.request.urlopen('http://127.0.0.1/')", 'Error'),
                ("import socket\nsocket.create_connection(('169.254.169.254', 80))", 'PermissionError'),
                ("import subprocess\nsubprocess.run(['ls'])", 'Error'),
                ("import os\nos.kill(1, 9)", 'Error'),
                ('import os\nos.fork()', 'Error'),
            ]:
                answer = await interpreter.cell(code, session)
                same(answer['success'], False)
                contains(answer['error'], error)
            assert '/sessions' not in await interpreter.printed(
                session, "import os\nprint(os.listdir('/'), os.getcwd())"
            )


async def installing(setup: Setup) -> None:
    """`!pip install` and `%pip install` say what is installed already and what cannot be; sessions share no packages."""
    with Host(setup) as host:
        async with host.server('--only-bundled') as client:
            interpreter = Interpreter(client)
            session, other = await interpreter.open(), await interpreter.open()
            for sign in '!%':
                there = await interpreter.printed(session, f'{sign}pip install seaborn')
                contains(there, 'Requirement already satisfied: seaborn')
                answer = await interpreter.cell(f'{sign}pip install no-such-package-here', session)
                # A cell fails when its last shell line fails; the magic only prints the error.
                assert answer['success'] == (sign == '%'), answer
                absent = ''.join(answer['output'])
                contains(absent, 'ERROR:', 'no-such-package-here', '`only-bundled` is set')
                contains(await interpreter.printed(session, f'{sign}pip list'), 'numpy', 'pandas', 'matplotlib')
            # A module that one session puts beside the packages is in no other session.
            await interpreter.cell(
                "import sysconfig\nopen(sysconfig.get_path('purelib') + '/mine.py', 'w').write('x = 1')", session
            )
            contains((await interpreter.cell('import mine', other))['error'], "No module named 'mine'")


async def magics(setup: Setup) -> None:
    """Line and cell magics, `!` commands and `?` work as in IPython."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            session = await interpreter.open('number = 1')
            contains(
                await interpreter.printed(session, '%timeit -n2 -r2 number + 1'), 'per loop', '2 runs, 2 loops each'
            )
            timed = await interpreter.cell('%%time\nnumber + 1', session)
            same((timed['result'], 'Wall time:' in timed['output'][0]), ('2', True))
            contains(await interpreter.printed(session, '%who'), 'number')
            same(await interpreter.value(session, '%pwd'), "'/workspace'")
            written = await interpreter.cell('%%writefile helper.py\nfound = number_of = 7', session)
            same([file['name'] for file in written['files']], ['helper.py'])
            await interpreter.cell('%run helper.py', session)
            same(await interpreter.value(session, 'found'), '7')
            same(await interpreter.printed(session, '!cat helper.py'), 'found = number_of = 7\n')
            same(await interpreter.value(session, 'lines = !ls\nlines'), "['helper.py']")
            same(await interpreter.printed(session, '%%bash\necho one\necho two'), 'one\ntwo\n')
            captured = await interpreter.cell("%%capture caught\nprint('hidden')", session)
            same((captured['output'], await interpreter.value(session, 'caught.stdout')), ([], "'hidden\\n'"))
            contains(await interpreter.printed(session, 'print?'), 'Docstring:')
            same((await interpreter.cell('%matplotlib inline', session))['success'], True)
            await interpreter.cell('%env GREETING=hello', session)
            same(await interpreter.value(session, "import os\nos.environ['GREETING']"), "'hello'")
            contains(await interpreter.value(session, '%lsmagic') or '', '%timeit', '%%writefile')
            await interpreter.cell('%reset -f', session)
            contains((await interpreter.cell('number', session))['error'], "NameError: name 'number' is not defined")
