"""Runs every example of the crate `brumate-mcp` under the Python SDK's client. Exit status 0: every promise was kept."""

from __future__ import annotations

import argparse
import base64
import contextlib
import http.server
import json
import signal
import sqlite3
import struct
import subprocess
import tempfile
import threading
import urllib.error
import urllib.request
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.types import CreateMessageResult, ElicitResult, TextContent

from harness import PATIENCE, SDK_MAJOR, plain, text_of

EXAMPLES: Path
ERA: str
LOGS: list[Any] = []
# What the person at the client answers to the next forms; `None` declines. The pages that were opened.
FORMS: list[dict[str, Any] | None] = []
PAGES: list[str] = []


async def _log(params: Any) -> None:
    LOGS.append(params.data)


async def _elicit(_: Any, params: Any) -> Any:
    if params.mode == 'url':
        PAGES.append(params.url)
        return ElicitResult(action='accept')
    content = FORMS.pop(0)
    return ElicitResult(action='decline') if content is None else ElicitResult(action='accept', content=content)


async def _sample(_: Any, params: Any) -> Any:
    content = TextContent(type='text', text=f'a model on: {params.messages[-1].content.text}')
    return CreateMessageResult(role='assistant', content=content, model='none')


@contextlib.asynccontextmanager
async def stdio(example: str, *arguments: str) -> AsyncIterator[Any]:
    """An example over standard input and output."""
    parameters = StdioServerParameters(command=str(EXAMPLES / example), args=list(arguments))
    async with connected(parameters, lambda: stdio_client(parameters)) as session:
        yield session


@contextlib.asynccontextmanager
async def serving(example: str) -> AsyncIterator[str]:
    """An example over HTTP: its address. An interrupt ends it with status 0."""
    command = [str(EXAMPLES / example), '127.0.0.1:0']
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            yield process.stderr.readline().strip()
            process.send_signal(signal.SIGINT)
            status = await anyio.to_thread.run_sync(process.wait, PATIENCE)
            assert status == 0, f'{example} ended with {status}'
        finally:
            process.terminate()


@contextlib.asynccontextmanager
async def http_session(url: str, token: str | None = None) -> AsyncIterator[Any]:
    """A session over streamable HTTP."""
    from mcp.client import streamable_http

    # The name changed between 1.x releases.
    connect = getattr(streamable_http, 'streamable_http_client', None) or streamable_http.streamablehttp_client
    if token is None:
        async with connected(url, lambda: connect(url)) as session:
            yield session
        return
    headers = {'Authorization': f'Bearer {token}'}
    if SDK_MAJOR == 1:
        transport = streamable_http.streamablehttp_client(url, headers)
        async with connected(lambda: None, lambda: transport) as session:
            yield session
        return
    import httpx2

    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE, follow_redirects=True) as client:
        transport = connect(url, http_client=client)
        async with connected(transport, lambda: transport) as session:
            yield session


@contextlib.asynccontextmanager
async def connected(target: Any, transport: Any) -> AsyncIterator[Any]:
    LOGS.clear()
    PAGES.clear()
    callbacks: Any = {'logging_callback': _log, 'elicitation_callback': _elicit, 'sampling_callback': _sample}
    with anyio.fail_after(PATIENCE):
        if SDK_MAJOR >= 2 and not callable(target):
            from mcp import Client

            async with Client(target, mode=ERA, log_level='debug', **callbacks) as client:
                assert (client.protocol_version >= '2026-07-28') == (ERA == 'auto'), client.protocol_version
                yield client
            return
        async with transport() as (read, write, *_), ClientSession(read, write, **callbacks) as session:
            await session.initialize()
            yield session


async def call(session: Any, name: str, **arguments: Any) -> dict[str, Any]:
    return plain(await session.call_tool(name, arguments))


async def echo() -> None:
    async with stdio('echo') as session:
        (tool,) = plain(await session.list_tools())['tools']
        assert tool['description'] == 'Gives back a message.' and tool['title'] == 'Echo', tool
        assert tool['inputSchema']['properties']['message']['description'] == 'What to give back.', tool
        assert tool['inputSchema']['required'] == ['message'], tool
        result = await call(session, 'echo', message='hello')
        assert text_of(result) == 'Tool echo: hello' and result['structuredContent'] == {
            'result': 'Tool echo: hello'
        }, result
        (template,) = plain(await session.list_resource_templates())['resourceTemplates']
        assert template['uriTemplate'] == 'echo://{message}', template
        (contents,) = plain(await session.read_resource('echo://hello%20you'))['contents']
        assert contents['text'] == 'Resource echo: hello you' and contents['mimeType'] == 'text/plain', contents
        (message,) = plain(await session.get_prompt('echo', {'message': 'hi'}))['messages']
        assert message == {'role': 'user', 'content': {'type': 'text', 'text': 'Please process this message: hi'}}, (
            message
        )


async def calculator() -> None:
    async with stdio('calculator') as session:
        tools = {tool['name']: tool for tool in plain(await session.list_tools())['tools']}
        assert list(tools) == ['add', 'calculate', 'summarize', 'divisors'], list(tools)
        assert tools['add']['inputSchema']['properties']['b']['default'] == 1, tools['add']
        assert tools['add']['annotations'] == {'readOnlyHint': True, 'idempotentHint': True}, tools['add']
        assert 'divide' in str(tools['calculate']['inputSchema']), tools['calculate']
        assert set(tools['summarize']['outputSchema']['properties']) == {'count', 'mean'}, tools['summarize']
        assert (await call(session, 'add', a=41))['structuredContent'] == {'result': 42}
        assert text_of(await call(session, 'calculate', left=1, operation='divide', right=4)) == '0.25'
        summary = await call(session, 'summarize', numbers=[1, 2, 6])
        assert summary['structuredContent'] == {'count': 3, 'mean': 3.0}, summary
        for name, arguments, says in [
            ('calculate', {'left': 1, 'operation': 'divide', 'right': 0}, 'division by zero'),
            ('calculate', {'left': 1, 'operation': 'power', 'right': 2}, 'operation'),
            ('add', {'a': 'one'}, '`a`'),
            ('add', {'b': 1}, '"a" is a required property'),
            ('add', {'a': 1, 'c': 2}, "'c' was unexpected"),
            ('add', {'a': 2**63 - 1}, '64 bits'),
        ]:
            result = await call(session, name, **arguments)
            assert result['isError'] and says in text_of(result), result
        seen: list[float] = []

        async def progress(done: float, total: float | None, message: str | None) -> None:
            seen.append(done)

        result = plain(await session.call_tool('divisors', {'number': 400_000}, progress_callback=progress))
        assert result['structuredContent']['result'][-1] == 400_000, result
        with anyio.fail_after(PATIENCE):
            while seen != [100_000, 200_000, 300_000, 400_000]:
                await anyio.sleep(0.01)


async def images() -> None:
    async with stdio('images') as session:
        (image,) = (await call(session, 'swatch', red=255, green=0, blue=0))['content']
        assert image['type'] == 'image' and image['mimeType'] == 'image/x-portable-pixmap', image
        assert base64.b64decode(image['data']).startswith(b'P6 8 8 255\n\xff\0\0'), image
        (audio,) = (await call(session, 'tone'))['content']
        assert audio['type'] == 'audio' and base64.b64decode(audio['data'])[:4] == b'RIFF', audio
        text, image = (await call(session, 'captioned', caption='Black'))['content']
        assert (text['text'], image['type']) == ('Black', 'image'), (text, image)
        text, file, link = (await call(session, 'table', rows=3))['content']
        assert file['resource']['mimeType'] == 'text/csv' and file['resource']['text'] == '0,0\n1,1\n2,4\n', file
        assert link['type'] == 'resource_link' and link['uri'] == 'squares://all', link


async def lifespan() -> None:
    with tempfile.TemporaryDirectory() as directory:
        journal = Path(directory) / 'journal.txt'
        journal.write_text('before\n')
        async with stdio('lifespan', str(journal)) as session:
            assert (await call(session, 'write', entry='one'))['structuredContent'] == {'result': 2}
            assert (await call(session, 'read'))['structuredContent'] == {'result': ['before', 'one']}
        # Closed with the connection, before the process ends; the client does not wait for that.
        with anyio.fail_after(PATIENCE):
            while journal.read_text() != 'before\none\n':
                await anyio.sleep(0.01)


async def prompts() -> None:
    async with stdio('prompts') as session:
        listed = {prompt['name']: prompt for prompt in plain(await session.list_prompts())['prompts']}
        assert listed['review_code']['arguments'] == [
            {'name': 'code', 'description': 'The code.', 'required': True},
            {'name': 'language', 'description': 'The language it is written in.', 'required': False},
        ], listed
        (message,) = plain(await session.get_prompt('review_code', {'code': 'x = 1'}))['messages']
        assert message['content']['text'] == 'Please review this code:\n\nx = 1', message
        messages = plain(await session.get_prompt('debug_error', {'error': 'boom', 'attempts': '3'}))['messages']
        assert [message['role'] for message in messages] == ['user', 'user', 'assistant'], messages
        assert 'besides those 3' in messages[2]['content']['text'], messages
        for arguments in [{}, {'error': 'boom', 'attempts': 'many'}]:
            try:
                await session.get_prompt('debug_error', arguments)
            except Exception as error:
                assert 'debug_error' in str(error), error
            else:
                raise AssertionError(f'{arguments} should have been refused')
        reference = {'type': 'ref/prompt', 'name': 'review_code'}
        if SDK_MAJOR >= 2:
            from mcp_types import PromptReference
        else:
            from mcp.types import PromptReference
        completed = plain(await session.complete(PromptReference(**reference), {'name': 'language', 'value': 'P'}))
        assert completed['completion']['values'] == ['Perl', 'Prolog', 'Python'], completed


async def sqlite_explorer() -> None:
    with tempfile.TemporaryDirectory() as directory:
        database = Path(directory) / 'database.db'
        with contextlib.closing(sqlite3.connect(database)) as connection:
            connection.execute('CREATE TABLE people (name TEXT, age INTEGER)')
            connection.execute("INSERT INTO people VALUES ('Ada', 36), ('Alan', NULL)")
            connection.commit()
        async with stdio('sqlite_explorer', str(database)) as session:
            (contents,) = plain(await session.read_resource('schema://main'))['contents']
            assert contents['text'] == 'CREATE TABLE people (name TEXT, age INTEGER)', contents
            rows = await call(session, 'query', sql='SELECT * FROM people ORDER BY name')
            # Absent and null are the same once the client has parsed it.
            found = [(row['name'], row.get('age')) for row in rows['structuredContent']['result']]
            assert found == [('Ada', 36), ('Alan', None)], rows
            refused = await call(session, 'query', sql='DELETE FROM people')
            assert refused['isError'] and 'readonly' in text_of(refused), refused
            refused = await call(session, 'query', sql='SELECT unknown')
            assert refused['isError'] and 'no such column' in text_of(refused), refused


async def mounting() -> None:
    async with serving('mounting') as address:
        async with http_session(f'{address}/echo/mcp') as session:
            assert text_of(await call(session, 'echo', message='hi')) == 'Echo: hi'
            assert LOGS == ['echoing hi'], LOGS
        async with http_session(f'{address}/math/mcp') as session:
            assert text_of(await call(session, 'add_two', n=40)) == '42'
        async with (
            sse_client(f'{address}/math/sse') as (read, write),
            ClientSession(read, write) as session,
        ):
            with anyio.fail_after(PATIENCE):
                await session.initialize()
                assert text_of(await call(session, 'add_two', n=40)) == '42'


async def stateless_json() -> None:
    async with serving('stateless_json') as address:
        for _ in range(2):
            async with http_session(f'{address}/mcp') as session:
                assert text_of(await call(session, 'double', number=21)) == '42.0'


async def service() -> None:
    with tempfile.TemporaryDirectory() as directory:
        journal = Path(directory) / 'journal.txt'
        journal.write_text('rain\n')
        async with stdio('service', str(journal)) as session:
            tools = plain(await session.list_tools())['tools']
            assert [tool['name'] for tool in tools] == ['write', 'search'], tools
            assert tools[0]['inputSchema']['properties']['entry']['description'] == 'One line.', tools
            assert (await call(session, 'write', entry='sun and rain'))['structuredContent'] == {'result': 2}
            refused = await call(session, 'write', entry='two\nlines')
            assert refused['isError'] and text_of(refused) == 'an entry is one line', refused
            found = await call(session, 'search', word='sun')
            assert found['structuredContent'] == {'result': ['sun and rain']}, found
            (contents,) = plain(await session.read_resource('journal://0'))['contents']
            assert contents['text'] == 'rain' and contents['mimeType'] == 'text/plain', contents
            (message,) = plain(await session.get_prompt('summarize'))['messages']
            assert message['content']['text'] == 'Summarize this journal:\n\nrain\nsun and rain', message
        assert journal.read_text() == 'rain\nsun and rain\n'


async def layers() -> None:
    async with stdio('layers') as session:
        assert (await call(session, 'keep', note='a'))['structuredContent'] == {'result': 1}
        refused = await call(session, 'forget')
        assert refused['isError'] and 'confirm: true' in text_of(refused), refused
        assert (await call(session, 'keep', note='b'))['structuredContent'] == {'result': 2}
        assert not (await call(session, 'forget', confirm=True)).get('isError')
        assert (await call(session, 'keep', note='c'))['structuredContent'] == {'result': 1}
        failed = await call(session, 'read_settings')
        assert failed['isError'] and 'internal error' in text_of(failed), failed


async def in_axum() -> None:
    async with serving('in_axum') as address:
        for visit in [1, 2]:
            page = await anyio.to_thread.run_sync(lambda: urllib.request.urlopen(address, timeout=PATIENCE).read())
            assert page.decode() == f'visit {visit}', page
        async with http_session(f'{address}/mcp') as session:
            assert (await call(session, 'count_visits'))['structuredContent'] == {'result': 2}


async def low_level() -> None:
    async with serving('low_level') as address, http_session(f'{address}/mcp') as session:
        tools = plain(await session.list_tools())['tools']
        assert [tool['name'] for tool in tools] == ['english', 'french', 'german'], tools
        assert text_of(await call(session, 'french')) == 'Bonjour, stranger!'


async def quickstart() -> None:
    async with stdio('quickstart') as session:
        assert (await call(session, 'add', a=20, b=22))['structuredContent'] == {'result': 42}
        (contents,) = plain(await session.read_resource('greeting://Ada'))['contents']
        assert contents['text'] == 'Hello, Ada!', contents


async def resources() -> None:
    async with stdio('resources') as session:
        (resource,) = plain(await session.list_resources())['resources']
        assert resource['uri'] == 'config://app' and resource['mimeType'] == 'text/plain', resource
        (contents,) = plain(await session.read_resource('config://app'))['contents']
        assert contents['text'] == 'App configuration here', contents
        (contents,) = plain(await session.read_resource('users://7/profile'))['contents']
        assert contents['text'] == 'Profile data for user 7', contents
        for unknown in ['users://77/profile', 'users://ada/profile']:
            try:
                await session.read_resource(unknown)
            except Exception as error:
                assert 'user' in str(error), error
            else:
                raise AssertionError(f'{unknown} should not have been found')


class Forecast(http.server.BaseHTTPRequestHandler):
    """A weather service that knows the path alone."""

    def do_GET(self) -> None:
        self.send_response(404 if 'Atlantis' in self.path else 200)
        self.end_headers()
        self.wfile.write(f'sunny at {self.path}'.encode())

    def log_message(self, *_: object) -> None:
        pass


async def weather() -> None:
    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), Forecast) as service:
        threading.Thread(target=service.serve_forever, daemon=True).start()
        async with stdio('weather', f'http://127.0.0.1:{service.server_port}') as session:
            assert (await call(session, 'calculate_bmi', weight_kg=81, height_m=1.8))['structuredContent'] == {
                'result': 25.0
            }
            refused = await call(session, 'calculate_bmi', weight_kg=81, height_m=0)
            assert refused['isError'] and 'height_m' in text_of(refused), refused
            assert text_of(await call(session, 'fetch_weather', city='Paris')) == 'sunny at /Paris'
            assert text_of(await call(session, 'fetch_weather', city='../x?y')) == 'sunny at /..%2Fx%3Fy'
            missing = await call(session, 'fetch_weather', city='Atlantis')
            assert missing['isError'] and '404' in text_of(missing), missing
        service.shutdown()


def png(width: int, height: int) -> bytes:
    """A grey picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))

    rows = zlib.compress((b'\0' + b'\x80' * width) * height)
    head = struct.pack('>IIBBBBB', width, height, 8, 0, 0, 0, 0)
    return b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', head) + chunk(b'IDAT', rows) + chunk(b'IEND', b'')


async def thumbnail() -> None:
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / 'grey.png').write_bytes(png(400, 200))
        async with stdio('thumbnail', directory) as session:
            (image,) = (await call(session, 'create_thumbnail', image_path='grey.png'))['content']
            assert image['mimeType'] == 'image/png', image
            assert struct.unpack('>II', base64.b64decode(image['data'])[16:24]) == (100, 50), image
            for path in ['../grey.png', str(Path(directory) / 'grey.png')]:
                refused = await call(session, 'create_thumbnail', image_path=path)
                assert refused['isError'] and 'leaves the directory' in text_of(refused), refused


async def long_task() -> None:
    async with stdio('long_task') as session:
        seen: list[tuple[float, float | None]] = []

        async def progress(done: float, total: float | None, message: str | None) -> None:
            seen.append((done, total))

        arguments = {'files': ['a.txt', 'b.txt']}
        result = plain(await session.call_tool('long_task', arguments, progress_callback=progress))
        assert text_of(result) == 'Processing complete: 42 bytes', result
        with anyio.fail_after(PATIENCE):
            while seen != [(1, 2), (2, 2)] or LOGS != ['Processing a.txt', 'Processing b.txt']:
                await anyio.sleep(0.01)
        failed = await call(session, 'long_task', files=['c.txt'])
        assert failed['isError'] and 'no file c.txt' in text_of(failed), failed


async def streamable_http() -> None:
    async with serving('streamable_http') as address:
        for kind in ['', '/stateless', '/json']:
            async with http_session(f'{address}{kind}/mcp') as session:
                assert text_of(await call(session, 'echo', message='hi')) == 'Echo: hi', kind


async def sse_mounts() -> None:
    async with serving('sse_mounts') as address:
        for path, headers, name in [
            ('/github/sse', {}, 'GitHub API'),
            ('/browser/sse', {}, 'Browser'),
            ('/search/events', {}, 'Search'),
            ('/sse', {'Host': 'mcp.acme.corp'}, 'Acme'),
        ]:
            async with (
                sse_client(f'{address}{path}', headers=headers) as (read, write),
                ClientSession(read, write) as session,
            ):
                with anyio.fail_after(PATIENCE):
                    await session.initialize()
                    assert text_of(await call(session, 'name')) == name


async def low_level_prompt() -> None:
    async with stdio('low_level_prompt') as session:
        (prompt,) = plain(await session.list_prompts())['prompts']
        assert prompt['name'] == 'example-prompt', prompt
        assert prompt['arguments'] == [{'name': 'arg1', 'description': 'Example argument', 'required': True}], prompt
        found = plain(await session.get_prompt('example-prompt', {'arg1': 'value'}))
        assert found['description'] == 'Example prompt', found
        assert found['messages'][0]['content']['text'] == 'Example prompt text', found
        try:
            await session.get_prompt('other', {})
        except Exception as error:
            assert 'Unknown prompt: other' in str(error), error
        else:
            raise AssertionError('an unknown prompt should have been refused')


async def elicitation() -> None:
    async with stdio('elicitation') as session:
        ask = {'date': '2026-12-25', 'party_size': 4}
        for content, says in [
            ({'check_alternative': True, 'alternative_date': '2026-12-27'}, 'Booked for 2026-12-27'),
            ({'check_alternative': False}, 'No booking made'),
            (None, 'Booking cancelled'),
        ]:
            FORMS.append(content)
            assert says in text_of(await call(session, 'book_table', **ask)), says
        assert 'Booked a table for 4' in text_of(await call(session, 'book_table', date='2026-12-24', party_size=4))
        assert text_of(await call(session, 'pay')) == 'The payment page is open'
        assert PAGES == ['https://pay.example.com/table'], PAGES


async def sampling() -> None:
    async with stdio('sampling') as session:
        assert text_of(await call(session, 'generate_poem', topic='rust')) == (
            'a model on: Write a short poem about rust'
        )


async def notifications() -> None:
    async with stdio('notifications') as session:
        assert text_of(await call(session, 'process_data', data='x')) == 'Processed: x'
        with anyio.fail_after(PATIENCE):
            while LOGS != ["Processing 'x'", 'Starting', 'This is experimental', '(This is just a demo)']:
                await anyio.sleep(0.01)
        (contents,) = plain(await session.read_resource('count://processed'))['contents']
        assert contents['text'] == '1', contents
        await call(session, 'add_more')
        names = [tool['name'] for tool in plain(await session.list_tools())['tools']]
        assert names == ['process_data', 'add_more', 'more'], names
        assert text_of(await call(session, 'more')) == 'done'


async def pagination() -> None:
    async with stdio('pagination') as session:
        found: list[str] = []
        pages, cursor = 0, None
        while pages == 0 or cursor:
            page = plain(await list_page(session, cursor))
            found += [resource['uri'] for resource in page['resources']]
            pages, cursor = pages + 1, page.get('nextCursor')
        assert found == [f'resource://items/{number}' for number in range(1, 101)], found
        assert pages == 10, pages


async def list_page(session: Any, cursor: str | None) -> Any:
    if SDK_MAJOR >= 2 and not isinstance(session, ClientSession):
        return await session.list_resources(cursor=cursor)
    return await session.list_resources(cursor)


async def structured() -> None:
    async with stdio('structured') as session:
        tools = {tool['name']: tool for tool in plain(await session.list_tools())['tools']}
        schema = tools['get_weather']['outputSchema']
        assert schema['properties']['temperature']['description'] == 'Temperature in Celsius', schema
        assert 'outputSchema' not in tools['advanced'], tools['advanced']
        weather = await call(session, 'get_weather', city='Paris')
        assert weather['structuredContent'] == {'temperature': 22.5, 'humidity': 45.0, 'condition': 'sunny'}, weather
        assert json.loads(text_of(weather)) == weather['structuredContent'], weather
        for name, data in [
            ('get_statistics', {'mean': 42.5, 'median': 40.0}),
            ('list_cities', {'result': ['London', 'Paris']}),
            ('advanced', {'rows': [1, 2]}),
        ]:
            assert (await call(session, name))['structuredContent'] == data, name
        assert (await call(session, 'advanced'))['_meta']['hidden'] == 'for the client'


async def protected() -> None:
    async with serving('protected') as address:
        with contextlib.closing(anonymous(f'{address}/mcp')) as refused:
            challenge = refused.headers['www-authenticate']
            assert refused.status == 401 and 'scope="weather"' in challenge, challenge
        url = challenge.split('resource_metadata="')[1].split('"')[0]
        metadata = json.loads(urllib.request.urlopen(url, timeout=PATIENCE).read())
        assert metadata['resource'] == f'{address}/mcp', metadata
        assert metadata['authorization_servers'] == ['https://auth.example.com'], metadata
        async with http_session(f'{address}/mcp', 'writer') as session:
            assert text_of(await call(session, 'get_weather', city='Paris')) == '22 degrees in Paris, writer'
            assert text_of(await call(session, 'set_weather', city='Paris', degrees=3)) == '3 degrees in Paris'


def anonymous(url: str) -> Any:
    try:
        return urllib.request.urlopen(urllib.request.Request(url, data=b'{}', method='POST'), timeout=PATIENCE)
    except urllib.error.HTTPError as error:
        return error


CASES = [
    echo,
    calculator,
    images,
    lifespan,
    prompts,
    sqlite_explorer,
    mounting,
    stateless_json,
    service,
    layers,
    in_axum,
    low_level,
    quickstart,
    resources,
    weather,
    thumbnail,
    long_task,
    streamable_http,
    sse_mounts,
    low_level_prompt,
    elicitation,
    sampling,
    notifications,
    pagination,
    structured,
    protected,
]


def main() -> None:
    global EXAMPLES, ERA
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--examples', type=Path, required=True, help='the directory of the built examples')
    parser.add_argument('--era', choices=['auto', 'legacy'], default='auto')
    parser.add_argument('--sdk', type=int, required=True, help='major version of `mcp` that this interpreter must have')
    parser.add_argument('cases', nargs='*', help='only these')
    options = parser.parse_args()
    if options.sdk != SDK_MAJOR:
        parser.error(f'this interpreter has mcp {SDK_MAJOR}.x, not {options.sdk}.x')
    EXAMPLES, ERA = options.examples, options.era
    for case in CASES:
        if not options.cases or case.__name__ in options.cases:
            print(case.__name__, flush=True)
            anyio.run(case)


if __name__ == '__main__':
    main()
