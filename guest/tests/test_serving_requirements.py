"""Requirements of servers, found in their source texts."""

import os
import pathlib
import sys
import unittest

import guest_path  # isort: split

from _brumate.serving.requirements import FIRST, NO_SUCH_NAME, SECOND, combine, needs


class Requirements(unittest.TestCase):
    def check(self, expected, *sources):
        for source in sources:
            with self.subTest(source=source):
                self.assertEqual(needs(source).requirements, expected)

    def test_first(self):
        self.check(
            [FIRST],
            "from mcp.server.fastmcp import FastMCP",
            "from mcp.server import fastmcp",
            "from mcp.server import FastMCP",
            "import mcp.server.fastmcp as f",
            "from mcp import McpError",
            "import mcp\nx = mcp.server.fastmcp.FastMCP('a')",
            "def f():\n  from mcp.server.fastmcp.prompts import base",
        )

    def test_second(self):
        self.check(
            [SECOND],
            "from mcp.server.mcpserver import MCPServer",
            "from mcp.server import MCPServer",
            "from mcp import Client",
            "import mcp_types as types",
        )

    def test_low_level(self):
        head = "from mcp.server import Server\ns = Server('x')\n"
        self.check(["mcp"], head)
        self.check(
            [FIRST],
            head + "@s.call_tool()\nasync def f(n, a): pass",
            "import mcp.server.lowlevel as l\ns = l.Server('x')\n@s.list_tools()\nasync def f(): pass",
            "from mcp.server.lowlevel import Server\ns: Server = Server[int]('x')\n@s.list_tools()\nasync def f(): ...",
        )
        self.check([SECOND], "from mcp.server import Server\ns = Server('x', on_call_tool=f)")

    def test_others(self):
        self.check([], "import numpy", "import mcp_other", "from .mcp import x", "", "mcp = 1")
        self.check(["mcp"], "(", "import mcp", "import mcp.types\0")
        self.check(["fastmcp"], "from fastmcp import FastMCP")
        self.check(["fastmcp", FIRST], "from fastmcp import FastMCP\nfrom mcp.server.fastmcp import Image")

    def test_a_file_that_tries_both(self):
        first, second = "from mcp.server.fastmcp import FastMCP", "from mcp.server import MCPServer"
        self.check(["mcp"], f"try:\n  {first}\nexcept ImportError:\n  {second}")

    def test_advice(self):
        self.assertEqual(needs("from mcp import FastMCP").advice, NO_SUCH_NAME)
        self.assertIsNone(needs("from mcp.server import FastMCP").advice)

    def test_declared_dependencies(self):
        source = "from mcp.server.fastmcp import FastMCP as F\nF('a', dependencies=['pandas', name, 5])\n"
        source += "F('b', dependencies=('numpy', 'pandas'))\nF('c', dependencies=names)\ng(dependencies=['six'])"
        self.assertEqual(needs(source).dependencies, ["pandas", "numpy"])

    def test_distributions(self):
        modules = ["import os", "from mcp.server import Server", "from mcp.shared.exceptions import McpError"]
        self.assertEqual(combine(modules).requirements, [FIRST])
        self.assertEqual(combine([*modules, "import mcp_types"]).requirements, ["mcp"])
        self.assertEqual(combine(["import fastmcp", "import mcp"]).requirements, ["fastmcp"])
        declaring = "from mcp.server.fastmcp import FastMCP\nFastMCP('a', dependencies=['six'])"
        self.assertEqual(combine([declaring, declaring]).dependencies, ["six"])

    def test_blocks_of_the_readme(self):
        root = pathlib.Path(__file__).parents[2] / "tests/python/python_servers"
        blocks = sorted(root.glob("[0-9]*.py"))
        newer = sorted((root / "v2").glob("[0-9]*.py"))
        self.assertGreater(min(len(blocks), len(newer)), 10)
        for path in blocks + newer:
            with self.subTest(path=path):
                # This one imports what no version has.
                expected = "mcp" if path.name == "08_auth.py" else FIRST if path in blocks else SECOND
                self.assertEqual(needs(path.read_text(encoding="utf-8")).requirements, [expected])


if __name__ == "__main__":
    unittest.main()
