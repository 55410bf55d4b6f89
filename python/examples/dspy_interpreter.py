"""DSPy with Brumate as its interpreter: the code of `dspy.RLM` runs in a session, without Deno.

Tools run here, beside the module: the sandbox has no network. Its code asks for them with `input()`, which carries
16 KiB to a tool and any answer back, 100 times in a step.

The model is a script, so that this runs without a key. For a real one write `dspy.LM("anthropic/claude-sonnet-4-5")`
in place of `DummyLM(SCRIPT)`.

    pip install brumate dspy
"""

import inspect
import json
from typing import Any

import dspy
from dspy.primitives.code_interpreter import CodeExecutionError, FinalOutput
from dspy.utils import DummyLM

from brumate import Sandbox

PRELUDE = """
import json

class Submitted(BaseException):
    pass

def SUBMIT(*values, **named):
    global _submitted
    _submitted = dict(zip(_fields, values)) | named
    raise Submitted

def _tool(name):
    def call(*args, **kwargs):
        answer = json.loads(input(json.dumps([name, args, kwargs])))
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["value"]
    return call
"""


class BrumateInterpreter:
    """An interpreter as DSPy's protocol `CodeInterpreter` wants it."""

    def __init__(self) -> None:
        self.tools: dict[str, Any] = {}
        self.output_fields: list[dict[str, Any]] = []
        self.session = None

    def start(self) -> None:
        if self.session is None:
            self.session = Sandbox().session()
            self.session.run(PRELUDE).raise_for_error()

    def shutdown(self) -> None:
        if self.session is not None:
            self.session.delete()

    def execute(self, code: str, variables: dict[str, Any] | None = None) -> FinalOutput | str | None:
        self.start()
        fields = [field["name"] for field in self.output_fields]
        self.session.run("\n".join(f"{name} = _tool({name!r})" for name in self.tools), {"_fields": fields})
        result = self.session.run(code, variables, input=self._call_tool)
        if result.success:
            return result.stdout + (result.text or "") or None
        if result.error.endswith("\nSubmitted"):
            return FinalOutput(self.session["_submitted"])
        raise CodeExecutionError(result.error)

    def _call_tool(self, prompt: str, password: bool) -> str:
        try:
            name, args, kwargs = json.loads(prompt)
            named = dict(zip(inspect.signature(self.tools[name]).parameters, args, strict=False)) | kwargs
            return json.dumps({"value": self.tools[name](**named)})
        except Exception as error:
            return json.dumps({"error": f"{type(error).__name__}: {error}"})


def rate(currency: str) -> float:
    """Says how many euros one unit of a currency is worth."""
    return {"CHF": 1.08, "GBP": 1.15}[currency]


SCRIPT = [
    {"reasoning": "Look first.", "code": "import pandas as pd\nseries = pd.Series(francs)\nprint(series.describe())"},
    {"reasoning": "Now I know.", "code": "SUBMIT(int(series.sum()), round(float(series.mean() * rate('CHF')), 2))"},
]


def main() -> None:
    dspy.configure(lm=DummyLM(SCRIPT))
    analyse = dspy.RLM("francs -> total: int, euros: float", tools=[rate], interpreter_factory=BrumateInterpreter)
    answer = analyse(francs=list(range(1000)))
    print("total", answer.total, "euros", answer.euros)


if __name__ == "__main__":
    main()
