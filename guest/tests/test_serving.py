"""Running servers' files. A small package stands for `mcp`."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

from guest_path import ROOTS
from support import HANG_SECONDS

# Runs in a process of its own: its arguments are descriptors of the wire, a transport, modules to import first, and a target.
RUNNER = """
import importlib, sys
source, sink, transport, early, target = sys.argv[1:]
from _brumate import import_hooks
from _brumate.serving import loading, wire
import_hooks.install()
for name in filter(None, early.split(",")):
    importlib.import_module(name)
file, name = loading.split(target)
loading.run(file, wire.Wire(int(source), int(sink)), name, transport or None, [])
"""

# A stand-in for `mcp`: servers that answer each line with their name and the line.
LIBRARY = {
    "mcp/__init__.py": "",
    "mcp/server/__init__.py": """
        class Server:
            def __init__(self, name): self.name = name
            def create_initialization_options(self): return self.name
            async def run(self, reader, writer, options):
                async for line in reader:
                    await writer.write(f"low {options} {line}")
                    await writer.flush()
        """,
    "mcp/server/stdio.py": """
        import contextlib
        @contextlib.asynccontextmanager
        async def stdio_server(stdin=None, stdout=None):
            yield stdin, stdout
        """,
    "mcp/server/fastmcp/__init__.py": "from mcp.server.fastmcp.server import FastMCP",
    "mcp/server/fastmcp/server.py": """
        import asyncio, sys
        from mcp.server.stdio import stdio_server
        class FastMCP:
            def __init__(self, name): self.name = name
            def run(self, transport="stdio", **options):
                print("transport", transport)
                asyncio.run(self.run_stdio_async())
            async def run_stdio_async(self):
                async with stdio_server() as (reader, writer):
                    async for line in reader:
                        if "input" in line:
                            try: line = input()
                            except EOFError: line = "nothing to read\\n"
                        print("log of", line, end="")
                        await writer.write(f"{self.name} {line}")
                        await writer.flush()
        """,
}
HEAD = "from mcp.server.fastmcp import FastMCP\nprint('runs as', __name__)\n"


class Ended:
    """The result of a server: its first line, its messages, its log, and its status."""

    def __init__(self, messages, log, status):
        first, *self.messages = messages.splitlines() or [""]
        self.first = json.loads(first) if first else None
        self.log = log
        self.status = status


def serve(text, *messages, name=None, transport="", early=""):
    """Runs a file `program.py` of this text as a server, sends it messages, and closes its wire."""
    with tempfile.TemporaryDirectory() as directory:
        for path, content in {**LIBRARY, "program.py": text}.items():
            path = os.path.join(directory, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(textwrap.dedent(content))
        source, to_server = os.pipe()
        from_server, sink = os.pipe()
        target = os.path.join(directory, "program.py") + (f":{name}" if name else "")
        process = subprocess.Popen(
            [sys.executable, "-c", RUNNER, str(source), str(sink), transport, early, target],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(source, sink),
            cwd=directory,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([*ROOTS, directory])},
            text=True,
        )
        os.close(source)
        os.close(sink)
        with contextlib.suppress(BrokenPipeError):
            os.write(to_server, "".join(f"{message}\n" for message in messages).encode())
        os.close(to_server)
        try:
            log, _ = process.communicate(timeout=HANG_SECONDS)
        finally:
            process.kill()
        with open(from_server, encoding="utf-8") as answers:
            return Ended(answers.read(), log, process.returncode)


class Files(unittest.TestCase):
    def check(self, ended, *messages, log, first=None):
        self.assertEqual((ended.status, ended.messages), (0, list(messages)), ended.log)
        self.assertEqual(ended.first, first or {"serve": "stdio"})
        self.assertEqual(ended.log, log)

    def test_a_file_that_serves(self):
        text = HEAD + "mcp = FastMCP('one')\nif __name__ == '__main__':\n    mcp.run()\n    print('ends')"
        log = "runs as __main__\ntransport stdio\nlog of a\nends\n"
        self.check(serve(text, "a"), "one a", log=log)

    def test_a_global_is_served_when_the_file_has_ended(self):
        log = "runs as __main__\ntransport stdio\nlog of a\n"
        self.check(serve(HEAD + "server = FastMCP('one')", "a"), "one a", log=log)

    def test_globals_that_run_by_themselves_come_first(self):
        text = HEAD + "from mcp.server import Server\nmcp, app = Server('low'), FastMCP('high')"
        self.assertEqual(serve(text, "a").messages, ["high a"])
        text = "from mcp.server import Server\nserver = Server('x')"
        self.check(serve(text, "a"), "low x a", log="")

    def test_an_object_is_imported(self):
        text = HEAD + "class Space: other = FastMCP('two')\nif __name__ == '__main__': raise ValueError"
        log = "runs as server_module\ntransport stdio\nlog of a\n"
        self.check(serve(text, "a", name="Space.other"), "two a", log=log)
        self.assertIn("program.py has no object 'none'", serve(text, name="none").log)

    def test_functions_serve_or_make_a_server(self):
        for text in (
            "def make(): return FastMCP('made')",
            "async def make(): return FastMCP('made')",
            "def make(): FastMCP('made').run()",
        ):
            with self.subTest(text=text):
                self.assertEqual(serve(HEAD + text, "a", name="make").messages, ["made a"])
        self.assertIn("is a function that serves nothing", serve("def make(): pass", name="make").log)

    def test_a_file_that_serves_nothing(self):
        ended = serve(HEAD + "other = FastMCP('one')\nmcp = 5")
        self.assertIsNone(ended.first)
        self.assertIn("program.py serves nothing: it has no server in `mcp`, `server` or `app`", ended.log)
        self.assertIn("name one: program.py:other\n", ended.log)

    def test_a_program_that_ends_by_itself_is_not_served(self):
        ended = serve(HEAD + "mcp = FastMCP('one')\nprint('usage')\nraise SystemExit")
        self.assertEqual((ended.status, ended.first, ended.log), (0, None, "runs as __main__\nusage\n"))

    def test_builtins_are_the_live_ones(self):
        text = HEAD + "import builtins\nbuiltins.marker = 'live'\nmcp = FastMCP(marker)"
        self.assertEqual(serve(text, "a").messages, ["live a"])

    def test_second_server(self):
        text = HEAD + "FastMCP('one').run()\nFastMCP('two').run()"
        self.assertIn("a second server has no client", serve(text, "a").log)

    def test_the_transport_of_the_user_goes_first(self):
        text = HEAD + "FastMCP('one').run(transport='sse')"
        self.assertIn("transport stdio\n", serve(text, transport="stdio").log)
        self.assertIn("transport streamable-http\n", serve(text, transport="streamable-http-stateless").log)
        self.assertIn("unknown transport: smoke", serve(text, transport="smoke").log)

    def test_tools_cannot_read_or_write_the_wire(self):
        ended = serve(HEAD + "import os, sys\nos.write(1, b'raw\\n')\nmcp = FastMCP('one')", "input")
        self.assertEqual(ended.messages, ["one nothing to read"])
        self.assertIn("raw\n", ended.log)

    def test_streams_of_the_caller(self):
        text = """
            import asyncio, io, sys
            from mcp.server.stdio import stdio_server
            class Wrapped:
                def __init__(self, stream): self.wrapped = io.TextIOWrapper(stream.buffer, "utf-8")
            async def main():
                # A wrapper that goes away closes the stream below it.
                global kept
                kept = Wrapped(sys.stdin), Wrapped(sys.stdout)
                async with stdio_server(*kept) as (reader, writer):
                    await writer.write(await reader.readline())
                    await writer.flush()
                async with stdio_server(io.StringIO("own"), io.StringIO()) as (reader, writer):
                    print(reader.read())
            asyncio.run(main())
            """
        self.check(serve(text, "a"), "a", log="own\n")

    def test_modules_that_an_image_has_loaded(self):
        text = HEAD + "FastMCP('one').run()"
        self.assertEqual(serve(text, "a", early="mcp.server.fastmcp").messages, ["one a"])

    def test_programs_that_speak_the_protocol_themselves(self):
        text = "import sys\nprint('log')\nfor line in sys.stdin:\n    print('got', line, end='')"
        self.check(serve(text, "a", "b"), "got a", "got b", log="log\n", first={"serve": "stdio", "raw": True})
        text = """
            import asyncio, sys
            async def main():
                reader = asyncio.StreamReader()
                protocol = asyncio.StreamReaderProtocol(reader)
                await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
                while line := await reader.readline():
                    sys.stdout.write("got " + line.decode())
            asyncio.run(main())
            """
        self.check(serve(text, "a", "b"), "got a", "got b", log="", first={"serve": "stdio", "raw": True})

    def test_split(self):
        from _brumate.serving.loading import split

        for target, expected in [
            ("a.py", ("a.py", None)),
            ("a.py:app.x", ("a.py", "app.x")),
            ("C:\\a.py", ("C:\\a.py", None)),
            ("C:", ("C:", None)),
            ("/x/a.py:mcp", ("/x/a.py", "mcp")),
        ]:
            self.assertEqual(split(target), expected)


if __name__ == "__main__":
    unittest.main()
