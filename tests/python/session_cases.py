"""What a real client must see of sessions: transcripts of the code interpreter's contract, and each known defect of its
predecessor as a case that passes. As in `cases.py`, a case raises when a promise is broken.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import random
import struct
import tempfile
from pathlib import Path
from typing import Any

import anyio

from cases import contains, same
from harness import PATIENCE, Setup, connect, plain

EXPIRED = (
    'SessionExpiredError: Session {id} not found or has expired. Sessions expire after 30 minutes of inactivity. Please '
    'create a new session (use session_id="" or session_id="0") and re-execute your setup code.'
)

PLOT = """
import matplotlib.pyplot as plt
import numpy as np
x = np.linspace(0, 10, 100)
plt.plot(x, np.sin(x))
plt.title('Sine Wave')
plt.savefig('sine_wave.png')
plt.show()
"""


class Interpreter:
    """A connected client of the interpreter's tools."""

    def __init__(self, client: Any) -> None:
        self.client = client

    async def tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The structure of an answer; its text must be the same."""
        result = await self.client.call_raw(name, arguments)
        same(json.loads(result['content'][0]['text']), result['structuredContent'])
        assert not result.get('isError'), result
        return result['structuredContent']

    async def cell(self, code: str, session: str = '') -> dict[str, Any]:
        return await self.tool('execute_code', code=code, session_id=session)

    async def open(self, code: str = 'None') -> str:
        return (await self.cell(code))['session_info']['session_id']

    async def value(self, session: str, code: str) -> str | None:
        answer = await self.cell(code, session)
        assert answer['success'], answer
        return answer['result']

    async def printed(self, session: str, code: str) -> str:
        answer = await self.cell(code, session)
        assert answer['success'], answer
        return ''.join(answer['output'])

    async def read(self, uri: str) -> dict[str, Any]:
        with anyio.fail_after(PATIENCE):
            result = plain(await self.client.session.read_resource(uri))
        (contents,) = result['contents']
        return contents

    async def refused(self, uri: str) -> str:
        try:
            contents = await self.read(uri)
        except Exception as error:
            return str(error)
        raise AssertionError(f'{uri} was read: {contents}')


class Host:
    """Starts servers on one data directory."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.data = tempfile.TemporaryDirectory(prefix='brumate-sessions-')

    def __enter__(self) -> Host:
        return self

    def __exit__(self, *_: Any) -> None:
        self.data.cleanup()

    def server(self, *flags: str, tools: str = 'interpreter', **options: Any) -> Any:
        return connect(self.setup, '--tools', tools, '--data-dir', self.data.name, *flags, **options)


async def transcript(setup: Setup) -> None:
    """The example of the documentation."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            first = await interpreter.cell("import pandas as pd\nx = 42\nprint('Hello, World!')")
            info = first.pop('session_info')
            same(
                first,
                {
                    'success': True,
                    'output': ['Hello, World!\n'],
                    'result': None,
                    'error': None,
                    'traceback': [],
                    'files': [],
                },
            )
            same(
                info['instructions'],
                'Use this `session_id` in subsequent requests to maintain state. Session will expire after 30 minutes of '
                'inactivity.',
            )
            session = info['session_id']
            same(len(session), 16)
            second = await interpreter.cell('print(x * 2)  # stays from the call before', session)
            same((second['output'], second['session_info']), (['84\n'], None))
            same(await interpreter.value(session, "pd.__name__, x"), "('pandas', 42)")
            zero = await interpreter.cell('1', '0')
            assert zero['session_info']['session_id'] != session
            cleared = await interpreter.tool('clear_session', session_id=session)
            same(cleared, {'success': True, 'message': f'Session {session} cleared and all files deleted'})
            again = await interpreter.tool('clear_session', session_id=session)
            same(again, {'success': False, 'message': f'Session {session} not found'})
            gone = await interpreter.cell('x', session)
            same((gone['success'], gone['error'], gone['traceback']), (False, EXPIRED.format(id=session), []))


async def failing_first_cell(setup: Setup) -> None:
    """A first call that raises keeps its session."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            failed = await interpreter.cell('x = 1\n1 / 0')
            same((failed['success'], failed['error']), (False, 'ZeroDivisionError: division by zero'))
            contains('\n'.join(failed['traceback']), 'Traceback', '1 / 0', 'ZeroDivisionError: division by zero')
            same(await interpreter.value(failed['session_info']['session_id'], 'x'), '1')


async def long_cell(setup: Setup) -> None:
    """A cell of 12 seconds gives its own answer, and the next call gives the next one."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            session = await interpreter.open()
            long = await interpreter.cell("import time\nprint('begin')\ntime.sleep(12)\nprint('end')\n'slept'", session)
            same((long['output'], long['result']), (['begin\nend\n'], "'slept'"))
            for number in range(5):
                same(await interpreter.value(session, f'{number} + 1'), str(number + 1))


async def over_the_limit(setup: Setup) -> None:
    """Code over the time limit keeps its output, its effects and its session; what does not stop is rolled back."""
    with Host(setup) as host:
        async with host.server('--timeout', '2s', '--grace', '500ms') as client:
            interpreter = Interpreter(client)
            session = await interpreter.open('x = 1')
            slow = await interpreter.cell("x = 2\nprint('partial', flush=True)\nwhile True:\n    pass", session)
            same((slow['success'], slow['output']), (False, ['partial\n']))
            contains(slow['error'], 'KeyboardInterrupt', 'time limit of 2 s (set by --timeout', 'keeps what was done')
            same(await interpreter.value(session, 'x'), '2')
            stubborn = 'x = 3\nwhile True:\n    try:\n        while True: pass\n    except BaseException: pass'
            killed = await interpreter.cell(stubborn, session)
            contains(killed['error'], 'SessionRolledBackError', 'did not react', 'as it was before this cell')
            same(await interpreter.value(session, 'x'), '2')
            dead = await interpreter.cell('import os\nos._exit(3)', session)
            contains(dead['error'], 'SessionRolledBackError', 'status 3')
            same(await interpreter.value(session, 'x'), '2')


async def out_of_memory(setup: Setup) -> None:
    with Host(setup) as host:
        async with host.server('--memory', '512MiB') as client:
            interpreter = Interpreter(client)
            session = await interpreter.open('x = 1')
            greedy = await interpreter.cell('y = bytearray(1 << 30)', session)
            contains(greedy['error'], 'MemoryError', 'at its peak', '512 MiB of memory (set by --memory')
            same(await interpreter.value(session, 'x'), '1')


async def stopping(setup: Setup) -> None:
    """The tool `interrupt` stops a cell that another call waits for."""
    with Host(setup) as host:
        async with host.server('--timeout', '1h', '--cpu-timeout', '1h') as client:
            interpreter = Interpreter(client)
            session = await interpreter.open('x = 1')
            stopped: list[dict[str, Any]] = []

            async def endless() -> None:
                stopped.append(await interpreter.cell('x = 2\nwhile True:\n    pass', session))

            async with anyio.create_task_group() as group:
                group.start_soon(endless)
                while not (await interpreter.tool('interrupt', session_id=session))['success']:
                    await anyio.sleep(0.05)
            contains(stopped[0]['error'], 'KeyboardInterrupt')
            assert await interpreter.value(session, 'x') in ('1', '2')


async def restart(setup: Setup) -> None:
    """Sessions outlive the server."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            session = await interpreter.open('import numpy as np\na = np.arange(5)\ndef f(x):\n    return x + 1')
            other = await interpreter.open('a = "other"')
        async with host.server() as client:
            interpreter = Interpreter(client)
            same(await interpreter.value(session, 'int(a.sum()), f(1)'), '(10, 2)')
            same(await interpreter.value(other, 'a'), "'other'")


async def durable(setup: Setup) -> None:
    """With durable cells not even a server that is killed loses what it has answered."""
    with Host(setup) as host:
        async with host.server('--durability', 'cell') as client:
            interpreter = Interpreter(client)
            session = await interpreter.open('x = 1')
            await interpreter.cell('x = 2', session)
            (server,) = client.processes
            kill(server)
        async with host.server() as client:
            same(await Interpreter(client).value(session, 'x'), '2')


async def killed(setup: Setup) -> None:
    """A server that is killed loses no session: each leaves what was last answered."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            sessions = [await interpreter.open(f'kept = {number}') for number in range(3)]
            await interpreter.cell("kept = 'changed'\nopen('a.txt', 'w').write('hello')", sessions[0])
            (server,) = client.processes
            kill(server)
        async with host.server() as client:
            interpreter = Interpreter(client)
            same(await interpreter.value(sessions[0], "kept, open('a.txt').read()"), "('changed', 'hello')")
            same([await interpreter.value(session, 'kept') for session in sessions[1:]], ['1', '2'])


def kill(process: int) -> None:
    import os
    import signal

    os.kill(process, signal.SIGKILL)


async def sleeping(setup: Setup) -> None:
    """More sessions than may be awake, used in turn, never mix."""
    with Host(setup) as host:
        async with host.server('--max-live-sessions', '2', '--hibernate-after', '1s') as client:
            interpreter = Interpreter(client)
            sessions = [await interpreter.open(f'x = {number}') for number in range(6)]
            for turn in range(3):
                for number, session in enumerate(sessions):
                    same(await interpreter.value(session, f'x = x + 1\nx - {turn} - 1'), str(number))


async def forks(setup: Setup) -> None:
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            session = await interpreter.open('kept = [1]')
            copy = (await interpreter.tool('fork_session', session_id=session))['session_id']
            await interpreter.cell('kept.append(2)', copy)
            same(await interpreter.value(session, 'kept'), '[1]')
            same(await interpreter.value(copy, 'kept'), '[1, 2]')
            await interpreter.tool('reset_session', session_id=copy)
            contains((await interpreter.cell('kept', copy))['error'], "NameError: name 'kept' is not defined")


async def fresh_names(setup: Setup) -> None:
    """A session begins without names that nobody gave it."""
    with Host(setup) as host:
        async with host.server() as client:
            for name in ['x', 'math', 'np']:
                contains((await Interpreter(client).cell(name))['error'], f"NameError: name '{name}' is not defined")


async def tools_together(setup: Setup) -> None:
    """All tools at once: a run in an interpreter of its own, and one in a session."""
    with Host(setup) as host:
        async with host.server(tools='all') as client:
            interpreter = Interpreter(client)
            names = [tool['name'] for tool in await client.tools()]
            same(names[:4], ['run_python_code', 'execute_code', 'list_session_files', 'clear_session'])
            session = await interpreter.open('x = 42')
            inside = await client.call_raw('run_python_code', {'python_code': 'x', 'session_id': session})
            contains(inside['content'][0]['text'], '<status>success</status>', '42')
            contains(await client.text('x'), 'NameError')


async def two_servers(setup: Setup) -> None:
    """Two servers on one directory: a session goes where it is used, and what is removed is gone for both."""
    with Host(setup) as host:
        async with host.server() as first, host.server(tools='all') as second:
            one, two = Interpreter(first), Interpreter(second)
            session = await one.open("x = 1\nopen('a.txt', 'w').write('hello')")
            same(await two.value(session, "x + 1, open('a.txt').read()"), "(2, 'hello')")
            same(await two.value(session, 'x = 5\nx'), '5')
            same((await one.read(f'kernel://{session}/a.txt'))['text'], 'hello')
            same(await one.value(session, 'x'), '5')
            command = [str(setup.brumate), 'sessions', '--data-dir', host.data.name]
            listed = await anyio.run_process([*command, 'list', '--json'])
            same([found['id'] for found in json.loads(listed.stdout)], [session])
            removed = await anyio.run_process([*command, 'remove', session])
            contains(removed.stdout.decode() + removed.stderr.decode(), '1 session removed')
            for interpreter in (one, two):
                contains((await interpreter.cell('x', session))['error'], 'SessionExpiredError')


async def traversal(setup: Setup) -> None:
    """No address leads out of a session's directory, however it is written."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            session = await interpreter.open()
            for path in [
                '..%2Fconfig.py',
                '%2E%2E%2Fconfig.py',
                '%252E%252E%252Fconfig.py',
                '%2Fetc%2Fpasswd',
                '..%5Cconfig.py',
                'a%00.png',
            ]:
                await interpreter.refused(f'kernel://{session}/{path}')
            for uri in [
                'kernel://../config.py',
                'kernel://%2E%2E/config.py',
                'kernel:///config.py',
                'file:///etc/passwd',
            ]:
                await interpreter.refused(uri)


async def files(setup: Setup) -> None:
    """Files are reported once, by the call that made or changed them, and are resources with their real types."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            made = await interpreter.cell("import os\nopen('a.csv', 'w').write('1,2\\n')\nos.getcwd()")
            session = made['session_info']['session_id']
            listed = [{'uri': f'kernel://{session}/a.csv', 'mime_type': 'text/csv', 'name': 'a.csv', 'size': 4}]
            same((made['result'], made['files']), ("'/workspace'", listed))
            same(made['output'], ['📊 File created: a.csv (text/csv, 4 bytes)'])
            quiet = await interpreter.cell('1 + 1', session)
            same((quiet['files'], quiet['output']), ([], []))
            same((await interpreter.tool('list_session_files', session_id=session))['files'], listed)
            contents = await interpreter.read(listed[0]['uri'])
            same((contents['mimeType'], contents['text']), ('text/csv', '1,2\n'))
            changed = await interpreter.cell("open('a.csv', 'w').write('3,4\\n')", session)
            same([file['name'] for file in changed['files']], ['a.csv'])
            away = await interpreter.cell(
                "%cd /tmp\nopen('lost.csv', 'w').write('1')\nopen('.hidden', 'w').close()", session
            )
            same(away['files'], [])
            said = 'Not in the list of files, because outside of /workspace: /tmp/lost.csv. Write files there, or move'
            same([line.startswith(said) for line in away['output'][1:]], [True])
            back = await interpreter.cell(
                "import shutil\nshutil.move('/tmp/lost.csv', '/workspace')\n%cd -q /workspace", session
            )
            same([file['name'] for file in back['files']], ['lost.csv'])
            await interpreter.cell("import os\nos.remove('lost.csv')", session)
            environment = "import os\nopen(os.environ['OUTPUT_DIR'] + '/b.json', 'w').write('{}')"
            same(
                [file['mime_type'] for file in (await interpreter.cell(environment, session))['files']],
                ['application/json'],
            )
            names = ['C:\\temp\\out.csv', 'a%2Fb.csv', 'off%25.csv']
            odd = await interpreter.cell(f'for name in {names}: _ = open(name, "w").write(name)', session)
            same([file['name'] for file in odd['files']], names)
            same([(await interpreter.read(file['uri']))['text'] for file in odd['files']], names)


async def uploads(setup: Setup) -> None:
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            first = await interpreter.tool('upload_file', filename='in.csv', content='a,b\n1,2\n', last=False)
            session = first['session_info']['session_id']
            more = base64.b64encode(b'3,4\n').decode()
            await interpreter.tool(
                'upload_file', filename='in.csv', content=more, encoding='base64', offset=8, session_id=session
            )
            same(await interpreter.value(session, "import pandas as pd\nint(pd.read_csv('in.csv').b.sum())"), '6')
        async with host.server() as client:
            same(await Interpreter(client).value(session, "open('in.csv').read()"), "'a,b\\n1,2\\n3,4\\n'")


async def figures(setup: Setup) -> None:
    """A figure that is saved and shown is its file, and one image for the model; other formats come when they are asked for."""
    with Host(setup) as host:
        async with host.server() as client:
            result = await client.call_raw('execute_code', {'code': PLOT})
            answer = result['structuredContent']
            assert answer['success'], answer
            same([file['name'] for file in answer['files']], ['sine_wave.png'])
            for file in answer['files']:
                line = f'📊 File created: {file["name"]} (image/png, {file["size"]} bytes)'
                assert line in answer['output'], answer
                contents = await Interpreter(client).read(file['uri'])
                png = base64.b64decode(contents['blob'])
                same((contents['mimeType'], len(png), png[:4]), ('image/png', file['size'], b'\x89PNG'))
            same([block['type'] for block in result['content']], ['text', 'image', 'resource_link'])
            picture = base64.b64decode(result['content'][1]['data'])
            width, height = struct.unpack('>II', picture[16:24])
            assert 0 < max(width, height) <= 1568, (width, height)
            session = answer['session_info']['session_id']
            left_open = await Interpreter(client).cell('plt.plot([1, 2])\nNone', session)
            same([file['name'] for file in left_open['files']], ['figure_1.png'])
            config = "%config InlineBackend.figure_formats = ['svg', 'pdf']\n"
            both = await Interpreter(client).cell(config + 'plt.plot([1, 2])\nNone', session)
            same([file['name'] for file in both['files']], ['figure_2.pdf', 'figure_2.png', 'figure_2.svg'])
            svg = await Interpreter(client).read(both['files'][2]['uri'])
            contains(base64.b64decode(svg['blob']).decode(), '<svg ')


def accept(value: str) -> dict[str, Any]:
    return {'action': 'accept', 'content': {'value': value}}


async def questions(setup: Setup) -> None:
    """`input()` and `getpass()` ask the person before the client, in sessions and without; no password is in a log."""
    answers: list[dict[str, Any]] = []
    with Host(setup) as host, tempfile.TemporaryFile() as errors:
        options = {'answer': lambda _: answers.pop(0), 'errors': errors, 'environment': {'BRUMATE_LOG': 'trace'}}
        async with host.server('--timeout', '5m', tools='all', **options) as client:
            interpreter = Interpreter(client)
            answers[:] = [accept('Zoë'), accept('hunter-two')]
            code = "import getpass\nname = input('name? ')\nsecret = getpass.getpass('Password: ')\n(name, len(secret))"
            asked = await interpreter.cell(code)
            same((asked['error'], asked['result'], asked['output']), (None, "('Zoë', 10)", []))
            same(
                [form['message'] for form in client.forms],
                ['Python code asks for input: name?', 'Python code asks for a password: Password:'],
            )
            contains(json.dumps(client.forms[1]['requestedSchema']), 'password')
            session = asked['session_info']['session_id']
            answers[:] = [{'action': 'decline'}]
            same((await interpreter.cell("input('more? ')", session))['error'], 'EOFError: EOF when reading a line')
            answers[:] = [{'action': 'cancel'}]
            dismissed = await interpreter.cell("x = 1\ninput()\nx = 2", session)
            contains(dismissed['error'], 'KeyboardInterrupt')
            contains(''.join(dismissed['output']), '[the question was dismissed]')
            same(await interpreter.value(session, 'x, name'), "(1, 'Zoë')")
            answers[:] = [accept('inside'), accept('alone')]
            for more in ({'session_id': session}, {}):
                result = await client.call_raw('run_python_code', {'python_code': "input('? ') + '!'", **more})
                contains(
                    result['content'][0]['text'], '<status>success</status>', 'alone!' if answers == [] else 'inside!'
                )
        errors.seek(0)
        log = errors.read()
        leaks = [line[:200] for line in log.splitlines() if b'hunter-two' in line]
        same(leaks, [])


async def thinking(setup: Setup) -> None:
    """A person may think for longer than code may run, but not for ever."""

    async def slowly(_form: Any) -> dict[str, Any]:
        await anyio.sleep(4)
        return accept('at last')

    with Host(setup) as host:
        async with host.server('--timeout', '3s', answer=slowly) as client:
            interpreter = Interpreter(client)
            session = await interpreter.open()
            same(await interpreter.value(session, 'input()'), "'at last'")
        async with host.server('--input-timeout', '1s', answer=slowly) as client:
            interpreter = Interpreter(client)
            late = await client.call_raw('execute_code', {'code': 'y = 1\ninput()', 'session_id': session})
            if client.modern:
                # The call that the client repeated came too late.
                contains(late['content'][0]['text'], 'no longer waits for this input')
            else:
                contains(
                    ''.join(late['structuredContent']['output']), 'nobody answered within 1 s (set by --input-timeout'
                )
            same(await interpreter.value(session, 'y'), '1')


async def nobody_to_ask(setup: Setup) -> None:
    with Host(setup) as host:
        async with host.server(tools='all') as client:
            failed = await Interpreter(client).cell("input('?')")
            contains(failed['error'], 'StdinNotImplementedError', 'does not support input requests')
            contains(await client.text('input()'), 'EOFError')


async def inputs(setup: Setup) -> None:
    """Files of an input directory are copied by name, without passing through the protocol, and nothing else is."""
    with Host(setup) as host, tempfile.TemporaryDirectory() as place:
        root = Path(place)
        (root / 'in' / 'sub').mkdir(parents=True)
        (root / 'secret').write_text('secret')
        (root / 'in' / 'a.csv').write_text('a,b\n1,2\n')
        (root / 'in' / 'sub' / 'empty').write_bytes(b'')
        large = random.Random(1).randbytes(5_000_000)
        (root / 'in' / 'sub' / 'large.bin').write_bytes(large)
        with (root / 'in' / 'huge').open('wb') as huge:
            huge.truncate(1 << 40)
        (root / 'in' / 'out').symlink_to('../secret')
        (root / 'in' / 'absolute').symlink_to(root / 'secret')
        (root / 'in' / 'up').symlink_to('..')
        os.mkfifo(root / 'in' / 'pipe')
        flags = ('--input-dir', f'{root}/in', '--input-dir', f'named={root}/in/sub', '--files', '16MiB')
        async with host.server(*flags) as client:
            interpreter = Interpreter(client)
            (upload,) = [tool for tool in await client.tools() if tool['name'] == 'upload_file']
            contains(upload['inputSchema']['properties']['from']['description'], 'named/...')
            first = await interpreter.tool('upload_file', **{'from': 'a.csv'})
            same((first['success'], first['file']['name'], first['file']['size']), (True, 'a.csv', 8))
            session = first['session_info']['session_id']
            same(await interpreter.value(session, "open('a.csv').read()"), "'a,b\\n1,2\\n'")
            for name in ('sub/large.bin', 'named/large.bin'):
                await interpreter.tool('upload_file', filename='data/x.bin', session_id=session, **{'from': name})
                digest = "import hashlib\nhashlib.sha256(open('data/x.bin', 'rb').read()).hexdigest()"
                same(await interpreter.value(session, digest), repr(hashlib.sha256(large).hexdigest()))
            await interpreter.tool('upload_file', session_id=session, **{'from': 'sub/empty'})
            same(await interpreter.value(session, "open('empty').read()"), "''")
            for name in (
                '..', '.', '/', '../secret', 'sub/../../secret', '/etc/passwd', '//etc/passwd', 'out', 'absolute', 'up/secret', 'up',
                'pipe', 'sub', 'none', 'named/../a.csv', 'a.csv/', '..\\secret', '%2e%2e/secret', '/proc/self/environ', 'a\0',
            ):  # fmt: skip
                refused = await interpreter.tool('upload_file', filename='got', session_id=session, **{'from': name})
                same((refused['success'], refused['file']), (False, None))
                assert place not in refused['message'], refused
            huge = await interpreter.tool('upload_file', session_id=session, **{'from': 'huge'})
            contains(huge['message'], 'no space is left in the session (set by --files')
            same(
                await interpreter.value(session, "import os\nsorted(name for name in os.listdir() if name[0] != '.')"),
                "['a.csv', 'data', 'empty']",
            )
            both = await client.call_raw('upload_file', {'from': 'a.csv', 'content': 'x'})
            contains(both['content'][0]['text'], '`content` and `from` exclude each other')
        async with host.server() as client:
            without = await Interpreter(client).tool('upload_file', filename='x', **{'from': 'a.csv'})
            contains(without['message'], 'no input directory (set by --input-dir)')


async def figures_once(setup: Setup) -> None:
    """Each figure is captured once per cell and change, whatever shows it."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            begin = 'import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([1, 2])\n'
            session = await interpreter.open()

            async def pictures(code: str) -> int:
                answer = await interpreter.cell(code, session)
                assert answer['success'], answer
                return sum(
                    file['name'].startswith('figure_') and file['name'].endswith('.png') for file in answer['files']
                )

            for code, count in [
                (begin + 'plt.show()\nfig', 1),
                (begin + 'display(fig)\ndisplay(fig)', 1),
                (begin + "plt.savefig('a.png')\nplt.show()", 0),
                (begin + 'plt.close()', 0),
                ('plt.subplots(2, 2)', 1),
                (begin + 'None', 1),
                ("fig.savefig('a.png')\nax.get_title()", 0),
                ("ax.set_title('changed')\nNone", 1),
                ('None', 0),
                (
                    "import seaborn as sns, pandas as pd\nsns.relplot(pd.DataFrame({'a': [1, 2], 'b': [2, 1]}), x='a', y='b')",
                    1,
                ),
                ('import plotly.graph_objects as go\nbars = go.Figure(go.Bar(y=[1, 2]))\nbars.show()\nbars', 1),
                ('bars', 1),
                ('None', 0),
            ]:
                same((code, await pictures(code)), (code, count))
            (page,) = [
                file for file in (await interpreter.cell('bars', session))['files'] if file['name'].endswith('.html')
            ]
            assert page['size'] < 2_500_000, page
            contains((await interpreter.read(page['uri']))['text'], 'DecompressionStream')


def png_size(png: bytes) -> tuple[int, int]:
    return struct.unpack('>II', png[16:24])


async def large_figure(setup: Setup) -> None:
    """The model sees a figure as large as it can use; the file is as large as it was drawn."""
    with Host(setup) as host:
        async with host.server() as client:
            code = (
                "import matplotlib.pyplot as plt\nplt.figure(figsize=(40, 10), dpi=100)\nplt.plot([1, 2])\nplt.show()"
            )
            result = await client.call_raw('execute_code', {'code': code})
            answer = result['structuredContent']
            same([file['name'] for file in answer['files']], ['figure_1.png'])
            (shown,) = [base64.b64decode(block['data']) for block in result['content'] if block['type'] == 'image']
            same(png_size(shown)[0], 1568)
            file = base64.b64decode((await Interpreter(client).read(answer['files'][0]['uri']))['blob'])
            assert png_size(file)[0] > 3000, png_size(file)
            same(len(file), answer['files'][0]['size'])


async def natural_order(setup: Setup) -> None:
    """Files are listed as people count."""
    with Host(setup) as host:
        async with host.server() as client:
            code = 'import matplotlib.pyplot as plt\nfor n in range(11):\n    plt.figure()\n    plt.plot([n])\nNone'
            answer = await Interpreter(client).cell(code)
            expected = [f'figure_{number}.png' for number in range(1, 12)]
            same([file['name'] for file in answer['files']], expected)
            listed = await Interpreter(client).tool(
                'list_session_files', session_id=answer['session_info']['session_id']
            )
            same([file['name'] for file in listed['files']], expected)


async def leaving(setup: Setup) -> None:
    """`exit()` and `quit()` end their cell without an error and without advice; the session goes on."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            session = await interpreter.open('x = 5')
            for code in ("print('before')\nexit()\nprint('after')", "print('before'); quit(); print('after')"):
                answer = await interpreter.cell(code, session)
                same((answer['success'], answer['error'], answer['output']), (True, None, ['before\n']))
            failed = await interpreter.cell('import sys\nsys.exit(3)', session)
            same((failed['success'], failed['output']), (False, []))
            contains(failed['error'], 'SystemExit')
            same(await interpreter.value(session, 'x'), '5')


async def nothing_of_ours(setup: Setup) -> None:
    """Only the session's own files lie in its directory, also after a plot."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            session = await interpreter.open('import os\nbefore = os.listdir()\nimport matplotlib.pyplot as plt')
            same(
                await interpreter.value(
                    session, "plt.plot([1]); plt.savefig('a.png'); plt.close()\nbefore, os.listdir()"
                ),
                "([], ['a.png'])",
            )


async def blank_session(setup: Setup) -> None:
    """A name that is almost empty means no session that there is, and makes none."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            for name in (' ', '\n', ' 0', '0 '):
                contains((await interpreter.cell('1', name))['error'], 'SessionExpiredError')


async def long_output(setup: Setup) -> None:
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            flood = await interpreter.cell("for n in range(20_000):\n    print('line', n)")
            session = flood['session_info']['session_id']
            uri = f'kernel://{session}/.output%2F1.txt'
            (output,) = flood['output']
            contains(output, 'line 0\n', f'were cut here; all of it: {uri}]', 'line 19999\n')
            same((await interpreter.read(uri))['text'], ''.join(f'line {n}\n' for n in range(20_000)))


async def ranges(setup: Setup) -> None:
    """A file of 200 MB is read in ranges; asked for as a whole, the answer says how. Hidden files are not handed out."""
    with Host(setup) as host:
        async with host.server('--memory', '1GiB', '--files', '1GiB') as client:
            interpreter = Interpreter(client)
            made = await interpreter.cell(
                "with open('large.bin', 'wb') as file:\n"
                "    for number in range(200):\n"
                "        file.write(bytes([number]) * 1_000_000)\n"
                "open('.secret', 'w').write('hidden')\n"
                "open('umlaut.txt', 'w').write('äöü')"
            )
            uri = next(file['uri'] for file in made['files'] if file['name'] == 'large.bin')
            refused = await interpreter.refused(uri)
            contains(refused, 'at most 32 MiB', f'{uri}?offset=0&length=33554432')
            read = await interpreter.read(f'{uri}?offset=149999990&length=20')
            same(base64.b64decode(read['blob']), bytes([149]) * 10 + bytes([150]) * 10)
            same((read['uri'], read['_meta']['brumate/size']), (f'{uri}?offset=149999990&length=20', 200_000_000))
            # Beyond the end there is nothing, and no more than there is.
            read = await interpreter.read(f'{uri}?offset=199999999')
            same(base64.b64decode(read['blob']), bytes([199]))
            same(base64.b64decode((await interpreter.read(f'{uri}?offset=300000000&length=5'))['blob']), b'')
            # Half a character is no text.
            text = uri.replace('large.bin', 'umlaut.txt')
            same((await interpreter.read(f'{text}?offset=2'))['text'], 'öü')
            same(base64.b64decode((await interpreter.read(f'{text}?offset=1&length=3'))['blob']), 'äöü'.encode()[1:4])
            for wrong in ('?offset=-1', '?offset=1&offset=2', '?start=1', '?'):
                contains(await interpreter.refused(f'{text}{wrong}'), 'not found')
            contains(await interpreter.refused(uri.replace('large.bin', '.secret')), 'not found')
            # What a cell said in full is handed out, and nothing can be laid in its place.
            session = made['session_info']['session_id']
            await interpreter.cell("open('.output', 'w').write('mine')", session)
            long = await interpreter.cell("print('y' * 100_000)", session)
            contains(long['output'][0], f'all of it: kernel://{session}/.output%2F3.txt]')
            same((await interpreter.read(f'kernel://{session}/.output%2F3.txt'))['text'], 'y' * 100_000 + '\n')
            for name in ('.output', '.output/3.txt'):
                wanted = {'session_id': session, 'filename': name, 'content': 'x'}
                refused = await interpreter.client.call_raw('upload_file', wanted)
                contains(str(refused), 'belong to the outputs of cells')
