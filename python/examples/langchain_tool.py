"""LangChain with a tool upon a session of Brumate: what one call defines is there in the next.

The model is a script, so that this runs without a key. For a real one write
`create_agent("anthropic:claude-sonnet-4-5", [python])`, and remove `Script`.

    pip install brumate langchain
"""

from langchain.agents import create_agent
from langchain.tools import BaseTool, tool
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from brumate import Sandbox, Session


def python_tool(session: Session) -> BaseTool:
    """Returns a tool that runs code in the session."""

    @tool
    def python(code: str) -> str:
        """Runs Python code. Variables and files stay for the next call; the last expression's value is the answer."""
        result = session.run(code)
        return "\n".join(text for text in (result.stdout, result.stderr, result.text, result.error) if text)

    return python


def call(code: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "python", "args": {"code": code}, "id": f"call-{hash(code)}"}])


class Script(GenericFakeChatModel):
    """A model that says `messages`, and in the end what the tool answered."""

    def bind_tools(self, tools: list, **options: object) -> "Script":
        return self

    def _generate(self, messages: list[BaseMessage], *arguments: object, **options: object) -> ChatResult:
        said = next(self.messages, None) or AIMessage(f"The tool says: {messages[-1].text}")
        return ChatResult(generations=[ChatGeneration(message=said)])


def main() -> None:
    with Sandbox().session() as session:
        session.upload(b"city,euros\nGraz,120\nLinz,80\nGraz,100\n", "sales.csv")
        load = call('import pandas as pd\nsales = pd.read_csv("sales.csv")')
        ask = call('sales.groupby("city")["euros"].sum().to_dict()')
        agent = create_agent(Script(messages=iter([load, ask])), [python_tool(session)])
        answer = agent.invoke({"messages": [{"role": "user", "content": "How much was sold in each city?"}]})
        print(answer["messages"][-1].text)


if __name__ == "__main__":
    main()
