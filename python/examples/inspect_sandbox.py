"""inspect-ai with Brumate as a sandbox: each sample has a session, for its files and the tools `python` and `bash`.

The model is a script, so that this runs without a key. For a real one run
`inspect eval inspect_sandbox.py --model anthropic/claude-sonnet-4-5`.

    pip install brumate inspect-ai
"""

import asyncio
import shlex
import tempfile

from inspect_ai import Task, eval, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import bash, python
from inspect_ai.util import ExecResult, SandboxEnvironment, sandboxenv

from brumate import AsyncSandbox, AsyncSession, FileError

#: Runs a script in the shell of the session, which has no processes. The value is the script's exit status.
SHELL = """
from subprocess import CalledProcessError
with open("/workspace/.stdin", "wb") as file:
    file.write(stdin.encode("latin-1"))
try:
    get_ipython().run_cell_magic("bash", "", script)
    status = 0
except CalledProcessError as error:
    status = error.returncode
status
"""


@sandboxenv(name="brumate")
class BrumateSandbox(SandboxEnvironment):
    """Runs commands in the shell of a session."""

    def __init__(self, session: AsyncSession) -> None:
        super().__init__()
        self.session = session

    @classmethod
    async def sample_init(cls, task_name, config, metadata):
        return {"default": cls(await AsyncSandbox().session())}

    @classmethod
    async def sample_cleanup(cls, task_name, config, environments, interrupted):
        for environment in environments.values():
            await environment.session.delete()

    async def exec(self, cmd, input=None, cwd=None, env=None, user=None, timeout=None, **options):
        data = input.encode() if isinstance(input, str) else input or b""
        lines = [f"export {name}={shlex.quote(value)}" for name, value in (env or {}).items()]
        lines.append(f"cd {shlex.quote(cwd or '.')} && {shlex.join(cmd)} < /workspace/.stdin")
        variables = {"script": "\n".join(lines), "stdin": data.decode("latin-1")}
        result = await asyncio.wait_for(self.session.run(SHELL, variables), timeout)
        if result.stopped:
            raise TimeoutError(result.error)
        status = result.value if result.success else 1
        return ExecResult(status == 0, status, result.stdout, result.stderr + (result.error or ""))

    async def write_file(self, file, contents):
        data = contents.encode() if isinstance(contents, str) else contents
        await self.session.upload(data, file.removeprefix("/workspace/"))

    async def read_file(self, file, text=True):
        try:
            data = await self.session.download(file.removeprefix("/workspace/"))
        except FileError as error:
            raise FileNotFoundError(str(error)) from error
        return data.decode() if text else data


@task
def sales() -> Task:
    sample = Sample("How many euros?", target="300", files={"sales.csv": "city,euros\nGraz,120\nLinz,80\nGraz,100\n"})
    solver = [use_tools(python(), bash()), generate()]
    return Task(dataset=[sample], solver=solver, scorer=includes(), sandbox="brumate")


def script(messages, tools, tool_choice, config) -> ModelOutput:
    """Counts the sales with `bash`, adds them with `python`, and says what the tools answered."""
    answers = [message.text.strip() for message in messages if message.role == "tool"]
    if not answers:
        output = ModelOutput.for_tool_call("mockllm", "bash", {"command": "tail -n +2 sales.csv | wc -l"})
    elif len(answers) == 1:
        code = 'import pandas as pd\nprint(pd.read_csv("sales.csv")["euros"].sum())'
        output = ModelOutput.for_tool_call("mockllm", "python", {"code": code})
    else:
        output = ModelOutput.from_content("mockllm", f"{answers[0]} sales, {answers[1]} euros")
    output.usage = ModelUsage()  # inspect would download a table to count tokens
    return output


def main() -> None:
    with tempfile.TemporaryDirectory() as logs:
        model = get_model("mockllm/model", custom_outputs=script)
        [log] = eval(sales(), model=model, log_dir=logs, display="none")
        print(log.status, "-", log.samples[0].output.completion, "-", log.results.scores[0].metrics["accuracy"].value)


if __name__ == "__main__":
    main()
