"""The examples for agent frameworks and clients (docs/frameworks.md).

The examples run in the long tier, each with the newest release of its framework: `BRUMATE_TEST_FRAMEWORKS` names a
directory, below which a virtual environment for each framework is made, and used again. They need a package index.
"""

import ast
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

from brumate import find_binary

DIRECTORY = os.environ.get("BRUMATE_TEST_FRAMEWORKS")
PACKAGE = pathlib.Path(__file__).parent.parent
PAGE = PACKAGE.parent / "docs" / "frameworks.md"
#: Seconds for one example. The first one may compile what is not in the cache.
TIMEOUT = 300

#: Each example: its framework's distribution, what to install, and what the example has to print.
EXAMPLES = {
    "mcp_client": ("mcp", "mcp", ["sum: 499500", "sales: {'Graz': 220, 'Linz': 80}"]),
    "pydantic_ai_stdio": ("pydantic-ai-slim", "pydantic-ai-slim[mcp]", ['"sum":499500,"mean":499.5']),
    "pydantic_ai_tool": (
        "pydantic-ai-slim", "pydantic-ai-slim[mcp]", ["retried: NameError: name 'price'", "All of it costs 5.75."],
    ),
    "langchain_tool": ("langchain", "langchain", ["The tool says: {'Graz': 220, 'Linz': 80}"]),
    "openai_agents_mcp": ("openai-agents", "openai-agents", ["numbers: 1000", "499500"]),
    "smolagents_executor": ("smolagents", "smolagents", ["{'sum': 499500, 'euros': 539.46}"]),
    "inspect_sandbox": ("inspect-ai", "inspect-ai", ["success - 3 sales, 300 euros - 1.0"]),
    "llama_index_codeact": ("llama-index-core", "llama-index-core", ["sum 499500 mean 499.5"]),
    "dspy_interpreter": ("dspy", "dspy", ["total 499500 euros 539.46"]),
}  # fmt: skip


def environment_of(distribution):
    return pathlib.Path(DIRECTORY, distribution).absolute()


def install(distribution, requirement):
    """Installs the newest release of a framework; returns the Python that has it."""
    environment = environment_of(distribution)
    python = environment / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade", requirement]
    subprocess.run(command, check=True)
    return python


@unittest.skipUnless(DIRECTORY, "BRUMATE_TEST_FRAMEWORKS names no directory, as it does in the long tier")
class Frameworks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="brumate-frameworks-")
        cls.addClassCleanup(directory.cleanup)
        home = pathlib.Path(directory.name)
        # Clients hand few variables to a server. This is the `brumate` on PATH, with the settings of the tests.
        settings = {name: value for name, value in os.environ.items() if name.startswith("BRUMATE_")}
        settings["BRUMATE_BINARY"] = str(pathlib.Path(find_binary()).absolute())
        exports = [f"export {name}={shlex.quote(value)}" for name, value in settings.items()]
        command = home / "bin" / "brumate"
        command.parent.mkdir()
        command.write_text("\n".join(["#!/bin/sh", *exports, 'exec "$BRUMATE_BINARY" "$@"', ""]))
        command.chmod(0o755)
        # No keys, no settings of the user: nothing but what an example needs.
        cls.variables = settings | {
            "HOME": str(home),
            "PATH": f"{command.parent}:/usr/bin:/bin",
            "PYTHONPATH": str(PACKAGE / "src"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        cls.home = home

    def run_python(self, python, *arguments):
        """Runs a framework's Python in a directory that nothing else is in."""
        output = subprocess.run(
            [python, *arguments], env=self.variables, cwd=self.home, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=TIMEOUT,
        )  # fmt: skip
        self.assertEqual(output.returncode, 0, output.stdout + output.stderr)
        return output.stdout

    def check(self, example):
        distribution, requirement, expected = EXAMPLES[example]
        python = install(distribution, requirement)
        version = self.run_python(python, "-c", f"import importlib.metadata as m; print(m.version('{distribution}'))")
        print(f"{example}: {distribution} {version.strip()}", file=sys.stderr)
        printed = self.run_python(python, PACKAGE / "examples" / f"{example}.py")
        for text in expected:
            self.assertIn(text, printed)
        # What the snippets of the page import is there.
        for snippet in snippets(section_with(f"{example}.py")):
            imports = [node for node in ast.parse(snippet).body if isinstance(node, ast.Import | ast.ImportFrom)]
            self.run_python(python, "-c", "\n".join(map(ast.unparse, imports)))


for _example in EXAMPLES:
    setattr(Frameworks, f"test_{_example}", lambda self, example=_example: self.check(example))


class Page(unittest.TestCase):
    def test_each_example_is_in_the_table_and_is_run(self):
        files = {file.stem for file in (PACKAGE / "examples").glob("*.py")}
        self.assertEqual(files, set(EXAMPLES))
        for name, (distribution, _, _) in EXAMPLES.items():
            self.assertRegex(
                PAGE.read_text(), rf"\(\.\./python/examples/{name}\.py\) \|.*\| `{distribution}` [\d.]+ \|"
            )

    def test_the_text_of_each_example_says_what_to_install(self):
        for name, (_, requirement, _) in EXAMPLES.items():
            text = ast.get_docstring(ast.parse((PACKAGE / "examples" / f"{name}.py").read_text()))
            self.assertRegex(text, r"pip install .*" + re.escape(requirement.split("[")[0]))
            self.assertRegex(text, r"real one|no model")

    def test_snippets_are_python(self):
        found = snippets(PAGE.read_text())
        self.assertGreater(len(found), len(EXAMPLES) - 1)
        for snippet in found:
            compile(snippet, "snippet", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)

    def test_configurations_start_a_server(self):
        started = 0
        for configuration in configurations():
            [(_, servers)] = configuration.items()
            [server] = servers.values()
            if "url" in server:
                continue
            command = [server["command"], *server["args"]]
            # What is behind the image's name is a command of Brumate as well.
            arguments = command[command.index("brumate") + 1 :]
            self.assertIn("execute_code", tools([find_binary(), *arguments]))
            started += 1
        self.assertEqual(started, 5)


def section_with(file):
    """Returns the section of the page about the framework that the row with this file names."""
    text = PAGE.read_text()
    framework = re.search(rf"^\| ([^|]+) \| \[{re.escape(file)}\]", text, re.MULTILINE)[1]
    return re.search(rf"^## {re.escape(framework)}$(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL)[1]


def snippets(text):
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def configurations():
    """Returns the configurations of clients on the page, of which TOML needs Python 3.11."""
    for kind, block in re.findall(r"^```(json|toml)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL):
        if kind == "json":
            yield json.loads(block)
        else:
            import tomllib

            yield tomllib.loads(block)


def tools(command):
    """Starts an MCP server; returns the names of its tools."""
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    lines = "".join(json.dumps(message) + "\n" for message in messages)
    output = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=TIMEOUT, check=True).stdout
    [answer] = [answer for answer in map(json.loads, output.splitlines()) if answer.get("id") == 2]
    return [tool["name"] for tool in answer["result"]["tools"]]


if __name__ == "__main__":
    unittest.main()
