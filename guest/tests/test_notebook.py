"""Cells of a notebook beyond what a real kernel is compared with: state, interrupts, transformations, input."""

import importlib.util
import json
import os
import re
import tempfile
import unittest

from support import bundles, cells, run


@unittest.skipIf(importlib.util.find_spec("IPython") is None, "IPython is not installed")
class Cells(unittest.TestCase):
    def test_names_are_shared_with_runs_of_the_session(self):
        result = cells({"code": "x = 1", "mode": "cell"}, "y = x + 1", {"code": "y * 10", "mode": "cell"})
        self.assertEqual(result.value, 20)

    def test_a_run_of_its_own_is_in_no_notebook(self):
        code = "import builtins, sys\nfrom IPython import get_ipython\n[get_ipython() is None, 'In' in globals()]"
        self.assertEqual(run(code).value, [True, False])

    def test_no_file_and_no_name_of_ours(self):
        result = cells("[n for n in globals() if 'brumate' in n.lower()], '__file__' in globals(), __name__")
        self.assertEqual(bundles(result, "ExecuteResult"), [{"text/plain": "([], False, '__main__')"}])

    def test_globals_and_environment_of_the_request(self):
        result = run(
            {
                "code": "import os\n(g, os.environ['E'], os.environ['OUTPUT_DIR'] == os.getcwd())",
                "mode": "notebook_cell",
                "globals_json": '{"g": [1]}',
                "env": [["E", "v"]],
            }
        )
        self.assertEqual(bundles(result, "ExecuteResult"), [{"text/plain": "([1], 'v', True)"}])

    def test_output_directory_is_made(self):
        code = "import os\nos.listdir(os.environ['OUTPUT_DIR'])"
        result = run({"code": code, "mode": "notebook_cell", "env": [["OUTPUT_DIR", "made/here"]]})
        self.assertEqual(bundles(result, "ExecuteResult"), [{"text/plain": "[]"}])

    def test_patched_builtins(self):
        result = cells(
            "import builtins\nreal, builtins.print = print, lambda *a: None",
            "print('not seen')",
            "builtins.print = real",
            "print('seen')",
        )
        self.assertEqual(result.output, "seen\n")

    def test_interrupts_keep_state(self):
        for code in (
            "n = 1\nwhile True: pass",
            "n = 1\nimport asyncio\nawait asyncio.sleep(100)",
            "n = 1\nimport time\ntime.sleep(100)",
            "%%time\nn = 1\nwhile True: pass",
        ):
            result = cells("n = 0", {"code": code, "mode": "notebook_cell", "interrupt_after": 1.5}, "n")
            self.assertEqual(result.all[1]["Raised"]["ename"], "KeyboardInterrupt", code)
            self.assertNotIn("_brumate", result.all[1]["Raised"]["traceback"])
            self.assertEqual(bundles(result, "ExecuteResult"), [{"text/plain": "1"}])

    def test_history_writes_no_file(self):
        self.assertEqual(
            cells(
                "1",
                "import os, threading\n[os.listdir(), threading.active_count(), get_ipython().history_manager.hist_file]",
            ).all[-1],
            {"Returned": None},
        )
        self.assertFalse(os.path.exists("/nonexistent"))

    def test_rich_forms_are_bounded(self):
        result = cells(
            "class A:\n    def _repr_html_(self): return 'x' * 20_000_000\n    def __repr__(self): return 'y' * 20_000_000\nA()"
        )
        (data,) = bundles(result, "ExecuteResult")
        self.assertEqual(list(data), ["text/plain"])
        self.assertLess(len(data["text/plain"]), 1_100_000)

    def test_a_result_is_sent_after_many_displays(self):
        result = cells("for i in range(3000): display(i)\n'end'")
        self.assertEqual(bundles(result, "ExecuteResult"), [{"text/plain": "'end'"}])

    def test_cells_are_transformed_as_by_ipython(self):
        from notebook_cells import CELLS

        parts = [
            "x = 1",
            "1 + 1",
            "  y",
            "",
            "!ls",
            "%time 1",
            "%%time",
            "a?",
            "?a",
            ">>> 1",
            "... 2",
            "In [1]: 3",
            ",f 1",
            ";f 1",
        ]
        parts += [
            "/f 1",
            "exit",
            "ls",
            "'%'",
            "# a!",
            "if x:",
            "    pass",
            "a != b",
            "\t1",
            "'''",
            "z = \\",
            "1\f",
            "a\rb",
            "é",
        ]
        parts += ["(1)", "@d", "x\u2028y"]
        texts = [
            *CELLS,
            *parts,
            *(f"{a}\n{b}" for a in parts for b in parts),
            *(part + "\n" for part in parts),
            "1\n\n",
            "\n1",
            " ",
        ]
        code = """
from IPython.core.interactiveshell import InteractiveShell

def both(text):
    made = []
    for transform in (shell.transform_cell, lambda text: InteractiveShell.transform_cell(shell, text)):
        try:
            made.append(transform(text))
        except Exception as error:
            made.append(repr(error))
    return made

shell = get_ipython()
different = [text for text in texts if len(set(both(text))) != 1]
fast = sum([shell._transformers.plain(text) is not None for text in texts])
shell.input_transformers_post.append(lambda lines: ["2\\n"])
shaped = shell.transform_cell("1 + 1")
shell.input_transformers_post.clear()
(different, fast > 100, shaped)
"""
        result = run({"code": code, "mode": "notebook_cell", "globals_json": json.dumps({"texts": texts})})
        self.assertEqual(bundles(result, "ExecuteResult"), [{"text/plain": "([], True, '2\\n')"}])

    def test_cells_run_as_by_ipython(self):
        from notebook_cells import CELLS

        more = (
            "1;", "1 ;  # quiet", "x = 2; x", "x\nx + 1\n(x)", "return 1", "print(1)\nreturn", "yield 1", "raise SystemExit(3)", "import bdb\nraise bdb.BdbQuit",
            "raise KeyboardInterrupt", "def f(n):\n    return f(n)\nf(1)", "from __future__ import annotations\ndef g(a: b): pass\ng.__annotations__",
            "def g(a: b2): pass\ng.__annotations__", "'\\d'", "'\\d' +", "import sys\nsys._getframe(1).f_code.co_name, sys._getframe(1).f_code.co_filename[-19:]",
            "_, __, ___, _i, _ii, _iii, In[-2:], Out.keys()", "import builtins\n'exit' in vars(builtins), exit",
            "ip = get_ipython()\nip.last_execution_succeeded, ip.last_execution_result.result, ip.execution_count", "1/0", "ip.last_execution_succeeded, ip.last_execution_result.error_in_exec",
            "list(ip.history_manager.exceptions), ip.history_manager.get_tail(3)", "sys.excepthook.__name__, sys.displayhook is ip.displayhook",
            "class V(__import__('ast').NodeTransformer):\n    def visit_Constant(self, node): return __import__('ast').Constant(7) if node.value == 1 else node\nip.ast_transformers.append(V())",
            "1 + 1", "ip.ast_transformers.clear()", "ip.ast_node_interactivity = 'all'", "1\n2", "ip.ast_node_interactivity = 'last_expr'",
            "seen = []\nfor name in ip.events.callbacks: ip.events.register(name, lambda *a, name=name: seen.append((name, [type(v).__name__ for v in a])))", "seen",
            "ip.set_custom_exc((KeyError,), lambda self, kind, value, tb, tb_offset=None: print('custom', kind, value))", "{}['k']", "ip.set_custom_exc((), None)",
            "ip.run_code = ip.run_code", "'still runs' if 'run_code' not in vars(ip) else 1", "del ip.run_code", "ip.run_cell('6 * 7', store_history=True).result", "ip.run_cell('6 * 8').result",
            "exec('a = 5'), a", "lambda: 0", "1 if True else 2", "for i in range(2): i", "ip.compile.flags, len(ip.compile._filename_map)",
        )  # fmt: skip
        # Which lines a traceback shows around a method depends on addresses.
        script = ["import numpy", *(cell for cell in CELLS if "%time" not in cell and "class Bad" not in cell), *more]
        address = re.compile(r"/tmp\w+/|0x[0-9a-f]+|\(\d+ times\)|\d+(?:\.\d+)? ?[mnµu]s")

        def seen(*before):
            result = cells(*before, *script)
            return [
                address.sub("", json.dumps(part))
                for part in (*result.all[len(before) :], *result.events, result.output)
            ]

        own = seen()
        # As no cell of the notebook, so that it is not in the history.
        without = "import sys; import _brumate.notebook.running as running; running.run = lambda *a: None; del running"
        ipythons = seen({"code": without, "mode": "cell"})
        for one, other in zip(own, ipythons, strict=True):
            self.assertEqual(one.split("\\n"), other.split("\\n"))

    def test_values_are_shown_as_by_ipython(self):
        for code in ("1", "-5", "True", "'a\\nb'", "'x' * 200", "1.5", "None", "class I(int): pass\nI(3)"):
            formatters = "get_ipython().display_formatter.formatters"
            shown = bundles(cells(code), "ExecuteResult")
            slow = bundles(cells(f"del {formatters}['text/plain'].type_printers[int]\n{code}"), "ExecuteResult")
            self.assertEqual(shown, slow, code)
        code = "f = get_ipython().display_formatter.formatters['text/plain']\nf.for_type(int, lambda n, p, c: p.text('n'))\n5"
        self.assertEqual(bundles(cells(code), "ExecuteResult"), [{"text/plain": "n"}])
        self.assertEqual(cells("10 ** 5000").raised["ename"], "ValueError")

    def test_exit_ends_the_cell_and_nothing_else(self):
        for code in (
            "print(1); exit(); print(2)",
            "print(1)\nquit()\nprint(2)",
            "print(1); exit(0)",
            "print(1); exit(True)",
        ):
            result = cells("x = 5", code, "x")
            self.assertEqual(result.all[1], {"Returned": None}, code)
            self.assertEqual(result.output, "1\n", code)
            self.assertEqual(bundles(result, "ExecuteResult"), [{"text/plain": "5"}], code)
        for code, message in (
            ("exit(3)", "3"),
            ("quit('bad')", "bad"),
            ("import sys; sys.exit(2)", "2"),
            ("raise SystemExit", ""),
        ):
            result = cells(code)
            self.assertEqual((result.raised["ename"], result.raised["evalue"]), ("SystemExit", message), code)
            self.assertEqual(result.output, "", code)
        result = cells("try:\n    exit()\nexcept SystemExit:\n    pass\n1/0")
        self.assertEqual(result.raised["ename"], "ZeroDivisionError")

    def test_notebook(self):
        code = (
            "import json\nd = json.load(open('n.ipynb'))\n(d['nbformat'], [''.join(c['source']) for c in d['cells']])"
        )
        with tempfile.TemporaryDirectory() as directory:
            result = cells(f"import os; os.chdir({directory!r})", "x = 1\nx + 1", "%notebook n.ipynb", code)
        texts = [f"import os; os.chdir({directory!r})", "x = 1\nx + 1"]
        self.assertEqual(bundles(result, "ExecuteResult")[-1]["text/plain"].replace("\n ", ""), repr((4, texts)))
        self.assertEqual(result.output, "2 cells are in n.ipynb\n")

    def test_output_order(self):
        self.assertEqual(cells("import sys\nprint('a'); print('b', file=sys.stderr); print('c')").output, "a\nb\nc\n")


@unittest.skipIf(importlib.util.find_spec("IPython") is None, "IPython is not installed")
class Input(unittest.TestCase):
    def test_nobody_answers(self):
        for code, name in (("input('?')", "raw_input"), ("import getpass; getpass.getpass()", "getpass")):
            raised = cells(code).raised
            self.assertEqual(raised["ename"], "StdinNotImplementedError")
            self.assertEqual(raised["evalue"], f"{name} was called, but this frontend does not support input requests.")

    def test_somebody_answers(self):
        code = "import _brumate.stdin as s, getpass\ns.answer = lambda prompt, password: f'{prompt}|{password}'\n"
        result = cells(code + "[input('name? '), getpass.getpass('secret? ')]")
        self.assertEqual(bundles(result, "ExecuteResult"), [{"text/plain": "['name? |False', 'secret? |True']"}])

    def test_there_is_no_debugger(self):
        for code in ("breakpoint()\nprint('on')", "import pdb\npdb.set_trace()\nprint('on')"):
            result = cells(code, code)
            words = "No debugger: nobody can talk to it here. The code goes on; print what you want to see.\non\n"
            self.assertEqual((result.ended, result.output), ({"Returned": None}, words * 2), code)
        for code in ("%debug", "%pdb on"):
            raised = cells("1/0", code).raised
            self.assertEqual(raised["ename"], "UsageError")
            self.assertIn("nobody can talk to a debugger here", raised["evalue"])
        self.assertEqual(
            cells(
                "breakpoint()",
                "import pdb; pdb.set_trace.__name__",
                {"code": "import pdb; pdb.set_trace.__name__", "mode": "cell"},
            ).value,
            "set_trace",
        )

    def test_outside_of_cells_it_is_pythons(self):
        result = cells("x = 1", {"code": "input()", "mode": "cell"}, stdin=b"typed\n")
        self.assertEqual(result.value, "typed")


if __name__ == "__main__":
    unittest.main()
