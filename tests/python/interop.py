"""What the Python SDK's client can do with a server of `brumate-mcp` (the example `interop`) over one transport, or with
`server_matrix/server.py`.

Prints a JSON object: for each area `ok`, or what happened instead. `connected` is the protocol that was agreed upon; without it
nothing else is there.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.types import ElicitResult

from harness import PATIENCE, SDK_MAJOR, plain, text_of

# What is expected not to happen is not waited for longer.
IMPATIENCE = 2

AREAS: dict[str, Callable[..., Any]] = {}


def area(function: Any) -> Any:
    AREAS[function.__name__] = function
    return function


class Client:
    def __init__(self, session: Any, protocol: str) -> None:
        self.session, self.protocol = session, protocol
        self.modern = protocol >= '2026-07-28'
        self.logs: list[tuple[str, Any]] = []
        self.forms: list[dict[str, Any]] = []

    async def call(self, name: str, progress: Any = None, **arguments: Any) -> dict[str, Any]:
        return plain(await self.session.call_tool(name, arguments, progress_callback=progress))


@area
async def tools(client: Client) -> None:
    listed = {tool['name']: tool for tool in plain(await client.session.list_tools())['tools']}
    # The example has tools for `sizes.py` besides.
    tools = ['add', 'asks', 'cancelled', 'fails', 'panics', 'picture', 'seen', 'steps', 'talks', 'waits']
    expect(sorted(set(listed) - {'length', 'letters'}), tools)
    expect(listed['add']['inputSchema']['required'], ['a'])
    expect((await client.call('add', a=40, b=2))['structuredContent'], {'sum': 42})
    text, image = (await client.call('picture'))['content']
    expect((text['text'], image['mimeType'], image['data'][:4]), ('a pixel', 'image/png', 'iVBO'))
    for name, says in [('fails', 'it always does'), ('panics', ''), ('add', MISSING)]:
        result = await client.call(name)
        expect((result['isError'], says in text_of(result), 'nobody sees' in text_of(result)), (True, True, False))


@area
async def resources(client: Client) -> None:
    (listed,) = plain(await client.session.list_resources())['resources']
    expect((listed['uri'], listed['mimeType']), ('interop://about', 'text/plain'))
    (template,) = plain(await client.session.list_resource_templates())['resourceTemplates']
    expect(template['uriTemplate'], 'interop://users/{name}')
    for uri, text in [('interop://about', 'a server for tests'), ('interop://users/ada%20l', 'the user ada l')]:
        (contents,) = plain(await client.session.read_resource(uri))['contents']
        expect(contents['text'], text)
    try:
        await client.session.read_resource('interop://nothing')
    except Exception as error:
        expect('interop://nothing' in str(error), True)
    else:
        raise AssertionError('what is not there was read')


@area
async def prompts(client: Client) -> None:
    (listed,) = plain(await client.session.list_prompts())['prompts']
    expect(listed['arguments'], [{'name': 'name', 'description': 'Who is greeted.', 'required': True}])
    (message,) = plain(await client.session.get_prompt('greet', {'name': 'Ada'}))['messages']
    expect(message, {'role': 'user', 'content': {'type': 'text', 'text': 'Greet Ada.'}})


@area
async def logging(client: Client) -> None:
    if not client.modern:
        await client.session.set_logging_level('info')
    await client.call('talks')
    await until(lambda: client.logs and client.logs[-1][0] == 'warning')
    expect(client.logs, [('info', 'a fact'), ('warning', 'a warning')])


@area
async def progress(client: Client) -> None:
    seen: list[Any] = []

    async def callback(done: float, total: float | None, message: str | None) -> None:
        seen.append((done, total, message))

    async with anyio.create_task_group() as group:
        group.start_soon(lambda: client.call('steps', progress=callback))
        await until(lambda: len(seen) == 3)
        await client.call('seen')
    # What does not go forward is not sent.
    expect(seen, [(1, 2, 'one'), (1.5, 2, 'and a half'), (2, 2, 'two')])


@area
async def elicitation(client: Client) -> None:
    result = await client.call('asks')
    expect(text_of(result), 'hello, Ada')
    expect([form['message'] for form in client.forms], ['Who is there?'])
    expect(client.forms[0]['requestedSchema']['required'], ['name'])


# The last one: giving up on a call may end the connection of a client that is just reading its answer (version 1, without sessions).
@area
async def cancel(client: Client, patience: float = PATIENCE) -> None:
    begun = anyio.Event()

    async def callback(_done: float, _total: float | None, _message: str | None) -> None:
        begun.set()

    async def wait() -> None:
        # The SDK's servers answer a cancelled request with an error.
        with contextlib.suppress(Exception):
            await client.call('waits', progress=callback)
        begun.set()

    async with anyio.create_task_group() as group:
        request = getattr(client.session, '_request_id', None)
        group.start_soon(wait)
        await begun.wait()
        if SDK_MAJOR < 2:
            # Version 1 has no call for it; the request's id was the next one.
            from mcp.types import CancelledNotification, CancelledNotificationParams, ClientNotification

            params = CancelledNotificationParams(requestId=request, reason='test')
            notification = CancelledNotification(method='notifications/cancelled', params=params)
            await client.session.send_notification(ClientNotification(notification))
        else:
            group.cancel_scope.cancel()
        if SDK_MAJOR < 2:
            await counted(client, patience)
            group.cancel_scope.cancel()
    await counted(client, patience)


async def counted(client: Client, patience: float) -> None:
    with anyio.move_on_after(patience):
        while (await client.call('cancelled'))['structuredContent'] != {'result': 1}:
            await anyio.sleep(0.02)
        return
    raise AssertionError('the call runs on')


def expect(found: Any, wanted: Any) -> None:
    if found != wanted:
        raise AssertionError(f'{found!r}, not {wanted!r}')


async def until(true: Callable[[], Any]) -> None:
    """Messages of a connection may be handled after the answer that they came before."""
    with anyio.move_on_after(PATIENCE if PATIENT else IMPATIENCE):
        while not true():
            await anyio.sleep(0.01)


PATIENT = True

# The error text about a missing argument.
MISSING = '"a" is a required property'


def open_transport(transport: str, target: list[str]) -> Any:
    if transport == 'stdio':
        return stdio_client(StdioServerParameters(command=target[0], args=target[1:]))
    if transport == 'sse':
        return sse_client(f'{target[0]}/sse')
    from mcp.client.streamable_http import streamable_http_client

    return streamable_http_client(f'{target[0]}/mcp')


@contextlib.asynccontextmanager
async def connect(options: argparse.Namespace) -> AsyncIterator[Client]:
    connection: Client | None = None
    logs: list[tuple[str, Any]] = []
    forms: list[dict[str, Any]] = []

    async def log(params: Any) -> None:
        logs.append((params.level, params.data))

    async def elicit(_context: Any, params: Any) -> Any:
        forms.append(plain(params))
        return ElicitResult.model_validate({'action': 'accept', 'content': {'name': 'Ada'}})

    streams = open_transport(options.transport, options.target)
    callbacks = {'logging_callback': log, 'elicitation_callback': elicit}
    if SDK_MAJOR >= 2:
        from mcp import Client as Sdk

        mode = 'auto' if options.era == 'modern' else 'legacy'
        async with Sdk(streams, mode=mode, log_level='info', **callbacks) as sdk:
            connection = Client(sdk, sdk.protocol_version)
            connection.logs, connection.forms = logs, forms
            yield connection
        return
    async with streams as (read, write, *_), ClientSession(read, write, **callbacks) as session:
        begun = await session.initialize()
        connection = Client(session, begun.protocolVersion)
        connection.logs, connection.forms = logs, forms
        yield connection


async def run(options: argparse.Namespace) -> dict[str, str]:
    global PATIENT
    found = {}
    # Closing a connection may fail too; what was found is found.
    try:
        async with connect(options) as client:
            found['connected'] = client.protocol
            for name in options.areas:
                function = AREAS[name]
                PATIENT = name not in options.failing
                patience = {'patience': IMPATIENCE} if name == 'cancel' and not PATIENT else {}
                try:
                    with anyio.fail_after(PATIENCE if PATIENT else 5 * IMPATIENCE):
                        await function(client, **patience)
                    found[name] = 'ok'
                except Exception as error:
                    found[name] = told(error)
    except Exception as error:
        found['closing' if 'connected' in found else 'connecting'] = told(error)
    return found


def told(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f'{type(error).__name__}: {error}'


def parse(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Parses the command line. `--target` comes last: an address, or a command, whose words may look like options."""
    words = sys.argv[1:]
    if '--target' not in words[:-1]:
        parser.error('`--target` names no server')
    place = words.index('--target')
    return parser.parse_args(words[:place], argparse.Namespace(target=words[place + 1 :]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--transport', required=True, choices=['stdio', 'http', 'sse'])
    parser.add_argument('--era', required=True, choices=['legacy', 'modern'])
    parser.add_argument('--failing', nargs='*', default=[], help='areas that are not expected to work')
    parser.add_argument('--areas', nargs='*', default=list(AREAS), help='areas that are tried; all by default')
    parser.add_argument('--missing', default=MISSING, help='part of what the server says of a missing argument')
    options = parse(parser)
    globals()['MISSING'] = options.missing
    print(json.dumps(anyio.run(run, options)))


if __name__ == '__main__':
    main()
