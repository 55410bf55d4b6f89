"""The OpenAI Agents SDK with Brumate as an MCP server.

The model is a script, so that this runs without a key. For a real one leave `model=` and `set_tracing_disabled` away:
`Agent("analyst", mcp_servers=[python])`, with OPENAI_API_KEY set.

    pip install openai-agents
"""

import asyncio

from agents import Agent, Runner, set_tracing_disabled
from agents.items import TResponseOutputItem
from agents.mcp import MCPServerStdio
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call

CODE = """
import numpy as np
numbers = np.arange(1000)
print("numbers:", len(numbers))
int(numbers.sum())
"""


def ask(model_call: ModelCall) -> list[TResponseOutputItem]:
    [tool] = model_call.tools
    return [function_call(tool.name, {"python_code": CODE}, call_id="call-1")]


def answer(model_call: ModelCall) -> list[TResponseOutputItem]:
    [content] = model_call.input[-1]["output"]
    return [assistant_message(f"The tool says:\n{content['text']}")]


async def main() -> None:
    set_tracing_disabled(True)
    # The default of 5 seconds is too short for the first call on a machine where `brumate warmup` has not run.
    async with MCPServerStdio({"command": "brumate", "args": ["stdio"]}, client_session_timeout_seconds=120) as python:
        script = ScriptedModel([ModelStep.respond(ask), ModelStep.respond(answer)])
        agent = Agent("analyst", model=script, mcp_servers=[python])
        result = await Runner.run(agent, "What is the sum of the numbers below 1000?")
        print(result.final_output)


if __name__ == "__main__":
    asyncio.run(main())
