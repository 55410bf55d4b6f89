"""The interface of `mcp_run_python`."""

import contextlib
import io
import json
import os
import subprocess
import unittest

from brumate.compat.mcp_run_python import async_prepare_deno_env, code_sandbox, prepare_deno_env
from brumate.compat.mcp_run_python._cli import cli_logic


class Sandboxes(unittest.IsolatedAsyncioTestCase):
    async def test_results_have_the_same_shape(self):
        cases = [
            ("x = 1\nx + 1", {"status": "success", "output": [], "return_value": 2}),
            (
                "print(1)\nprint()\nprint('a', end='')",
                {"status": "success", "output": ["1", "", "a"], "return_value": None},
            ),
            (
                "import asyncio\nawait asyncio.sleep(0)\n{'a': [1]}",
                {"status": "success", "output": [], "return_value": {"a": [1]}},
            ),
        ]
        async with code_sandbox() as sandbox:
            for code, expected in cases:
                self.assertEqual(await sandbox.eval(code), expected)
            self.assertEqual((await sandbox.eval("value * 2", {"value": [1]}))["return_value"], [1, 1])

    async def test_errors_have_the_same_shape(self):
        async with code_sandbox() as sandbox:
            failed = await sandbox.eval("print('a')\nx")
        self.assertEqual(set(failed), {"status", "output", "error"})
        self.assertEqual((failed["status"], failed["output"]), ("run-error", ["a"]))
        self.assertIn("NameError: name 'x' is not defined", failed["error"])

    async def test_what_is_printed_is_logged(self):
        logged = []
        async with code_sandbox(dependencies=["numpy"], log_handler=lambda *line: logged.append(line)) as sandbox:
            await sandbox.eval("import sys\nprint('a\\nb')\nprint('c', file=sys.stderr)")
        self.assertIn("numpy", logged[0][1])
        self.assertEqual(logged[1:], [("info", "a"), ("info", "b"), ("warning", "c")])

    async def test_a_dependency_that_cannot_be_had_is_an_error(self):
        with self.assertRaisesRegex(RuntimeError, "no-such-package-anywhere"):
            async with code_sandbox(dependencies=["no-such-package-anywhere"]):
                pass

    async def test_the_environment_starts_a_server(self):
        hello = {
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
        }  # fmt: skip
        async with async_prepare_deno_env("stdio", return_mode="json", dependencies=["numpy"]) as environment:
            self.assertIn("--return-mode=json", environment.args)
            arguments = [environment.command, *environment.args]
            done = subprocess.run(
                arguments, cwd=environment.cwd, input=json.dumps(hello) + "\n", capture_output=True, text=True
            )
            self.assertIn('"serverInfo"', done.stdout)
        self.assertFalse(os.path.exists(environment.cwd))


class CommandLine(unittest.TestCase):
    def test_modes_and_ports(self):
        with prepare_deno_env("streamable_http", http_port=8080) as environment:
            self.assertEqual(environment.args, ["streamable-http", "--return-mode=xml", "--port=8080"])
        with self.assertRaisesRegex(ValueError, "Port is only supported"):
            with prepare_deno_env("stdio", http_port=8080):
                pass

    def test_version_and_missing_mode(self):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            self.assertEqual(cli_logic(["--version"]), 0)
        self.assertTrue(printed.getvalue().startswith("mcp-run-python "))
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
            cli_logic([])


if __name__ == "__main__":
    unittest.main()
