"""smolagents with a Python executor upon a session of Brumate: the code of a `CodeAgent` runs in the sandbox.

The agent's tools run here, beside the agent: the sandbox has no network. Its code asks for them with `input()`, which
carries 16 KiB to a tool and any answer back, 100 times in a step.

The model is a script, so that this runs without a key. For a real one give the agent another model, such as
`InferenceClientModel()`, and remove `Script`.

    pip install brumate smolagents
"""

import json

from smolagents import ChatMessage, CodeAgent, LogLevel, MessageRole, Model, tool
from smolagents.local_python_executor import CodeOutput, PythonExecutor

from brumate import Sandbox, Session

PRELUDE = """
import json

class FinalAnswer(BaseException):
    pass

def final_answer(answer):
    global _answer
    _answer = answer
    raise FinalAnswer

def _tool(name):
    def call(*args, **kwargs):
        answer = json.loads(input(json.dumps([name, args, kwargs])))
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["value"]
    return call
"""


class BrumateExecutor(PythonExecutor):
    """Runs the agent's code in a session."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.session.run(PRELUDE).raise_for_error()

    def send_tools(self, tools: dict) -> None:
        self.tools = {name: function for name, function in tools.items() if name != "final_answer"}
        for name in self.tools:
            self.session.run(f"{name} = _tool({name!r})").raise_for_error()

    def send_variables(self, variables: dict) -> None:
        for name, value in variables.items():
            self.session[name] = value

    def __call__(self, code_action: str) -> CodeOutput:
        result = self.session.run(code_action, input=self._call_tool)
        if not result.success and result.error.endswith("\nFinalAnswer"):
            return CodeOutput(self.session["_answer"], result.stdout, is_final_answer=True)
        return CodeOutput(result.raise_for_error().text, result.stdout, is_final_answer=False)

    def _call_tool(self, prompt: str, password: bool) -> str:
        try:
            name, args, kwargs = json.loads(prompt)
            return json.dumps({"value": self.tools[name](*args, **kwargs)})
        except Exception as error:
            return json.dumps({"error": f"{type(error).__name__}: {error}"})


@tool
def rate(currency: str) -> float:
    """Says how many euros one unit of a currency is worth.

    Args:
        currency: its code of three letters
    """
    return {"CHF": 1.08, "GBP": 1.15}[currency]


class Script(Model):
    """A model that writes two steps of code."""

    steps = iter(
        [
            "import numpy as np\namounts = np.arange(1000)\nprint(amounts.sum())",
            "final_answer({'sum': int(amounts.sum()), 'euros': round(float(amounts.mean() * rate('CHF')), 2)})",
        ]
    )

    def generate(self, messages: list, **options: object) -> ChatMessage:
        return ChatMessage(MessageRole.ASSISTANT, f"<code>\n{next(self.steps)}\n</code>")


def main() -> None:
    with Sandbox().session() as session:
        executor = BrumateExecutor(session)
        agent = CodeAgent(tools=[rate], model=Script(), executor=executor, verbosity_level=LogLevel.ERROR)
        print(agent.run("What is the mean of the francs below 1000, in euros?"))


if __name__ == "__main__":
    main()
