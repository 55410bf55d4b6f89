"""Brumate with the plain MCP client of the package `mcp`: a session that keeps its state from call to call.

There is no model here. An agent gives the tools of `list_tools()` to its model, and sends the calls that it asks for.

    pip install mcp
"""

import asyncio

from mcp import Client, StdioServerParameters

LOAD = """
import pandas as pd
sales = pd.DataFrame({"city": ["Graz", "Linz", "Graz"], "euros": [120, 80, 100]})
print(len(sales), "rows")
"""
ASK = 'sales.groupby("city")["euros"].sum().to_dict()'


async def main() -> None:
    # The client hands almost none of this program's variables to the server: settings are options, or go into `env`.
    server = StdioServerParameters(command="brumate", args=["stdio", "--tools", "all"])
    async with Client(server) as client:
        print("tools:", ", ".join(tool.name for tool in (await client.list_tools()).tools))

        # Without a session: each call has an interpreter of its own.
        answer = await client.call_tool("run_python_code", {"python_code": "sum(range(1000))"})
        print("sum:", answer.structured_content["return_value"])

        # The first call makes a session; its id continues it.
        first = await client.call_tool("execute_code", {"code": LOAD})
        session = first.structured_content["session_info"]["session_id"]
        second = await client.call_tool("execute_code", {"code": ASK, "session_id": session})
        print("sales:", second.structured_content["result"])
        await client.call_tool("clear_session", {"session_id": session})


if __name__ == "__main__":
    asyncio.run(main())
