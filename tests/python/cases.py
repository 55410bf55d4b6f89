"""What a real client must see. Each case is a function; it raises when a promise is broken."""

from __future__ import annotations

import json
from typing import Any

import anyio

from harness import SDK_MAJOR, Connection, Setup, connect, text_of
from processes import descendants, resident_bytes

NUMPY = """
import numpy
a = numpy.array([1, 2, 3])
print(a)
a
"""

NUMPY_TEXT = """\
<status>success</status>
<dependencies>["numpy"]</dependencies>
<output>
[1 2 3]
</output>
<return_value>
[
  1,
  2,
  3
]
</return_value>"""

ENDLESS = 'print("started", flush=True)\nwhile True:\n    pass\n'


def same(found: Any, expected: Any) -> None:
    assert found == expected, f'\n--- found\n{found}\n--- expected\n{expected}'


def contains(text: str, *parts: str) -> None:
    for part in parts:
        assert part in text, f'{part!r} is missing in:\n{text}'


async def listing(setup: Setup) -> None:
    async with connect(setup) as client:
        (tool,) = await client.tools()
        same(tool['name'], 'run_python_code')
        same(tool['title'], 'Run Python code')
        contains(tool['description'], 'Tool to execute Python code', 'The code will be executed with Python 3.14.')
        schema = tool['inputSchema']
        same(schema['type'], 'object')
        same(schema['properties']['python_code'], {'type': 'string', 'description': 'Python code to run'})
        same(schema['properties']['global_variables']['default'], {})
        same(schema['required'], ['python_code'])
        same(schema['additionalProperties'], False)
        same(schema['$schema'], 'http://json-schema.org/draft-07/schema#')
        # Clients that only look at the newest era must get it.
        same(client.modern, SDK_MAJOR >= 2 and setup.era == 'auto')


async def golden(setup: Setup) -> None:
    async with connect(setup) as client:
        same(await client.text(NUMPY), NUMPY_TEXT)
        same(
            await client.text("x = 4\nprint(f'{x=}')\nx"),
            '<status>success</status>\n<output>\nx=4\n</output>\n<return_value>\n4\n</return_value>',
        )
        same(
            await client.text('print(unknown)'),
            '<status>run-error</status>\n<error>\n'
            'Traceback (most recent call last):\n'
            '  File "main.py", line 1, in <module>\n'
            '    print(unknown)\n'
            '          ^^^^^^^\n'
            "NameError: name 'unknown' is not defined\n"
            '</error>',
        )
        same(await client.text('None'), '<status>success</status>')
        same(await client.text('"foobar"'), '<status>success</status>\n<return_value>\nfoobar\n</return_value>')
        same(
            await client.text('sum(a)', {'a': [1, 2, 3]}),
            '<status>success</status>\n<return_value>\n6\n</return_value>',
        )
        same(
            await client.text('import asyncio\nawait asyncio.sleep(0.01)\n"done"'),
            '<status>success</status>\n<return_value>\ndone\n</return_value>',
        )
        same(
            await client.text('import sys\nprint("a")\nprint("b", file=sys.stderr)\nprint("c")\n__name__, __file__'),
            '<status>success</status>\n<output>\na\nb\nc\n</output>\n'
            '<return_value>\n[\n  "__main__",\n  "main.py"\n]\n</return_value>',
        )
        # Globals are fresh in each call.
        contains(await client.text('leftover = 1'), 'success')
        contains(await client.text('leftover'), 'NameError')


async def values(setup: Setup) -> None:
    async with connect(setup) as client:
        for code, value in [
            ('1.5', '1.5'),
            ('True', 'true'),
            ('{"a": [1, "é"]}', '{\n  "a": [\n    1,\n    "é"\n  ]\n}'),
            ('2 ** 100', str(2**100)),
            ('import numpy\nnumpy.float64(2.5)', '2.5'),
            ('import numpy\nnumpy.arange(4).reshape(2, 2)', '[\n  [\n    0,\n    1\n  ],\n  [\n    2,\n    3\n  ]\n]'),
            ('from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\nP(3)', '{\n  "x": 3\n}'),
        ]:
            contains(await client.text(code), f'<return_value>\n{value}\n</return_value>')
        contains(await client.text('"</return_value>"'), '<return_value>\n&lt;/return_value&gt;\n</return_value>')
        contains(await client.text('print("</OUTPUT >")'), '<output>\n&lt;/OUTPUT &gt;\n</output>')


async def numbers(setup: Setup) -> None:
    """Integers of any size and floats are exact in both directions; texts that are no Unicode break nothing."""
    large = 2**64 + 3
    async with connect(setup) as client:
        same(await client.text('n % 10', {'n': large}), '<status>success</status>\n<return_value>\n9\n</return_value>')
        same(
            await client.text('[n, f, z, type(z).__name__]', {'n': -large, 'f': 0.1, 'z': -0.0}),
            f'<status>success</status>\n<return_value>\n[\n  {-large},\n  0.1,\n  -0.0,\n  "float"\n]\n</return_value>',
        )
        for code, exact, is_held in [
            ('7', None, True),
            ('2 ** 53 - 1', None, True),
            ('[2 ** 53]', [2**53], True),
            ('-(2 ** 63), 2 ** 64 - 1', [-(2**63), 2**64 - 1], True),
            ('{"n": 2 ** 64}', {'n': 2**64}, False),
            ('10 ** 400', 10**400, False),
            ('x = []\nfor _ in range(150): x = [x]\nx', ..., False),
            ('import numpy\nnumpy.array([2 ** 63], dtype=numpy.uint64)', [2**63], True),
        ]:
            content = (await client.call(code))['structuredContent']
            same(('return_value' in content, 'return_value_json' in content), (is_held, exact is not None))
            if exact not in (None, ...):
                same(json.loads(content['return_value_json']), exact)
                same(content.get('return_value', exact), exact)
        content = (await client.call('[float("nan"), float("-inf")]'))['structuredContent']
        same((content['return_value'], content.get('return_value_json')), ([None, None], None))
        lone = await client.call('import sys\nsys.stderr.write("a\\ud800")\n{"\\udfff": "b\\ud800"}')
        same(lone['structuredContent']['output'], ['a\\ud800'])
        same(lone['structuredContent']['return_value'], {'\\udfff': 'b\\ud800'})
        contains(await client.text('raise ValueError("\\ud800")'), 'ValueError: \\ud800')


async def structured(setup: Setup) -> None:
    async with connect(setup) as client:
        result = await client.call(NUMPY)
        same(
            result['structuredContent'],
            {'status': 'success', 'output': ['[1 2 3]'], 'dependencies': ['numpy'], 'return_value': [1, 2, 3]},
        )
        assert not result.get('isError'), result
        failed = await client.call('1 / 0')
        same(failed['structuredContent']['status'], 'run-error')
        contains(failed['structuredContent']['error'], 'ZeroDivisionError: division by zero')
        assert not failed.get('isError'), failed


async def json_mode(setup: Setup) -> None:
    async with connect(setup, '--return-mode', 'json') as client:
        same(await client.text('a = 1\na + 1'), '{"status":"success","output":[],"return_value":2}')
        same(await client.text('"foobar"'), '{"status":"success","output":[],"return_value":"foobar"}')
        same(json.loads(await client.text('a', {'a': [1, 2, 3]}))['return_value'], [1, 2, 3])
        failed = json.loads(await client.text('print("x")\nraise ValueError("no")'))
        same((failed['status'], failed['output']), ('run-error', ['x']))
        contains(failed['error'], 'ValueError: no')


async def dependencies(setup: Setup) -> None:
    async with connect(setup, '--deps', 'numpy') as client:
        same(
            await client.text('1'),
            '<status>success</status>\n<dependencies>["numpy"]</dependencies>\n<return_value>\n1\n</return_value>',
        )
    async with connect(setup, '--only-bundled') as client:
        script = (
            '# /// script\n# dependencies = ["python-dateutil>=2.8"]\n# ///\nimport dateutil\nprint(dateutil.__name__)'
        )
        same(
            await client.text(script),
            '<status>success</status>\n<dependencies>["python-dateutil>=2.8"]</dependencies>\n<output>\ndateutil\n</output>',
        )
        missing = await client.text('import not_a_package')
        contains(missing, '<status>install-error</status>', '`not_a_package`', 'dependencies = ["NAME"]')
        pinned = await client.text('# /// script\n# dependencies = ["numpy<2"]\n# ///\n')
        contains(pinned, '<status>install-error</status>', 'exactly one version')
        optional = 'try:\n    import not_a_package\nexcept ImportError:\n    print("without")'
        same(await client.text(optional), '<status>success</status>\n<output>\nwithout\n</output>')
        contains(await client.text('def broken(:'), 'run-error', 'SyntaxError', 'main.py')


async def arguments(setup: Setup) -> None:
    async with connect(setup) as client:
        wrong = await client.call_raw('run_python_code', {'code': '1'})
        same(wrong['isError'], True)
        contains(text_of(wrong), '`python_code`', 'is missing', '`code` is not an argument')
        try:
            unknown = await client.call_raw('no_such_tool', {})
        except Exception as error:
            contains(str(error), 'Unknown tool: no_such_tool')
        else:
            raise AssertionError(f'an unknown tool gave a result: {unknown}')


async def thousand_calls(setup: Setup) -> None:
    """Neither the server nor its zygote grows with the number of calls."""
    async with connect(setup) as client:
        (server,) = client.processes

        async def calls(count: int) -> None:
            for number in range(count):
                result = await client.call('print("x" * 100)\nn * 2', {'n': number})
                same(result['structuredContent']['return_value'], number * 2)

        def memory() -> dict[int, int]:
            sizes = {pid: resident_bytes(pid) for pid in descendants(server)}
            return {pid: size for pid, size in sizes.items() if size is not None}

        await calls(100)
        # A zygote may still be starting while the first calls are answered, and grow by what it needs; what leaks grows each time.
        for _ in range(3):
            before = memory()
            await calls(1000)
            after = memory()
            grown = {
                pid: (before[pid], after[pid])
                for pid in before.keys() & after.keys()
                if after[pid] - before[pid] >= 8 << 20
            }
            if not grown:
                break
        assert not grown, f'processes grew: {grown}'
        assert server in after
        # Machines of finished calls are gone; a few may be kept ready.
        assert len(after) <= len(before) + 4, (before, after)


async def busy(setup: Setup) -> None:
    """While two endless loops run, other calls are answered; then the loops end at their limit."""
    async with connect(setup, '--timeout', '8s', '--cpu-timeout', '8s', '--grace', '1s') as client:
        ended: list[str] = []

        async def endless(started: anyio.Event) -> None:
            async def progress(_progress: float, _total: float | None, message: str | None) -> None:
                if message and 'started' in message:
                    started.set()

            ended.append(text_of(await client.call(ENDLESS, progress=progress)))

        async with anyio.create_task_group() as group:
            events = [anyio.Event(), anyio.Event()]
            for event in events:
                group.start_soon(endless, event)
            for event in events:
                await event.wait()
            for number in range(10):
                result = await client.call('n + 1', {'n': number})
                same(result['structuredContent']['return_value'], number + 1)
            assert not ended, ended
        same(len(ended), 2)
        for text in ended:
            contains(text, '<status>run-error</status>', 'started', 'KeyboardInterrupt')
            assert '(set by --timeout or BRUMATE_TIMEOUT)' in text or '(set by --cpu-timeout' in text, text


async def cancel(setup: Setup) -> None:
    """A cancelled call gives its place back: there is only one, and its time limit is far away."""
    flags = ['--max-concurrent', '1', '--timeout', '1h', '--cpu-timeout', '1h']
    async with connect(setup, *flags) as client:
        for _ in range(3):
            await cancel_one(client)
            same(await client.text('1 + 1'), '<status>success</status>\n<return_value>\n2\n</return_value>')


async def cancel_one(client: Connection) -> None:
    started = anyio.Event()

    async def progress(_progress: float, _total: float | None, message: str | None) -> None:
        if message and 'started' in message:
            started.set()

    async with anyio.create_task_group() as group:
        if SDK_MAJOR < 2:
            # Version 1 does not tell the server that it lost interest; the request's id is the next one.
            request = client.session._request_id
        group.start_soon(lambda: client.call(ENDLESS, progress=progress))
        await started.wait()
        if SDK_MAJOR < 2:
            from mcp.types import CancelledNotification, CancelledNotificationParams, ClientNotification

            params = CancelledNotificationParams(requestId=request, reason='test')
            notification = CancelledNotification(method='notifications/cancelled', params=params)
            await client.session.send_notification(ClientNotification(notification))
        group.cancel_scope.cancel()


async def progress(setup: Setup) -> None:
    """Output arrives while the code runs: it waits for a time that only begins after the first print was seen."""
    code = 'import time\nfor n in range(5):\n    print("step", n, flush=True)\n    time.sleep(0.3)\n'
    seen: list[tuple[float, str | None]] = []

    async def callback(progress: float, _total: float | None, message: str | None) -> None:
        seen.append((progress, message))

    async with connect(setup) as client:
        result = await client.call(code, progress=callback)
        same(result['structuredContent']['output'], [f'step {n}' for n in range(5)])
        same(''.join(message or '' for _, message in seen), ''.join(f'step {n}\n' for n in range(5)))
        assert len(seen) >= 2, seen
        values = [value for value, _ in seen]
        same(values, sorted(set(values)))


async def logging(setup: Setup) -> None:
    code = 'import sys\nprint("to stdout")\nprint("to stderr", file=sys.stderr)\nimport numpy'
    expected = {
        None: [],
        'emergency': [],
        'warning': [('warning', 'to stderr')],
        'info': [('info', 'to stdout'), ('warning', 'to stderr')],
    }
    for level, messages in expected.items():
        async with connect(setup, log_level=level) as client:
            await client.text(code)
            same(client.logs, messages)
    async with connect(setup, log_level='debug') as client:
        await client.text(code)
        same([level for level, _ in client.logs], ['debug', 'debug', 'info', 'warning'])
        contains(client.logs[0][1], 'numpy')


async def limits(setup: Setup) -> None:
    async with connect(setup, '--timeout', '2s', '--grace', '500ms') as client:
        contains(
            await client.text('import time\ntime.sleep(60)'),
            'run-error',
            'time limit of 2 s (set by --timeout or BRUMATE_TIMEOUT)',
        )
        stubborn = 'while True:\n    try:\n        while True: pass\n    except KeyboardInterrupt:\n        pass'
        contains(await client.text(stubborn), 'run-error', 'did not react to KeyboardInterrupt within 0.5 s')
    async with connect(setup, '--memory', '256MiB', '--output-limit', '4KiB', '--files', '1MiB') as client:
        contains(
            await client.text('len(bytearray(1 << 30))'),
            'run-error',
            'MemoryError',
            '256 MiB of memory (set by --memory',
        )
        flood = await client.text('print("x" * 100_000)')
        contains(flood, 'success', 'only the first 4 KiB of output are kept (set by --output-limit')
        assert len(flood) < 8192, len(flood)
        contains(
            await client.text('open("/tmp/big", "wb").write(bytes(8 << 20))'), 'run-error', 'No space left', '--files'
        )
        contains(await client.text('import os\nos._exit(3)'), 'run-error', 'status 3')
        contains(await client.text('import sys\nsys.exit("bad")'), 'run-error', 'bad', 'status 1')
        contains(await client.text('import sys\nsys.exit()'), '<status>success</status>')
        contains(await client.text('import ctypes\nctypes.string_at(0xfffffff0, 64)'), 'run-error')
        same(await client.text('1'), '<status>success</status>\n<return_value>\n1\n</return_value>')
