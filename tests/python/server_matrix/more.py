"""What the Python SDK's client asks `server.py` for besides what `interop.py` does: completion, sampling and roots.

Prints a JSON object, as `interop.py` does.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import anyio
from mcp import ClientSession
from mcp.types import CreateMessageResult, ListRootsResult, PromptReference, Root, TextContent

from harness import PATIENCE, SDK_MAJOR, plain, text_of
from interop import expect, open_transport, parse, told


async def completion(session: Any) -> None:
    reference = PromptReference(type='ref/prompt', name='greet')
    found = plain(await session.complete(reference, {'name': 'name', 'value': 'A'}))
    expect(found['completion']['values'], ['Ada', 'Alan'])


async def sampling(session: Any) -> None:
    expect(text_of(plain(await session.call_tool('samples', {}))), 'a model: Who are you?')


async def roots(session: Any) -> None:
    result = plain(await session.call_tool('roots', {}))
    expect(result['structuredContent'], {'result': ['file:///a', 'file:///b']})


AREAS: dict[str, Callable[..., Any]] = {'completion': completion, 'sampling': sampling, 'roots': roots}


async def sample(_context: Any, params: Any) -> CreateMessageResult:
    """The client's model: it repeats the question."""
    content = params.messages[0].content
    content = content[0] if isinstance(content, list) else content
    return CreateMessageResult(role='assistant', model='a model', content=TextContent(type='text', text=content.text))


async def list_roots(_context: Any) -> ListRootsResult:
    return ListRootsResult(roots=[Root(uri='file:///a'), Root(uri='file:///b')])


async def run(options: argparse.Namespace) -> dict[str, str]:
    found: dict[str, str] = {}
    callbacks = {'sampling_callback': sample, 'list_roots_callback': list_roots}

    async def areas(session: Any, protocol: str) -> None:
        found['connected'] = protocol
        for name in options.areas:
            try:
                with anyio.fail_after(PATIENCE):
                    await AREAS[name](session)
                found[name] = 'ok'
            except Exception as error:
                found[name] = told(error)

    streams = open_transport(options.transport, options.target)
    try:
        if SDK_MAJOR >= 2:
            from mcp import Client

            mode = 'auto' if options.era == 'modern' else 'legacy'
            async with Client(streams, mode=mode, **callbacks) as client:
                await areas(client, client.protocol_version)
        else:
            async with streams as (read, write, *_), ClientSession(read, write, **callbacks) as session:
                await areas(session, (await session.initialize()).protocolVersion)
    except Exception as error:
        found['closing' if 'connected' in found else 'connecting'] = told(error)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--transport', required=True, choices=['stdio', 'http', 'sse'])
    parser.add_argument('--era', required=True, choices=['legacy', 'modern'])
    parser.add_argument('--areas', nargs='*', default=list(AREAS), help='areas that are tried; all by default')
    print(json.dumps(anyio.run(run, parse(parser))))


if __name__ == '__main__':
    main()
