"""Which imports are found in a source text."""

import json
import os
import tempfile
import unittest

import support  # noqa: F401  (puts the package on the path)
from _brumate import analyze, imports

TABLE = [
    ("", [], []),
    ("1 + 1", [], []),
    ("import numpy", ["numpy"], []),
    ("import numpy as np, pandas as pd", ["numpy", "pandas"], []),
    ("import os, sys, json, asyncio.tasks, _thread, __future__", [], []),
    ("from numpy import array", ["numpy"], []),
    ("from a.b.c import d", ["a"], []),
    ("import b, a, b", ["b", "a"], []),
    ("import google.auth, google, azure.core.rest", ["google.auth", "google", "azure.core.rest"], []),
    ("from google.cloud import storage, bigquery as b", ["google.cloud.storage", "google.cloud.bigquery"], []),
    ("from zope import *\nimport_module('google.b')\nimport_module('google..c')", ["zope"], ["google.b"]),
    ("from . import x\nfrom .y import z\nfrom ..p import q", [], []),
    ("from __future__ import annotations", [], []),
    ("import js, pyodide, pyodide_js, _pyodide, _brumate, brumate_plotly, brumate_shell", [], []),
    ("def f():\n    import a\nclass B:\n    import c\n    def m(self):\n        from d import e", ["a", "c", "d"], []),
    (
        "if x:\n    import a\nelse:\n    import b\nfor i in y:\n    import c\nelse:\n    import d\nwhile 1:\n    import e",
        list("abcde"),
        [],
    ),
    ("match x:\n    case 1:\n        import a\n    case _:\n        import b", ["a", "b"], []),
    (
        "with x:\n    import a\nasync def f():\n    async with x:\n        import b\n    async for i in y:\n        import c",
        ["a", "b", "c"],
        [],
    ),
    (
        "try:\n    import a\nexcept ImportError:\n    import b\nelse:\n    import c\nfinally:\n    import d",
        ["c", "d"],
        ["a", "b"],
    ),
    ("try:\n    import a\nexcept ModuleNotFoundError:\n    a = None", [], ["a"]),
    ("try:\n    import a\nexcept Exception as e:\n    a = None", [], ["a"]),
    ("try:\n    import a\nexcept:\n    a = None", [], ["a"]),
    ("try:\n    import a\nexcept (ValueError, builtins.ImportError):\n    a = None", [], ["a"]),
    ("try:\n    import a\nexcept BaseException:\n    raise", [], ["a"]),
    ("try:\n    import a\nexcept ValueError:\n    import b", ["a", "b"], []),
    ("try:\n    import a\nfinally:\n    pass", ["a"], []),
    ("try:\n    def f():\n        import a\nexcept ImportError: pass", [], ["a"]),
    ("try:\n    try:\n        import a\n    except ValueError: pass\nexcept ImportError: pass", [], ["a"]),
    ("try:\n    import a\nexcept* ImportError:\n    pass", [], ["a"]),
    ("try:\n    import a\nexcept ImportError: pass\nimport a", ["a"], []),
    ("import a\ntry:\n    import a\nexcept ImportError: pass", ["a"], []),
    ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import a\nelse:\n    import b", ["b"], ["a"]),
    ("import typing\nif typing.TYPE_CHECKING:\n    from a import b", [], ["a"]),
    ("from contextlib import suppress\nwith suppress(ImportError):\n    import a\nimport b", ["b"], ["a"]),
    ("import pytest\nwith pytest.raises(ImportError):\n    import a\nimport b", ["pytest", "b"], ["a"]),
    (
        "import importlib\nimportlib.import_module('a.b')\n__import__('c')\nimportlib.import_module(name)",
        [],
        ["a", "c"],
    ),
    ("from importlib import import_module\nx = [import_module('a') for _ in y]", [], ["a"]),
    ("import_module('.a', 'b')\n__import__()\nimport_module(5)\nimport_module('not a name')", [], []),
    ("import_module('a')\nimport a", ["a"], []),
    ("await f()\nimport a", ["a"], []),
    ("import été", ["été"], []),
    ("\ufeffimport a", ["a"], []),
    ("import a\r\nimport b\r\n", ["a", "b"], []),
    ("x = '\\d'\nimport a", ["a"], []),
    ("'''\nimport a\n'''\n# import b", [], []),
    ("if 1: import a; import b", ["a", "b"], []),
]

BROKEN = [
    "import a\nx = = 1",
    "import a\nreturn 1 +",
    "\0import a",
    "'\ud800'; import a",
    "import",
    "from import x",
    "import " + "(" * 10_000,
    "x = " + "(" * 10_000 + ")" * 10_000 + "\nimport a",
    "if 1:\nimport a",
]

# A notebook's cells.
CELLS = [
    ("%matplotlib inline\nimport a", ["a"]),
    ("!pip install b\nimport a", ["a"]),
    ("%%time\nimport a\nx?", ["a"]),
    ("files = !ls\nimport a", ["a"]),
    ("if 1:\n    !ls\n    import a", ["a"]),
    ("%time import a", ["a"]),
    ("import a\na.b??", ["a"]),
    ("%%bash\nimport a", []),
    ("%%writefile x.py\nimport a", []),
    ("?len", []),
]


def analysis(required, optional=(), requirements=()):
    """The analysis of a text without an error."""
    return {
        "imports": required,
        "optional_imports": list(optional),
        "requirements": list(requirements),
        "syntax_error": False,
    }


class Analysis(unittest.TestCase):
    def test_servers_mean_versions_of_mcp(self):
        for code, requirements in [
            ("from mcp.server.fastmcp import FastMCP", ["mcp>=1.30,<2"]),
            ("from mcp.server import MCPServer", ["mcp>=2"]),
            ("from fastmcp import FastMCP\nFastMCP('x', dependencies=['rich<15'])", ["fastmcp", "rich<15"]),
        ]:
            with self.subTest(code=code):
                module = "fastmcp" if code.startswith("from fastmcp") else "mcp"
                self.assertEqual(json.loads(analyze(code)), analysis([module], requirements=requirements))

    def test_cells(self):
        for code, required in CELLS:
            with self.subTest(code=code):
                self.assertEqual(json.loads(analyze(code)), analysis(required))

    def test_table(self):
        for code, required, optional in TABLE:
            with self.subTest(code=code):
                self.assertEqual(json.loads(analyze(code)), analysis(required, optional))

    def test_errors(self):
        for code in BROKEN:
            with self.subTest(code=code[:40]):
                self.assertEqual(json.loads(analyze(code)), analysis([]) | {"syntax_error": True})

    def test_hostile_sizes(self):
        deep = "".join(" " * i + "if 1:\n" for i in range(95)) + " " * 95 + "import a"
        self.assertEqual(json.loads(analyze(deep))["imports"], ["a"])
        for code in (
            "-" * 200_000 + "1\nimport a",
            "1" + "+1" * 200_000 + "\nimport a",
            "a" + ".b" * 200_000 + "\nimport_module('a')",
        ):
            with self.subTest(code=code[:10]):
                self.assertEqual(json.loads(analyze(code)).keys(), analysis([]).keys())
        many = "\n".join(f"import m{i}" for i in range(imports.MAX_NAMES * 2))
        self.assertEqual(len(json.loads(analyze(many))["imports"]), imports.MAX_NAMES)
        self.assertEqual(json.loads(analyze("import a" + ", a" * 100_000))["imports"], ["a"])

    def test_not_a_string(self):
        self.assertTrue(json.loads(analyze(None))["syntax_error"])

    def test_no_warnings(self):
        import warnings

        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            analyze("x = '\\d'\nimport a\nx is 5")
        self.assertEqual(seen, [])

    def test_local_modules(self):
        here = os.getcwd()
        with tempfile.TemporaryDirectory() as directory:
            os.chdir(directory)
            try:
                open("mine.py", "w").close()
                os.mkdir("package")
                open("package/x.py", "w").close()
                os.mkdir("data")
                found = json.loads(analyze("import mine, package.x, data, other"))
            finally:
                os.chdir(here)
        self.assertEqual(found["imports"], ["data", "other"])


if __name__ == "__main__":
    unittest.main()
