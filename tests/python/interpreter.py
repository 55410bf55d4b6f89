"""The code interpreter as a client sees it: its tools, its resources, and servers that share a data directory."""

from __future__ import annotations

import json
import os
import shlex
import tempfile
from typing import Any

import anyio

from cases import same
from harness import PATIENCE, Setup, connect, plain

EXPIRED = (
    'SessionExpiredError: Session {id} not found or has expired. Sessions expire after 30 minutes of inactivity. Please '
    'create a new session (use session_id="" or session_id="0") and re-execute your setup code.'
)


ENGINE = shlex.split(os.environ.get('BRUMATE_TEST_ENGINE', ''))
"""Options for another engine than the sandbox."""
NATIVE = bool(ENGINE)
"""Whether sessions are native kernels. Those end with their process, and their libraries are the host's."""


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

    def server(self, *flags: str, tools: str = 'interpreter', **options: Any) -> Any:
        return connect(self.setup, '--tools', tools, '--data-dir', self.data.name, *ENGINE, *flags, **options)


async def resources(client: Any) -> list[dict[str, Any]]:
    """The resources that the client's first page of `resources/list` has."""
    return plain(await client.session.list_resources())['resources']
