"""A client of the Python SDK, 1.x or 2.x: framework_client.py URL sse|initialize|modern SESSIONS.

Checks what a server of `framework_server.py` answers, and prints what each connection got from `counted`, twice.
"""

import asyncio
import contextlib
import sys

from mcp import ClientSession
from mcp.client import sse, streamable_http

URL, HOW, CONNECTIONS = sys.argv[1], sys.argv[2], int(sys.argv[3])


@contextlib.asynccontextmanager
async def connected():
    if HOW == "modern":
        from mcp import Client

        async with Client(URL, mode="auto") as client:
            assert client.protocol_version == "2026-07-28", client.protocol_version
            yield client
        return
    connect = getattr(streamable_http, "streamablehttp_client", None) or streamable_http.streamable_http_client
    async with (sse.sse_client if HOW == "sse" else connect)(URL) as streams:
        async with ClientSession(*streams[:2]) as session:
            await session.initialize()
            yield session


def is_error(result):
    return result.is_error if hasattr(result, "is_error") else result.isError


def text(result):
    assert not is_error(result), result
    return result.content[0].text


async def use(session):
    assert len((await session.list_tools()).tools) == 5
    assert text(await session.call_tool("add", {"a": 1, "b": 2})) == "3"
    assert len(text(await session.call_tool("large", {}))) == 300_000
    steps = []

    async def progress(done, total, message):
        steps.append(done)

    assert text(await session.call_tool("steps", {}, progress_callback=progress)) == "stepped"
    assert steps in ([1, 2, 3, 4, 5], []), steps
    results = await asyncio.gather(*[session.call_tool("add", {"a": n, "b": 1}) for n in range(20)])
    assert [text(result) for result in results] == [str(n + 1) for n in range(20)]
    failed = await session.call_tool("busy", {})
    # The newer SDK does not say why.
    assert is_error(failed) and failed.content[0].text.startswith("Error executing tool busy"), failed
    for _ in range(2):
        print(text(await session.call_tool("counted", {})))


async def main():
    async with contextlib.AsyncExitStack() as stack:
        sessions = [await stack.enter_async_context(connected()) for _ in range(CONNECTIONS)]
        for session in sessions:
            await use(session)


asyncio.run(main())
