"""Prompts and indentation that cells lose, and the texts that they keep; encodings of files."""

import unittest

from support import run

try:
    from _brumate.notebook.cleaning import Manager
except ImportError:
    Manager = None

# Pasted cells, and their text without prompts.
PASTED = [
    (">>> 1+1\n>>> def f():\n...     return 1\n... \n>>> f()", "1+1\ndef f():\n    return 1\n\nf()\n"),
    ("    >>> x = 1\n    >>> x\n    1", "x = 1\nx\n1\n"),
    ("\n>>> s = '''\n... >>> kept\n... '''", "s = '''\n>>> kept\n'''\n"),
    (">>>\n>>> x", "\nx\n"),
    ("In [1]: x = 1\n   ...: y = 2\n\nIn [2]: x", "x = 1\ny = 2\n\nx\n"),
    ("In [12]: %%time\n    ...: x", "get_ipython().run_cell_magic('time', '', 'x\\n')\n"),
    ("  x = 1\n\n  y = 2", "x = 1\n\ny = 2\n"),
    ("  f(\n1)\n  x = 1 + \\\n 2", "f(\n1)\nx = 1 + \\\n 2\n"),
    ("  %%writefile a\n  x\n    y", "get_ipython().run_cell_magic('writefile', 'a', 'x\\n  y\\n')\n"),
]
# Cells with text in them that looks like prompts.
TEXTS = [
    's = """\n>>> x\n... y\n   \nIn [1]: z\n"""\n!ls',
    "x = 1\n'''\n  a\n>>> b'''\n%time 1",
    "  x = '''\n  a\n b\n'''\n  y = 'c\\\n  d'",
    "  x = f'''\n  {x}\n'''",
    "x = 'a\u2028!ls'\n!ls",
    "x = 'a\x0c%ls b'\n%ls",
]
BODIES = [">>> x\n... y\n  \nIn [1]: z\n", "cat <<END\n>>> x\n... \nEND\n", "  a\n\n    b\n", "\n>>> a\n"]

ENCODINGS = [
    (b"# -*- coding: latin-1 -*-\nprint(ascii('\xe9'))", "'\\xe9'\n"),
    (b"#!/bin/python\n# vim: set fileencoding=cp1252 :\nprint(ascii('\x80'))", "'\\u20ac'\n"),
    (b"\xef\xbb\xbfprint(ascii('\xc3\xa9'))", "'\\xe9'\n"),
    (b"\xef\xbb\xbf# coding: utf-8\r\nprint(ascii('\xc3\xa9'))\r", "'\\xe9'\n"),
    (b"# coding: shift_jis\nprint(ascii('\x82\xa0'))", "'\\u3042'\n"),
    (b"\xef\xbb\xbf# coding: latin-1\n", "encoding problem: iso-8859-1 with BOM"),
    (b"# coding: unheard-of\n", "encoding problem: unheard-of"),
    (b"# coding: rot13\n", "encoding problem: rot13"),
    (b"# coding: ascii\nprint('\xe9')", "encoding problem: ascii"),
    (b"x = 1\n# coding: latin-1\nprint('\xe9')", "Non-UTF-8 code starting with '\\xe9' in file "),
    ("print(1)".encode("utf-16"), "Non-UTF-8 code starting with '\\xff' in file "),
    (b"x = 1\nprint('a\0b')\n", "source code cannot contain null bytes"),
]


@unittest.skipIf(Manager is None, "needs IPython")
class Cells(unittest.TestCase):
    def test_pasted(self):
        for cell, expected in PASTED:
            with self.subTest(cell=cell):
                self.assertEqual(Manager().transform_cell(cell), expected)

    def test_texts(self):
        def strings(code):
            import ast

            found = [node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)]
            return sorted({text for text in found if isinstance(text, str) and len(text) > 5})

        for cell in TEXTS:
            with self.subTest(cell=cell):
                code = "if 1:\n" + cell if cell[0] == " " else cell
                code = "\n".join(line for line in code.split("\n") if line[:1] not in ("!", "%"))
                self.assertEqual(strings(Manager().transform_cell(cell)), strings(code))

    def test_bodies(self):
        for body in BODIES:
            with self.subTest(body=body):
                call = f"get_ipython().run_cell_magic('bash', '', {body!r})\n"
                self.assertEqual(Manager().transform_cell("%%bash\n" + body), call)


class Encodings(unittest.TestCase):
    def test_files(self):
        options = {"mode": "script", "source_bytes": True}
        result = run(*[{"code": data.decode("latin-1"), **options} for data, _ in ENCODINGS])
        printed = "".join([expected for _, expected in ENCODINGS if expected.endswith("\n")])
        self.assertEqual(result.output, printed)
        for (data, expected), ended in zip(ENCODINGS, result.all, strict=True):
            with self.subTest(data=data):
                if expected.endswith("\n"):
                    self.assertIsNone(ended["Returned"])
                else:
                    self.assertIn(f"SyntaxError: {expected}", ended["Raised"]["traceback"])

    def test_a_script_knows_where_it_is(self):
        code = "import os, sys\nprint(__file__ == os.path.abspath('tool.py'), sys.path[0] == os.getcwd(), sys.argv, sys.orig_argv)"
        result = run(code, mode="script", file_name="tool.py", argv=["tool.py", "-x"])
        self.assertEqual(result.output, "True True ['tool.py', '-x'] ['python', 'tool.py', '-x']\n")
        result = run(
            "import sys\nprint('__file__' in globals(), sys.path[0] == '')", mode="script", file_name="<stdin>"
        )
        self.assertEqual(result.output, "False True\n")
        result = run("def f():\n    raise KeyboardInterrupt\nf()", mode="script")
        self.assertEqual(result.exited[0], 130)
        self.assertIn("    raise KeyboardInterrupt\n", result.exited[1])


if __name__ == "__main__":
    unittest.main()
