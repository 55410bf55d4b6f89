"""Authorizes the Python SDK's client at the example `authorization`, as a person with a browser would. Exit status 0: every step worked."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import tempfile
import urllib.parse
from pathlib import Path
from typing import Any

import anyio
from mcp import ClientSession
from mcp.client import streamable_http
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import OAuthClientMetadata

from harness import PATIENCE, SDK_MAJOR, plain, text_of
from person import agree

if SDK_MAJOR == 1:
    import httpx
else:
    import httpx2 as httpx

BACK = 'http://127.0.0.1:7/back'
ERA = sys.argv[2]


class Store:
    """Tokens and the client's identity, in memory."""

    tokens: Any = None
    client: Any = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client_info: Any) -> None:
        self.client = client_info


class Person:
    """Agrees to everything that a page asks."""

    def __init__(self) -> None:
        self.scopes: list[str] = []
        self.answer = ''

    async def open(self, page: str) -> None:
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(page).query)
        self.scopes.append(query['scope'][0])
        self.answer = await anyio.to_thread.run_sync(agree, page)
        assert self.answer.startswith(BACK), self.answer

    async def returned(self) -> Any:
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.answer).query)
        code, state, issuer = (query[name][0] for name in ('code', 'state', 'iss'))
        if SDK_MAJOR == 1:
            return code, state
        from mcp.client.auth import AuthorizationCodeResult

        return AuthorizationCodeResult(code=code, state=state, iss=issuer)


@contextlib.asynccontextmanager
async def session(url: str, provider: OAuthClientProvider) -> Any:
    client = httpx.AsyncClient(auth=provider, timeout=PATIENCE, follow_redirects=True)
    async with client:
        transport = streamable_http.streamable_http_client(url, http_client=client)
        if SDK_MAJOR == 1:
            async with transport as streams, ClientSession(streams[0], streams[1]) as found:
                await found.initialize()
                yield found
            return
        from mcp import Client

        async with Client(transport, mode=ERA) as found:
            assert (found.protocol_version >= '2026-07-28') == (ERA == 'auto'), found.protocol_version
            yield found


async def call(session: Any, name: str, **arguments: Any) -> str:
    return text_of(plain(await session.call_tool(name, arguments)))


async def check(url: str) -> None:
    store, person = Store(), Person()
    metadata = OAuthClientMetadata(
        client_name='Python', redirect_uris=[BACK], grant_types=['authorization_code', 'refresh_token']
    )
    provider = OAuthClientProvider(f'{url}/mcp', metadata, store, person.open, person.returned)
    async with session(f'{url}/mcp', provider) as found:
        tools = {tool.name for tool in (await found.list_tools()).tools}
        assert tools == {'who', 'publish'}, tools
        assert await call(found, 'who') == 'the owner with the scopes notes'
        # The tool needs one scope more: the client asks the person again.
        assert await call(found, 'publish', note='hello') == 'the owner published: hello'
    assert person.scopes[0] == 'notes' and set(person.scopes[-1].split()) == {'notes', 'notes:publish'}, person.scopes
    asked = len(person.scopes)
    # What is kept is enough for another connection, and a token that is not valid is replaced.
    store.tokens = store.tokens.model_copy(update={'access_token': 'over', 'expires_in': 0})
    provider = OAuthClientProvider(f'{url}/mcp', metadata, store, person.open, person.returned)
    async with session(f'{url}/mcp', provider) as found:
        assert (await call(found, 'who')).startswith('the owner')
    print(f'{asked} authorizations, then {len(person.scopes) - asked}')


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        command = [str(Path(sys.argv[1]) / 'authorization'), '127.0.0.1:0', str(Path(directory) / 'auth')]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            try:
                assert process.stderr is not None
                anyio.run(check, process.stderr.readline().strip())
            finally:
                process.send_signal(signal.SIGINT)


if __name__ == '__main__':
    main()
