"""Examples that serve HTTP.

Every coroutine function without parameters is a case, named as its example; `sdk_examples.py` runs them.
"""

from __future__ import annotations

import contextlib
import json
import urllib.error
import urllib.request
from typing import Any

import anyio
from mcp import ClientSession
from mcp.client.sse import sse_client

from harness import PATIENCE, plain, text_of
from sdk_connections import LOGS, call, http_session, serving


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
