"""How sessions begin, last and end: restarts, killed servers, sleep, forks, several servers on one data directory.

The first case is a transcript of the code interpreter's documentation. As in `cases.py`, a case raises when a promise is broken.
"""

from __future__ import annotations

import json
import os
import signal

import anyio

from cases import contains, same
from harness import Setup
from interpreter import EXPIRED, Host, Interpreter


async def transcript(setup: Setup) -> None:
    """The example in the documentation of the code interpreter."""
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
    """With `--durability cell` a server that is killed loses nothing that it has answered."""
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
    """A server that is killed loses no session: each has the state of its last answer."""
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
    os.kill(process, signal.SIGKILL)


async def sleeping(setup: Setup) -> None:
    """More sessions than may be awake are used in turn; none has the state of another."""
    with Host(setup) as host:
        async with host.server('--max-live-sessions', '2', '--hibernate-after', '1s') as client:
            interpreter = Interpreter(client)
            sessions = [await interpreter.open(f'x = {number}') for number in range(6)]
            for turn in range(3):
                for number, session in enumerate(sessions):
                    same(await interpreter.value(session, f'x = x + 1\nx - {turn} - 1'), str(number))


async def forks(setup: Setup) -> None:
    """A fork changes on its own; a reset of it leaves the original as it is."""
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
    """A new session has no variables or imports."""
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
    """Two servers on one data directory: a session moves to the server that uses it; a removed session is gone for both."""
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


async def blank_session(setup: Setup) -> None:
    """A session name of blanks is unknown: it neither finds a session nor makes one."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            for name in (' ', '\n', ' 0', '0 '):
                contains((await interpreter.cell('1', name))['error'], 'SessionExpiredError')
