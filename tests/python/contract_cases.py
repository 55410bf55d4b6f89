"""The code interpreter's contract row by row: `contract.md` says which case holds which sentence.

What takes a server of its own kind, or has to do with how cells end, is in `session_cases.py`; what cells show, in
`output_cases.py`.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import anyio

from cases import contains, same
from harness import SDK_MAJOR, Setup, connect, plain
from session_cases import EXPIRED, Host, Interpreter

ANSWER = ['success', 'output', 'result', 'error', 'traceback', 'files', 'session_info']
FILE = ['uri', 'mime_type', 'name', 'size']

# Content of each kind that a session may hold, by the type that its name says, or its content where the name says none.
KINDS = {
    'table.csv': ('text/csv', b'a,b\n1,2\n'),
    'page.html': ('text/html', b'<p>\n'),
    'data.json': ('application/json', b'{}'),
    'notes.md': ('text/markdown', b'# x\n'),
    'code.py': ('text/x-python', b'x = 1\n'),
    'plain.txt': ('text/plain', 'é\n'.encode()),
    'broken.txt': ('text/plain', b'\xff\xfe\xfd'),
    'picture.png': ('image/png', None),
    'drawing.svg': ('image/svg+xml', b'<svg xmlns="http://www.w3.org/2000/svg"/>'),
    'archive.zip': ('application/zip', b'PK\x05\x06' + bytes(18)),
    'book.xlsx': ('application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', b'PK\x05\x06' + bytes(18)),
    'unknown': ('application/octet-stream', b'\x00\x01\x02'),
    'README': ('text/plain', b'hello\n'),
}
PNG = base64.b64decode(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5ErkJggg=='
)


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
    """What a server says of itself to a client of version 1, which keeps it for itself."""
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
    """16 URL-safe characters, never the same twice; told once, by the answer that made the session."""
    with Host(setup) as host:
        async with host.server('--max-live-sessions', '2') as client:
            interpreter = Interpreter(client)
            seen = [await interpreter.open() for _ in range(12)]
            same(len(set(seen)), 12)
            for session in seen:
                assert re.fullmatch('[A-Za-z0-9_-]{16}', session), session
            # 192 characters of 64: a generator that leaves most of them out is none.
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
    """Every tool says of a session that is not there what its contract says."""
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
    """A session that nobody uses ends, and everything says so; one that is used stays. Texts name the time that was set."""
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
    """A cleared session is gone with its files, and no other."""
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


async def resources(client: Any) -> list[dict[str, Any]]:
    return plain(await client.session.list_resources())['resources']


async def resource_types(setup: Setup) -> None:
    """Every file has its real type, in answers, lists and contents; images and what is no text are blobs."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            templates = plain(await client.session.list_resource_templates())['resourceTemplates']
            same([template['uriTemplate'] for template in templates], ['kernel://{session_id}/{filename}'])
            contents = {name: PNG if content is None else content for name, (_, content) in KINDS.items()}
            made = await interpreter.cell(
                f"for name, content in {contents!r}.items():\n    open(name, 'wb').write(content)"
            )
            session = made['session_info']['session_id']
            types = {name: mime for name, (mime, _) in KINDS.items()}
            same({file['name']: file['mime_type'] for file in made['files']}, types)
            same({resource['name']: resource['mimeType'] for resource in await resources(client)}, types)
            for file in made['files']:
                name, content = file['name'], contents[file['name']]
                same((file['uri'], file['size']), (f'kernel://{session}/{name}', len(content)))
                line = f'📊 File created: {name} ({types[name]}, {len(content)} bytes)'
                same(made['output'].count(line), 1)
                read = await interpreter.read(file['uri'])
                same((read['uri'], read['mimeType']), (file['uri'], types[name]))
                as_text = name in ('table.csv', 'page.html', 'data.json', 'notes.md', 'code.py', 'plain.txt', 'README')
                same('text' in read, as_text)
                same(read['text'].encode() if as_text else base64.b64decode(read['blob']), content)


async def other_names(setup: Setup) -> None:
    """Files in directories, with blanks, per cents and letters of all kinds are found under the address they are listed with."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            names = ['sub/deep/a.txt', 'a b.txt', 'ünï.txt', '100%.txt', 'q?x.txt', 'h#x.txt', "it's.txt", 'a+b&c.txt']
            code = f"import os\nos.makedirs('sub/deep')\nfor name in {names!r}:\n    open(name, 'w').write(name)"
            made = await interpreter.cell(code)
            same(sorted(file['name'] for file in made['files']), sorted(names))
            for file in made['files']:
                same((await interpreter.read(file['uri']))['text'], file['name'])


async def ways_out(setup: Setup) -> None:
    """No name leads out of a session's directory, in an address, an upload, or by a link that code made."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            session = await interpreter.open("open('a.txt', 'w').write('x')\nopen('/tmp/out.txt', 'w').write('out')")
            other = await interpreter.open("open('b.txt', 'w').write('secret')")
            for path in [
                '../config.py',
                '..%2Fconfig.py',
                '%2E%2E/config.py',
                '%2e%2e%2fconfig.py',
                '.%2E/config.py',
                '%252E%252E%252Fconfig.py',
                '%25252E%25252E/config.py',
                'sub/../../config.py',
                '../tmp/out.txt',
                '..%2Ftmp%2Fout.txt',
                '/tmp/out.txt',
                '%2Ftmp%2Fout.txt',
                '//tmp/out.txt',
                '/etc/passwd',
                '%2Fetc%2Fpasswd',
                '..%5Cconfig.py',
                '%5C%5Chost%5Cshare',
                'C:%5Cconfig.py',
                'a.txt%00.png',
                '%c0%ae%c0%ae/config.py',
                '..%c0%afconfig.py',
                '%uff0e%uff0e/config.py',
                '．．/config.py',
                '..;/config.py',
                'a.txt/',
                '',
                '.',
                '..',
                f'../{other}/b.txt',
                f'..%2F{other}%2Fb.txt',
                'b.txt',
            ]:
                await interpreter.refused(f'kernel://{session}/{path}')
            for uri in [
                'kernel://../config.py',
                'kernel://%2E%2E/config.py',
                'kernel:///config.py',
                'kernel://./a.txt',
                'kernel://*/a.txt',
                f'kernel://{session}',
                f'kernel://{session}/',
                f'kernel://{session}%2F..%2F{other}/b.txt',
                'file:///etc/passwd',
                f'kernel://user@{session}/a.txt',
                f'kernel://{session}:1/a.txt',
                f'http://{session}/a.txt',
            ]:
                await interpreter.refused(uri)
            # Links lead to what code could read itself, and nowhere else.
            targets = [
                '/etc/passwd',
                '../' * 20 + 'etc/passwd',
                str(setup.brumate),
                host.data.name + '/sessions.sqlite',
                'link_4',
            ]
            linked = await interpreter.cell(
                f"import os\nfor n, to in enumerate({targets!r}):\n    os.symlink(to, f'link_{{n}}')", session
            )
            same((linked['success'], linked['files']), (True, []))
            for number in range(len(targets)):
                await interpreter.refused(f'kernel://{session}/link_{number}')
            for name in ['../up.txt', '/tmp/up.txt', '%2e%2e/up.txt', 'a\\..\\b', 'a\0b', '']:
                refused = await client.call_raw(
                    'upload_file', {'filename': name, 'content': 'x', 'session_id': session}
                )
                assert refused.get('isError') or not refused['structuredContent']['success'], (name, refused)
            same((await interpreter.read(f'kernel://{session}/a.txt'))['text'], 'x')


async def walls(setup: Setup) -> None:
    """Code has no user's environment, files, network or processes."""
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
                ("import socket\nsocket.create_connection(('169.254.169.254', 80))", 'error'),
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
    """`!pip install` and `%pip install` answer for what is there and say what cannot be had; nothing is shared."""
    with Host(setup) as host:
        async with host.server('--only-bundled') as client:
            interpreter = Interpreter(client)
            session, other = await interpreter.open(), await interpreter.open()
            for sign in '!%':
                there = await interpreter.printed(session, f'{sign}pip install seaborn')
                contains(there, 'Requirement already satisfied: seaborn')
                answer = await interpreter.cell(f'{sign}pip install no-such-package-here', session)
                # A last shell line that fails fails its cell; a magic only says so.
                assert answer['success'] == (sign == '%'), answer
                absent = ''.join(answer['output'])
                contains(absent, 'ERROR:', 'no-such-package-here', '`only-bundled` is set')
                contains(await interpreter.printed(session, f'{sign}pip list'), 'numpy', 'pandas', 'matplotlib')
            # What one session puts where packages are is its own.
            await interpreter.cell(
                "import sysconfig\nopen(sysconfig.get_path('purelib') + '/mine.py', 'w').write('x = 1')", session
            )
            contains((await interpreter.cell('import mine', other))['error'], "No module named 'mine'")


async def magics(setup: Setup) -> None:
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


async def list_changed(setup: Setup) -> None:
    """Whoever has used a session hears that its files changed, and only then."""
    heard: list[str] = []
    changed = anyio.Event()

    async def message(found: Any) -> None:
        method = getattr(getattr(found, 'root', found), 'method', None)
        if method == 'notifications/resources/list_changed':
            heard.append(method)
            changed.set()

    with Host(setup) as host:
        async with connect(
            Setup(setup.brumate, setup.cache_dir, 'legacy'),
            '--tools',
            'interpreter',
            '--data-dir',
            host.data.name,
            messages=message,
        ) as client:
            interpreter = Interpreter(client)
            session = await interpreter.open('x = 1')
            await interpreter.cell("open('a.txt', 'w').write('x')", session)
            with anyio.fail_after(60):
                await changed.wait()
            same([resource['name'] for resource in await resources(client)], ['a.txt'])
            count = len(heard)
            for _ in range(3):
                await interpreter.cell('1 + 1', session)
            # An answer comes after the news that belongs to what was before it.
            await resources(client)
            same(len(heard), count)
