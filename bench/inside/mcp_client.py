"""A client of the Python SDK: connects, lists the tools, and calls `echo`, with OPEN calls under way at a time.

Prints the seconds of each as JSON. `mcp_client.py legacy|modern CALLS OPEN URL|COMMAND…`
"""

import asyncio
import json
import sys
import time

from mcp import Client, StdioServerParameters


async def main(era, calls, open_calls, target):
    server = target[0] if target[0].startswith("http") else StdioServerParameters(command=target[0], args=target[1:])
    begin = time.perf_counter()
    async with Client(server, mode="legacy" if era == "legacy" else "auto") as client:
        connected = time.perf_counter()
        tools = (await client.list_tools()).tools
        listed = time.perf_counter()
        assert any(tool.name == "echo" for tool in tools)
        assert (client.protocol_version >= "2026-07-28") == (era == "modern"), client.protocol_version
        numbers = iter(range(calls))

        async def call():
            for number in numbers:
                result = await client.call_tool("echo", {"message": f"message {number}"})
                assert result.content[0].text == f"message {number}"

        await asyncio.gather(*(call() for _ in range(open_calls)))
        called = time.perf_counter()
    print(json.dumps({"connect": connected - begin, "list": listed - connected, "calls": called - listed}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]))
