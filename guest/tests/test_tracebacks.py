"""Tracebacks and warnings are CPython's own, to the character."""

import os
import re
import sys
import unittest

import golden_cases
from golden_cases import CASES, GOLDEN, VERSION, normalized
from support import run


def shown(code):
    """What a terminal would show of a guest's stderr."""
    result = run(code, mode="script")
    text = result.output
    if "Raised" in result.ended:
        text += result.raised["traceback"]
    elif "Exited" in result.ended and result.exited[1]:
        text += result.exited[1] + "\n"
    return normalized(text)


# In these a guest's own output goes to stdout, or `atexit` runs before the host shows the traceback.
SPECIAL = {"atexit_error", "syntax_warning", "blank_line_with_error_at_end"}


class Stacks(unittest.TestCase):
    """`traceback.print_stack`: only the guest's own frames."""

    def stack(self, code, **options):
        result = run("import traceback\n" + code, **options)
        return re.findall(r'File "(.*?)", line (\d+), in (.*)', result.output)

    def test_a_function(self):
        expected = [("main.py", "3", "<module>"), ("main.py", "2", "f")]
        self.assertEqual(self.stack("def f(): traceback.print_stack()\nf()\n0"), expected)

    def test_the_last_expression(self):
        self.assertEqual(self.stack("traceback.print_stack()"), [("main.py", "2", "<module>")])

    def test_a_script(self):
        ((file, *place),) = self.stack("traceback.print_stack()", mode="script")
        self.assertEqual((os.path.isabs(file), os.path.basename(file), place), (True, "main.py", ["2", "<module>"]))

    def test_await_at_the_top(self):
        code = "async def f(): traceback.print_stack()\nawait f()\n0"
        self.assertEqual(self.stack(code), [("main.py", "3", "<module>"), ("main.py", "2", "f")])

    def test_below_display(self):
        code = "class A:\n def _repr_html_(self): traceback.print_stack()\ndef f(): display(A())\nf()\n0"
        expected = [("main.py", "5", "<module>"), ("main.py", "4", "f"), ("main.py", "3", "_repr_html_")]
        self.assertEqual(self.stack(code), expected)

    def test_at_the_end(self):
        code = "import atexit\natexit.register(traceback.print_stack)"
        self.assertEqual(self.stack(code, mode="script"), [])

    def test_logging(self):
        code = "import logging\nlogging.error('x', stack_info=True)\n0"
        self.assertEqual(self.stack(code), [("main.py", "3", "<module>")])

    def test_walking_from_here(self):
        code = "[frame.f_code.co_name for frame, line in (lambda: traceback.walk_stack(None))()]"
        self.assertEqual(run("import traceback\n" + code).value, ["<lambda>", "<module>"])


class Golden(unittest.TestCase):
    maxDiff = None

    def compare(self, name, expected, code):
        text = shown(code)
        if name == "atexit_error":
            self.assertIn("ValueError: first", text)
            self.assertIn("ZeroDivisionError: division by zero", text)
        elif name in SPECIAL:
            self.assertIn(expected.rstrip("\n"), text)
        else:
            self.assertEqual(text, expected)


def add(name, code):
    @unittest.skipIf(sys.version_info < (3, 13), "the interpreter printed tracebacks from C, with other details")
    def test_live(self):
        self.compare(name, golden_cases.expected(code), code)

    @unittest.skipIf(sys.version_info[:2] != VERSION, "recorded with another version")
    def test_recorded(self):
        with open(os.path.join(GOLDEN, name + ".txt"), encoding="utf-8") as file:
            self.compare(name, file.read(), code)

    setattr(Golden, f"test_live_{name}", test_live)
    setattr(Golden, f"test_recorded_{name}", test_recorded)


for _name, _code in CASES.items():
    add(_name, _code)


class OurFrames(unittest.TestCase):
    def test_none_in_async_code(self):
        for code in (
            "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    1/0\nawait f()",
            "import asyncio\nasync def f():\n    1/0\nasync with asyncio.TaskGroup() as g:\n    g.create_task(f())",
            "import asyncio\nasync def f():\n    1/0\nf()",
            "import asyncio\nasync def f():\n    await asyncio.sleep(9)\nawait asyncio.wait_for(f(), 0.01)",
        ):
            with self.subTest(code=code):
                text = run(code).raised["traceback"]
                self.assertNotIn("_brumate", text)
                self.assertNotIn("run_until_complete", text)
                self.assertIn('File "main.py"', text)

    def test_none_in_the_middle(self):
        text = run("class A:\n    def _repr_html_(self): return 1\n    def __repr__(self): 1/0\ndisplay(A())").raised[
            "traceback"
        ]
        self.assertEqual(re.findall(r'File "(.*?)", line (\d+)', text), [("main.py", "4"), ("main.py", "3")])

    def test_ignored_exceptions(self):
        output = run("class A:\n    def __del__(self): raise ValueError('del')\na = A()\ndel a").output
        self.assertIn(
            "  File \"main.py\", line 2, in __del__\n    def __del__(self): raise ValueError('del')\n", output
        )
        self.assertIn("ValueError: del\n", output)
        self.assertNotIn("_brumate", output)

    def test_called_asyncio_run_is_shown(self):
        text = run("import asyncio\nasync def f(): 1/0\nasyncio.run(f())").raised["traceback"]
        self.assertIn("run_until_complete", text)
        self.assertNotIn("_brumate", text)

    def test_value_and_statement_look_the_same(self):
        text = run("x = 1\nx / 0").raised["traceback"]
        self.assertEqual(text.splitlines()[1], '  File "main.py", line 2, in <module>')


if __name__ == "__main__":
    unittest.main()
