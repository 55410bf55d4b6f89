"""Pydantic AI with Brumate as an MCP server.

The model is a script, so that this runs without a key. For a real one write
`Agent("anthropic:claude-sonnet-4-5", toolsets=[python])`, and remove `script`.

    pip install "pydantic-ai-slim[mcp]"
"""

import asyncio

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.function import AgentInfo, FunctionModel

CODE = """
import numpy as np
numbers = np.arange(1000)
{"sum": int(numbers.sum()), "mean": float(numbers.mean())}
"""


def script(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Asks for the tool, then says what it answered."""
    part = messages[-1].parts[-1]
    if isinstance(part, ToolReturnPart):
        return ModelResponse(parts=[TextPart(f"The tool says: {part.model_response_str()}")])
    [tool] = info.function_tools
    return ModelResponse(parts=[ToolCallPart(tool.name, {"python_code": CODE})])


async def main() -> None:
    python = MCPToolset(StdioTransport(command="brumate", args=["stdio"]))
    agent = Agent(FunctionModel(script), toolsets=[python])
    async with agent:
        result = await agent.run("What are the sum and the mean of the numbers below 1000?")
    print(result.output)


if __name__ == "__main__":
    asyncio.run(main())
