"""What a real client must see of sessions: transcripts of the code interpreter's contract, and each known defect of its
predecessor as a case that passes. As in `cases.py`, a case raises when a promise is broken.
"""

from __future__ import annotations

import base64
import json
import struct
import tempfile
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

    def server(self, *flags: str, tools: str = 'interpreter') -> Any:
        return connect(self.setup, '--tools', tools, '--data-dir', self.data.name, *flags)


async def transcript(setup: Setup) -> None:
    """The example of the documentation."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            first = await interpreter.cell("import pandas as pd\nx = 42\nprint('Hello, World!')")
            info = first.pop('session_info')
            same(
                first,
                {'success': True, 'output': ['Hello, World!\n'], 'result': None, 'error': None, 'traceback': [], 'files': []},
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


async def one_server(setup: Setup) -> None:
    """Two servers on one directory: the second says why it does not start."""
    with Host(setup) as host:
        async with host.server():
            command = [str(setup.brumate), 'stdio', '--cache-dir', str(setup.cache_dir), '--tools', 'all', '--data-dir', host.data.name]
            second = await anyio.run_process(command, check=False)
            same(second.returncode, 1)
            contains(second.stderr.decode(), 'is in use by another Brumate (process', '--data-dir')


async def traversal(setup: Setup) -> None:
    """No address leads out of a session's directory, however it is written."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            session = await interpreter.open()
            for path in ['..%2Fconfig.py', '%2E%2E%2Fconfig.py', '%252E%252E%252Fconfig.py', '%2Fetc%2Fpasswd', '..%5Cconfig.py', 'a%00.png']:
                await interpreter.refused(f'kernel://{session}/{path}')
            for uri in ['kernel://../config.py', 'kernel://%2E%2E/config.py', 'kernel:///config.py', 'file:///etc/passwd']:
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
            environment = "import os\nopen(os.environ['OUTPUT_DIR'] + '/b.json', 'w').write('{}')"
            same([file['mime_type'] for file in (await interpreter.cell(environment, session))['files']], ['application/json'])


async def uploads(setup: Setup) -> None:
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            first = await interpreter.tool('upload_file', filename='in.csv', content='a,b\n1,2\n', last=False)
            session = first['session_info']['session_id']
            more = base64.b64encode(b'3,4\n').decode()
            await interpreter.tool('upload_file', filename='in.csv', content=more, encoding='base64', offset=8, session_id=session)
            same(await interpreter.value(session, "import pandas as pd\nint(pd.read_csv('in.csv').b.sum())"), '6')
        async with host.server() as client:
            same(await Interpreter(client).value(session, "open('in.csv').read()"), "'a,b\\n1,2\\n3,4\\n'")


async def figures(setup: Setup) -> None:
    """A figure that is saved and shown is its file, a picture in two forms, and one image for the model."""
    with Host(setup) as host:
        async with host.server() as client:
            result = await client.call_raw('execute_code', {'code': PLOT})
            answer = result['structuredContent']
            assert answer['success'], answer
            same([file['name'] for file in answer['files']], ['sine_wave.png', 'figure_1.png', 'figure_1.svg'])
            same([file['mime_type'] for file in answer['files']], ['image/png', 'image/png', 'image/svg+xml'])
            for file in answer['files'][:2]:
                line = f'📊 File created: {file["name"]} (image/png, {file["size"]} bytes)'
                assert line in answer['output'], answer
                contents = await Interpreter(client).read(file['uri'])
                png = base64.b64decode(contents['blob'])
                same((contents['mimeType'], len(png), png[:4]), ('image/png', file['size'], b'\x89PNG'))
            svg = await Interpreter(client).read(answer['files'][2]['uri'])
            contains(base64.b64decode(svg['blob']).decode(), '<svg ')
            same([block['type'] for block in result['content']], ['text', 'image', *['resource_link'] * 3])
            picture = base64.b64decode(result['content'][1]['data'])
            width, height = struct.unpack('>II', picture[16:24])
            assert 0 < max(width, height) <= 1568, (width, height)
            left_open = await Interpreter(client).cell('plt.plot([1, 2])\nNone', answer['session_info']['session_id'])
            same([file['name'] for file in left_open['files']], ['figure_2.png', 'figure_2.svg'])


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
