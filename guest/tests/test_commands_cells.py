"""Cells with shell lines: the exit status of the last one is that of the cell."""

import importlib.util
import unittest

from support import bundles, cells, run


def error(result):
    ended = result.ended
    return (ended["Raised"]["ename"], ended["Raised"]["evalue"]) if "Raised" in ended else None


@unittest.skipIf(importlib.util.find_spec("IPython") is None, "IPython is not installed")
class Status(unittest.TestCase):
    def test_a_last_line_that_fails_fails_the_cell(self):
        for code, text in [
            ("!ls nosuch", "Command 'ls nosuch' returned non-zero exit status 2."),
            ("x = 1\n!exit 3", "Command 'exit 3' returned non-zero exit status 3."),
            ("name = 'q'\n!cat {name}\n", "Command 'cat q' returned non-zero exit status 1."),
            ("!true\n!false  ", "Command 'false' returned non-zero exit status 1."),
            ("!no_such_command", "Command 'no_such_command' returned non-zero exit status 127."),
            ("!for", "Command 'for' returned non-zero exit status 2."),
        ]:
            with self.subTest(code=code):
                self.assertEqual(error(cells(code)), ("CalledProcessError", text))

    def test_what_it_wrote_is_there(self):
        result = cells("!echo before; ls nosuch")
        self.assertIn("before\nls: cannot access 'nosuch': No such file or directory\n", result.output)
        self.assertIn("Cell In[1], line 1", result.raised["traceback"])

    def test_files_of_the_guest_do_not_take_the_place_of_the_shell(self):
        result = cells(
            "for name in ('brumate_shell', 'brumate_plotly', 'bash'):\n    with open(name + '.py', 'w') as file: file.write('1/0')",
            "x = !echo b a | tr ' ' '\\n' | sort\nx",
        )
        self.assertEqual(bundles(result, "ExecuteResult"), [{"text/plain": "['a', 'b']"}])

    def test_builtins_of_the_cell_do_not_matter(self):
        # `sleep` adds up its arguments. IPython itself needs other builtins than this one.
        result = cells(
            "import builtins\nbuiltins.sum = None",
            "x = !sleep 0 && echo slept; python -c 'print(sum)'",
            "x, builtins.sum",
        )
        self.assertEqual(bundles(result, "ExecuteResult"), [{"text/plain": "(['slept', 'None'], None)"}])

    def test_others_tell_it_in_a_variable(self):
        for code, status in [
            ("!ls nosuch\nx = _exit_code\nx", "2"),
            ("x = !exit 4\n_exit_code", "4"),
            ("if True:\n    !exit 5\n_exit_code", "5"),
            ("!false || true\n_exit_code", "0"),
        ]:
            with self.subTest(code=code):
                result = cells(code)
                self.assertIsNone(error(result))
                self.assertEqual(result.events[-1]["ExecuteResult"]["data"]["text/plain"], status)
        for code in ("x = !false", "for i in range(2):\n    !false", "!false || true", "!!false", "!true"):
            with self.subTest(code=code):
                self.assertIsNone(error(cells(code)))

    def test_cells_of_a_shell(self):
        self.assertEqual(error(cells("%%bash\necho a\nexit 6"))[0], "CalledProcessError")
        self.assertEqual(error(cells("%%sh\nfalse"))[1], "Command 'false\n' returned non-zero exit status 1.")
        self.assertIsNone(error(cells("%%bash --no-raise-error\nfalse")))
        self.assertIsNone(error(cells("%%bash\nfalse\ntrue")))
        self.assertEqual(cells("%%bash\nfor i in 1 2; do\n  echo $((i * 2))\ndone").output, "2\n4\n")

    def test_variables_of_the_cell(self):
        self.assertIn("5 5 6\n", cells("a = 5\n!echo {a} $a {a + 1}").output)

    def test_an_interrupt_ends_an_endless_loop(self):
        result = run(
            {"code": "!while true; do :; done", "mode": "notebook_cell", "interrupt_after": 1.0},
            {"code": "1", "mode": "notebook_cell"},
        )
        self.assertEqual(result.all[0]["Raised"]["ename"], "KeyboardInterrupt")
        self.assertEqual(result.all[1], {"Returned": None})


if __name__ == "__main__":
    unittest.main()
