"""Examples that are about tools: arguments, results, content, state, code around calls.

Every coroutine function without parameters is a case, named as its example; `sdk_examples.py` runs them.
"""

from __future__ import annotations

import base64
import contextlib
import http.server
import json
import sqlite3
import struct
import tempfile
import threading
import zlib
from pathlib import Path

import anyio

from harness import PATIENCE, plain, text_of
from sdk_connections import call, stdio


async def echo() -> None:
    async with stdio('echo') as session:
        (tool,) = plain(await session.list_tools())['tools']
        assert tool['description'] == 'Gives back a message.' and tool['title'] == 'Echo', tool
        assert tool['inputSchema']['properties']['message']['description'] == 'What to give back.', tool
        assert tool['inputSchema']['required'] == ['message'], tool
        result = await call(session, 'echo', message='hello')
        assert text_of(result) == 'Tool echo: hello' and result.get('structuredContent') is None, result
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


async def quickstart() -> None:
    async with stdio('quickstart') as session:
        assert (await call(session, 'add', a=20, b=22))['structuredContent'] == {'result': 42}
        (contents,) = plain(await session.read_resource('greeting://Ada'))['contents']
        assert contents['text'] == 'Hello, Ada!', contents


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
