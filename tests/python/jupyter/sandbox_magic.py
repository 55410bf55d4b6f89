"""`%%sandbox` and `Session.to_notebook` of the Python package, in the hands of nbclient and nbformat."""

import json
import struct
import unittest
from unittest import mock

import nbformat
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from nbclient import NotebookClient

from brumate import Sandbox, _exchange, _magic

# A cell that takes longer hangs.
HANG_SECONDS = 180
CELLS = [
    "%load_ext brumate",
    "a, b = [1, {'x': 2.5}], 'text'",
    "%%sandbox --in a,b --out c --out d\nprint(a)\nimport sys; print('error', file=sys.stderr)\nc, d = a + [b], (1, b'x')\n'value'",
    "c, d",
    "%%sandbox\nfrom IPython.display import display, HTML\nhandle = display(HTML('<b>1</b><script>2</script>'), display_id=True)\n"
    "handle.update(HTML('<i>2</i>'))",
    "%%sandbox\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()",
    "%%sandbox\ndef fail():\n    1/0\nfail()",
    "%sandbox --reset",
    "%%sandbox\na",
    "%%sandbox --session other --out only\nonly = 1",
    "%%sandbox --in only\nonly + 1",
    "%%sandbox --out lost\nlost = print",
    "%%sandbox --in gone\n1",
]


def texts(cell, name="stdout"):
    """The text that a cell has written to a stream."""
    return "".join(output.text for output in cell.outputs if output.get("name") == name)


def data(cell):
    return [output.data for output in cell.outputs if "data" in output]


def error(cell):
    return next(output for output in cell.outputs if output.output_type == "error")


class Notebook(unittest.TestCase):
    """A notebook of ipykernel whose cells run in the sandbox."""

    @classmethod
    def setUpClass(cls):
        cells = [nbformat.v4.new_code_cell(cell) for cell in CELLS]
        notebook = nbformat.v4.new_notebook(cells=cells)
        NotebookClient(notebook, kernel_name="python3", timeout=HANG_SECONDS, allow_errors=True).execute()
        nbformat.validate(notebook)
        cls.cells = notebook.cells

    def test_values_cross_and_outputs_are_shown(self):
        self.assertEqual(texts(self.cells[2]), "[1, {'x': 2.5}]\n")
        self.assertEqual(texts(self.cells[2], "stderr"), "error\n")
        self.assertEqual(data(self.cells[2]), [{"text/plain": "'value'"}])
        self.assertEqual(data(self.cells[3])[0]["text/plain"], "([1, {'x': 2.5}, 'text'], (1, b'x'))")

    def test_rich_outputs_are_shown_and_harmless(self):
        self.assertEqual(data(self.cells[4])[0]["text/html"], "<i>2</i>")
        self.assertTrue(data(self.cells[5])[0]["image/png"].startswith("iVBOR"))

    def test_errors_have_the_traceback_of_the_sandbox(self):
        shown = error(self.cells[6])
        self.assertEqual((shown.ename, shown.evalue), ("SandboxCellError", "ZeroDivisionError: division by zero"))
        self.assertIn("fail", "".join(shown.traceback))
        self.assertNotIn("_magic.py", "".join(shown.traceback))

    def test_sessions_stay_and_are_reset(self):
        self.assertEqual(error(self.cells[8]).evalue, "NameError: name 'a' is not defined")
        self.assertEqual(data(self.cells[10]), [{"text/plain": "2"}])

    def test_what_cannot_cross_is_named(self):
        self.assertEqual(error(self.cells[11]).ename, "TypeError")
        self.assertIn("--out lost: the value of 'lost' cannot cross: a value of type", error(self.cells[11]).evalue)
        self.assertIn("there is no variable 'gone' in this notebook", error(self.cells[12]).evalue)


class Hostile(unittest.TestCase):
    """The sandbox may send anything in the place of a value."""

    def test_bytes_that_are_no_value_run_nothing(self):
        shell = InteractiveShell.instance()
        magic = _magic.Magic(shell, mock.Mock())
        header = json.dumps({"value": {"ndarray": 0}, "sizes": [40]}).encode()
        pickled = b"\x93NUMPY\x01\x00\x1e\x00{'descr': '|O', 'fortran_order': False, 'shape': (1,)}"
        deep = b'{"value": ' + b"[" * 100_000 + b"]" * 100_000 + b', "sizes": []}'
        for sent in (
            b"",
            b"\xff" * 8,
            struct.pack("<I", len(header)) + header + pickled,
            struct.pack("<I", len(deep)) + deep,
            struct.pack("<I", 13) + b'{"value": [1]',
        ):
            session = mock.MagicMock()
            session.__getitem__.side_effect = lambda name, sent=sent: _exchange.decode(sent)
            with self.subTest(sent[:20]), self.assertRaises((TypeError, ModuleNotFoundError)):
                magic._move_out(session, ["a"])
        self.assertNotIn("a", shell.user_ns)

    def test_wrong_options_are_usage_errors(self):
        magic = _magic.Magic(mock.Mock(user_ns={}), mock.Mock())
        for line in ("--bad", "--in a-b", "--session", "'", "--help", ""):
            with self.subTest(line), self.assertRaises(UsageError):
                magic(line)

    def test_what_cannot_be_installed_ends_the_cell(self):
        with Sandbox(offline=True).session() as session:
            magic = _magic.Magic(mock.Mock(user_ns={"session": session}), mock.Mock())
            with self.assertRaisesRegex(_magic.SandboxCellError, "could be installed: no-such-package"):
                magic("--session session --deps no-such-package", "ran = 1")
            self.assertFalse(session.run("ran").success)

    def test_lists_of_requirements(self):
        self.assertEqual(_magic._requirements("a>=1,<2, b[c,d],e"), ["a>=1,<2", "b[c,d]", "e"])


class SessionAsNotebook(unittest.TestCase):
    def test_it_is_valid_and_has_outputs_and_figures(self):
        with Sandbox(offline=True).session() as session:
            session.run("print('a'); 1")
            session["x"] = 1
            session.run("import matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()")
            session.run("1/0")
            session.run("import os; os._exit(1)")
            notebook = nbformat.reads(session.to_notebook(), 4)
        nbformat.validate(notebook)
        self.assertEqual(len(notebook.cells), 4)
        self.assertEqual([output.output_type for output in notebook.cells[0].outputs], ["stream", "execute_result"])
        self.assertTrue(notebook.cells[1].outputs[0].data["image/png"].startswith("iVBOR"))
        self.assertEqual(notebook.cells[2].outputs[0].ename, "ZeroDivisionError")
        self.assertEqual(notebook.cells[3].outputs[0].ename, "SessionRolledBackError")


if __name__ == "__main__":
    unittest.main()
