"""Traces: what a collector is told of requests and runs, and that nobody waits for a collector."""

from __future__ import annotations

import json
import subprocess
import tempfile
from typing import Any

from mcp.client.stdio import get_default_environment

from cases import contains, same
from collector import Collector, collector
from harness import Setup
from http_client import LEGACY, MODERN, TASKS, Client, server, until

TRACE, PARENT, SECRET = 'ab' * 16, 'cd' * 8, 'the-secret-of-this-case'
TRACEPARENT = f'00-{TRACE}-{PARENT}-01'
# Code that takes its time, says something, and fails.
CALL = {'name': 'execute_code', 'arguments': {'code': f'import time\ntime.sleep(0.1)\nprint("{SECRET}")\n1 / 0'}}

# What is said, once, when traces do not arrive; and when they do again.
LOST, BACK = 'the collector of traces cannot be reached', 'the collector of traces can be reached again'


def told_to(collected: Collector, **more: str) -> dict[str, str]:
    return {'OTEL_EXPORTER_OTLP_ENDPOINT': collected.url, **more}


def check_failed_call(collected: Collector) -> None:
    """The spans of `CALL` are what they should be, in the client's trace."""
    request, run = collected.span('tools/call execute_code', TRACE), collected.span('run', TRACE)
    same((request.parent, run.parent), (PARENT, request.identity))
    about = request.attributes
    same(
        (about['service.name'], about['mcp.method.name'], about['gen_ai.tool.name']),
        ('brumate', 'tools/call', 'execute_code'),
    )
    same((about['error.type'], run.attributes['error.type']), ('tool_error', 'tool_error'))
    for phase in ('queue.duration', 'start.duration', 'duration'):
        assert run.attributes[f'brumate.run.{phase}'] >= (0.1 if phase == 'duration' else 0), run


async def over_http(setup: Setup) -> None:
    """Requests and runs are parts of the client's trace; what is written is not told, unless it is wanted."""
    for content in (False, True):
        with collector() as collected:
            with server(setup, environment=told_to(collected, BRUMATE_TRACE_CONTENT=str(content).lower())) as running:
                client = Client(running)
                client.modern('tools/call', CALL, 'execute_code', traceparent=TRACEPARENT)
                plain = {'name': 'run_python_code', 'arguments': {'python_code': f'"{SECRET}"'}}
                client.modern('tools/call', plain, 'run_python_code', traceparent=f'00-{"9a" * 16}-{PARENT}-01')
                session = client.session()
                session.post('tools/list', traceparent=f'00-{"12" * 16}-{PARENT}-01')
                session.post(
                    'resources/list', {'_meta': {'traceparent': f'00-{"34" * 16}-{PARENT}-01'}}, traceparent=TRACEPARENT
                )
                # What is no parent is none: the next that says one counts.
                session.post(
                    'resources/templates/list',
                    {'_meta': {'traceparent': '00-1-2-01'}},
                    traceparent=f'00-{"56" * 16}-{PARENT}-01',
                )
                session.post('ping', {'_meta': {'traceparent': TRACEPARENT.upper()}}, traceparent='nonsense')
                session.post('resources/read', {'uri': f'kernel://{SECRET}/a'})
                session.post('tools/call', {'name': 'no_such_tool', 'arguments': {}})
                # A client that does not want to be traced.
                client.modern('tools/list', {}, traceparent=f'00-{"78" * 16}-{PARENT}-00')
                # What was not sent yet is sent at the end.
                same(running.stop(), 0)
            same(set(collected.paths), {'/v1/traces'})
            check_failed_call(collected)
            same(collected.span('tools/call execute_code').attributes['mcp.protocol.version'], MODERN)
            same(collected.holds(SECRET), content)
            call, run = collected.span('tools/call run_python_code'), collected.span('run', '9a' * 16)
            same(
                (run.parent, 'error.type' in call.attributes, 'error.type' in run.attributes),
                (call.identity, False, False),
            )
            about = collected.span('initialize').attributes
            same((about['network.transport'], about['jsonrpc.request.id']), ('tcp', '1'))
            listed = collected.span('tools/list')
            same((listed.trace, listed.attributes['mcp.session.id']), ('12' * 16, session.headers['Mcp-Session-Id']))
            same(listed.attributes['mcp.protocol.version'], LEGACY)
            same(collected.span('resources/list').trace, '34' * 16)
            same(collected.span('resources/templates/list').trace, '56' * 16)
            alone = collected.span('ping')
            same((alone.parent, alone.trace == TRACE), ('', False))
            for name, code in (('resources/read', '-32002'), ('tools/call no_such_tool', '-32602')):
                about = collected.span(name).attributes
                same((about['error.type'], about['rpc.response.status_code']), (code, code))


async def over_stdio(setup: Setup) -> None:
    """The same over standard input and output; the end of the input is no reason to lose spans."""
    with collector() as collected, tempfile.TemporaryDirectory() as data:
        command = [
            str(setup.brumate),
            'stdio',
            '--cache-dir',
            str(setup.cache_dir),
            '--tools',
            'all',
            '--data-dir',
            data,
        ]
        environment = get_default_environment() | told_to(collected, OTEL_RESOURCE_ATTRIBUTES='team=cases')
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        assert process.stdin is not None and process.stdout is not None

        def request(identity: int, method: str, params: dict[str, Any]) -> Any:
            send({'id': identity, 'method': method, 'params': params})
            for line in process.stdout:
                answer = json.loads(line)
                if answer.get('id') == identity and 'method' not in answer:
                    return answer
            raise AssertionError('no answer')

        def send(message: dict[str, Any]) -> None:
            process.stdin.write(json.dumps({'jsonrpc': '2.0', **message}).encode() + b'\n')
            process.stdin.flush()

        with process:
            about = {'protocolVersion': LEGACY, 'capabilities': {}, 'clientInfo': {'name': 'cases', 'version': '1'}}
            request(1, 'initialize', about)
            send({'method': 'notifications/initialized'})
            answer = request(2, 'tools/call', {**CALL, '_meta': {'traceparent': TRACEPARENT}})
            contains(answer['result']['content'][0]['text'], SECRET)
            process.stdin.close()
            same(process.wait(), 0)
        check_failed_call(collected)
        about = collected.span('tools/call execute_code').attributes
        same((about['network.transport'], about['jsonrpc.request.id'], about['team']), ('pipe', '2', 'cases'))
        assert 'mcp.session.id' not in about and not collected.holds(SECRET)


async def of_tasks(setup: Setup) -> None:
    """A call that goes on as a task says so; its run is told when it ends, as part of the same trace."""
    with collector() as collected:
        with server(setup, environment=told_to(collected)) as running:
            client = Client(running)
            asks = {'name': 'execute_code', 'arguments': {'code': 'input("Who? ")'}}
            task = client.modern('tools/call', asks, 'execute_code', TASKS, traceparent=TRACEPARENT).result['taskId']
            client.modern('tasks/cancel', {'taskId': task}, task, TASKS, traceparent=TRACEPARENT)

            def state() -> str:
                answer = client.modern('tasks/get', {'taskId': task}, task, TASKS, traceparent=TRACEPARENT)
                return answer.result['status']

            await until(lambda: state() not in ('working', 'input_required'))
            same(running.stop(), 0)
        call, run = collected.span('tools/call execute_code', TRACE), collected.span('run', TRACE)
        same((call.attributes['brumate.answer'], 'error.type' in call.attributes), ('task', False))
        same((run.parent, run.attributes['error.type']), (call.identity, 'tool_error'))
        same(collected.span('tasks/cancel').trace, TRACE)


async def unwanted(setup: Setup) -> None:
    """Nothing is told where the standard variables say so."""
    for name, value in (('OTEL_SDK_DISABLED', 'true'), ('OTEL_TRACES_EXPORTER', 'none')):
        with collector() as collected:
            with server(setup, environment=told_to(collected, **{name: value})) as running:
                Client(running).cell('1')
                same(running.stop(), 0)
            same(collected.bodies, [])


async def refused(setup: Setup) -> None:
    """Variables that ask for what is not there end the server, which names them."""
    command = [str(setup.brumate), 'stdio', '--cache-dir', str(setup.cache_dir)]
    for name, value in (
        ('OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'),
        ('OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'),
        ('OTEL_EXPORTER_OTLP_CERTIFICATE', '/none.pem'),
    ):
        environment = get_default_environment() | {'OTEL_EXPORTER_OTLP_ENDPOINT': 'http://127.0.0.1:9', name: value}
        ended = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment, check=False
        )
        same(ended.returncode, 1)
        contains(ended.stderr, value if value.startswith('/') else name)


async def unheard(setup: Setup) -> None:
    """A collector that refuses, or is not there, is told of once; and once when it is back."""
    with collector() as collected, tempfile.TemporaryFile('w+') as errors:

        def said(text: str) -> int:
            errors.seek(0)
            return errors.read().count(text)

        collected.status = 400
        environment = told_to(collected, OTEL_BSP_SCHEDULE_DELAY='10')
        with server(setup, environment=environment, errors=errors) as running:
            client = Client(running)
            for attempt in range(1, 4):
                same(client.cell('1')['success'], True)
                await until(lambda: len(collected.bodies) >= attempt)  # noqa: B023
            await until(lambda: said(LOST))
            collected.status = 200
            await until(lambda: client.cell('1')['success'] and said(BACK))
            same((said(LOST), said(BACK), said('400 Bad Request')), (1, 1, 1))
            collected.server.shutdown()
            collected.server.server_close()
            await until(lambda: client.cell('1')['success'] and said(LOST) == 2)
            for _ in range(3):
                same(client.cell('1')['success'], True)
            same(running.stop(), 0)
        same((said(LOST), said(BACK)), (2, 1))


async def silent(setup: Setup) -> None:
    """A collector that does not answer holds up no call, and the end of the server not for long; what does not fit is dropped."""
    with collector() as collected:
        collected.answers.clear()
        queue = {'OTEL_BSP_SCHEDULE_DELAY': '10', 'OTEL_BSP_MAX_QUEUE_SIZE': '4', 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE': '2'}
        environment = told_to(collected, OTEL_EXPORTER_OTLP_TIMEOUT='3600000', **queue)
        with server(setup, environment=environment) as running:
            client = Client(running)
            same(client.cell('1')['success'], True)
            await until(lambda: collected.bodies)
            for _ in range(12):
                same(client.cell('1')['success'], True)
            # It still has not answered.
            same(running.stop(), 0)
        same((len(collected.bodies), collected.answers.is_set()), (1, False))
        assert len(collected.spans) <= 2
