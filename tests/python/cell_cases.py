"""How cells end, and what they ask: limits, interrupts, `exit()`, long output, `input()`.

As in `cases.py`, a case raises when a promise is broken.
"""

from __future__ import annotations

import json
import re
import tempfile
from typing import Any

import anyio

from cases import contains, same
from harness import Setup
from interpreter import NATIVE, Host, Interpreter

EVERY = 'interpreter' if NATIVE else 'all'
"""The largest set of tools that the engine has."""


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
    """Code over the time limit keeps its output and its effects. Code that ignores the interrupt is ended, and the session is rolled back."""
    with Host(setup) as host:
        async with host.server('--timeout', '2s', '--grace', '500ms') as client:
            interpreter = Interpreter(client)
            session = await interpreter.open('x = 1')
            slow = await interpreter.cell("x = 2\nprint('partial', flush=True)\nwhile True:\n    pass", session)
            same((slow['success'], slow['output']), (False, ['partial\n']))
            contains(slow['error'], 'KeyboardInterrupt', 'time limit of 2 s (set by --timeout', 'keeps what was done')
            same(await interpreter.value(session, 'x'), '2')
            stubborn = (
                'import time\nx = 3\nwhile True:\n    try:\n        while True: time.sleep(.001)\n'
                '    except BaseException: pass'
            )
            killed = await interpreter.cell(stubborn, session)
            if NATIVE:
                contains(killed['error'], 'SessionLostError', 'did not react', 'create a new one')
                dead = await interpreter.cell('import os\nos._exit(3)', await interpreter.open())
                contains(dead['error'], 'SessionLostError', 'status 3')
                return
            contains(killed['error'], 'SessionRolledBackError', 'did not react', 'as it was before this cell')
            same(await interpreter.value(session, 'x'), '2')
            dead = await interpreter.cell('import os\nos._exit(3)', session)
            contains(dead['error'], 'SessionRolledBackError', 'status 3')
            same(await interpreter.value(session, 'x'), '2')


async def out_of_memory(setup: Setup) -> None:
    """A cell that needs too much memory raises MemoryError, which names the limit; the session goes on."""
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
            session = await interpreter.open('import asyncio\nx = 1')
            stopped: list[dict[str, Any]] = []

            async def endless(code: str) -> None:
                stopped.append(await interpreter.cell(code, session))

            for code in ('x = 2\nwhile True:\n    pass', 'x = 2\nawait asyncio.sleep(3000)'):
                async with anyio.create_task_group() as group:
                    group.start_soon(endless, code)
                    while not (await interpreter.tool('interrupt', session_id=session))['success']:
                        await anyio.sleep(0.05)
                assert await interpreter.value(session, 'x') in ('1', '2')
            for answer in stopped:
                assert re.search('KeyboardInterrupt|CancelledError', answer['error']), answer


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


async def long_output(setup: Setup) -> None:
    """Long output is cut in the middle; a resource has all of it."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            flood = await interpreter.cell("for n in range(20_000):\n    print('line', n)")
            session = flood['session_info']['session_id']
            uri = f'kernel://{session}/.output%2F1.txt'
            (output,) = flood['output']
            contains(output, 'line 0\n', f'were cut here; all of it: {uri}]', 'line 19999\n')
            same((await interpreter.read(uri))['text'], ''.join(f'line {n}\n' for n in range(20_000)))


def accept(value: str) -> dict[str, Any]:
    """The result of an elicitation in which the person entered `value`."""
    return {'action': 'accept', 'content': {'value': value}}


async def questions(setup: Setup) -> None:
    """`input()` and `getpass()` ask the person at the client, with a session and without; no password is in the log."""
    answers: list[dict[str, Any]] = []
    with Host(setup) as host, tempfile.TemporaryFile() as errors:
        options = {'answer': lambda _: answers.pop(0), 'errors': errors, 'environment': {'BRUMATE_LOG': 'trace'}}
        async with host.server('--timeout', '5m', tools=EVERY, **options) as client:
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
            declined = (await interpreter.cell("input('more? ')", session))['error']
            same(declined, 'EOFError' if NATIVE else 'EOFError: EOF when reading a line')
            answers[:] = [{'action': 'cancel'}]
            dismissed = await interpreter.cell("x = 1\ninput()\nx = 2", session)
            contains(dismissed['error'], 'KeyboardInterrupt')
            contains(''.join(dismissed['output']), '[the question was dismissed]')
            same(await interpreter.value(session, 'x, name'), "(1, 'Zoë')")
            answers[:] = [accept('inside'), accept('alone')]
            for more in () if NATIVE else ({'session_id': session}, {}):
                result = await client.call_raw('run_python_code', {'python_code': "input('? ') + '!'", **more})
                contains(
                    result['content'][0]['text'], '<status>success</status>', 'alone!' if answers == [] else 'inside!'
                )
        errors.seek(0)
        log = errors.read()
        leaks = [line[:200] for line in log.splitlines() if b'hunter-two' in line]
        same(leaks, [])


async def thinking(setup: Setup) -> None:
    """Waiting for an answer does not count against `--timeout`, and ends after `--input-timeout`."""

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
            if NATIVE:
                session = await interpreter.open()
            late = await client.call_raw('execute_code', {'code': 'y = 1\ninput()', 'session_id': session})
            if client.modern:
                # The client repeated the call after the wait had ended.
                contains(late['content'][0]['text'], 'no longer waits for this input')
            else:
                contains(
                    ''.join(late['structuredContent']['output']), 'nobody answered within 1 s (set by --input-timeout'
                )
            same(await interpreter.value(session, 'y'), '1')


async def nobody_to_ask(setup: Setup) -> None:
    """With a client that shows no forms, `input()` raises."""
    with Host(setup) as host:
        async with host.server(tools=EVERY) as client:
            failed = await Interpreter(client).cell("input('?')")
            contains(failed['error'], 'StdinNotImplementedError', 'does not support input requests')
            if not NATIVE:
                contains(await client.text('input()'), 'EOFError')
