"""Pydantic AI with a tool of your own upon `brumate.AsyncSandbox`: the data of the application, the code of the model.

The model is a script, so that this runs without a key. For a real one write
`Agent("anthropic:claude-sonnet-4-5", deps_type=dict)`, and remove `script`.

    pip install brumate pydantic-ai-slim
"""

import asyncio

from pydantic_ai import Agent, ModelRetry, RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from brumate import AsyncSandbox

WRONG = "import pandas as pd\npd.Series(price).sum()"
RIGHT = "import pandas as pd\nfloat(pd.Series(prices).sum())"


def script(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Makes a mistake, corrects it when it has seen the traceback, and says the answer."""
    part = messages[-1].parts[-1]
    if not isinstance(part, ToolReturnPart):
        return ModelResponse(parts=[ToolCallPart("python", {"code": WRONG})])
    if part.outcome == "retried":
        print("retried:", str(part.content).splitlines()[-1])
        return ModelResponse(parts=[ToolCallPart("python", {"code": RIGHT})])
    return ModelResponse(parts=[TextPart(f"All of it costs {part.content}.")])


agent = Agent(FunctionModel(script), deps_type=dict)
box = AsyncSandbox(timeout=30, memory="512MiB")


@agent.tool(retries=3)
async def python(context: RunContext[dict], code: str) -> str:
    """Runs Python code; the value of the last expression is the answer. The dictionary `prices` is there."""
    result = await box.run(code, {"prices": context.deps})
    if not result.success:
        raise ModelRetry(result.error)
    return result.stdout + (result.text or "")


async def main() -> None:
    result = await agent.run("What does all of it cost?", deps={"apples": 2.5, "pears": 3.25})
    print(result.output)


if __name__ == "__main__":
    asyncio.run(main())
