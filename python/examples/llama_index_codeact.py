"""LlamaIndex: a `CodeActAgent` whose code runs in a session of Brumate.

The model is the function `script`, so the example runs without an API key. To use a real one, write
`llm=Anthropic("claude-sonnet-4-5")` (package `llama-index-llms-anthropic`) and remove `script`.

    pip install brumate llama-index-core
"""

import asyncio

from llama_index.core.agent.workflow import CodeActAgent
from llama_index.core.llms import ChatMessage
from llama_index.core.llms.mock import MockFunctionCallingLLM

from brumate import AsyncSandbox, AsyncSession

STEPS = [
    "<execute>\nimport numpy as np\nnumbers = np.arange(1000)\n</execute>",
    "<execute>\nprint('sum', numbers.sum(), 'mean', numbers.mean())\n</execute>",
]


def script(messages: list[ChatMessage], **options: object) -> ChatMessage:
    """Returns the next message of the model: first two steps of code, then an answer with the output of the second
    step."""
    written = sum(message.role == "assistant" for message in messages)
    if written < len(STEPS):
        return ChatMessage(STEPS[written], role="assistant")
    answer = messages[-1].content.splitlines()[-1]
    return ChatMessage(f"The code says: {answer}", role="assistant")


def runner(session: AsyncSession):
    """Returns the function that runs the agent's code in the session."""

    async def execute(code: str) -> str:
        result = await session.run(code)
        return result.stdout + result.stderr + (result.error or result.text or "")

    return execute


async def main() -> None:
    async with await AsyncSandbox().session() as session:
        agent = CodeActAgent(code_execute_fn=runner(session), llm=MockFunctionCallingLLM(response_generator=script))
        print(await agent.run("What are the sum and the mean of the numbers below 1000?"))


if __name__ == "__main__":
    asyncio.run(main())
