"""Sessions, their variables and their files."""

import datetime
import decimal
import json
import os
import pathlib
import subprocess
import tempfile
import threading
import time
import unittest

from brumate import CodeError, FileError, Sandbox, SessionNotFoundError, close_all, find_binary

from . import OPTIONS

try:
    import numpy
    import pandas
except ImportError:
    numpy = pandas = None


class Sessions(unittest.TestCase):
    def setUp(self):
        self.box = Sandbox(**OPTIONS)
        self.session = self.box.session()

    def tearDown(self):
        self.session.delete()

    def test_state_stays(self):
        self.assertTrue(self.session.run("import math\nx = [1]").success)
        self.assertEqual(self.session.run("x.append(math.floor(2.5)); x").value, [1, 2])
        self.assertEqual(self.session.run("x").text, "[1, 2]")

    def test_a_failure_keeps_what_was_done(self):
        result = self.session.run("y = 1\nz")
        self.assertIn("NameError: name 'z' is not defined", result.error)
        with self.assertRaises(CodeError):
            result.raise_for_error()
        self.assertEqual(self.session["y"], 1)

    def test_code_that_ends_the_interpreter_changes_nothing(self):
        self.session["x"] = 1
        result = self.session.run("x = 2\nimport os\nos._exit(3)")
        self.assertTrue(result.rolled_back)
        self.assertEqual(self.session["x"], 1)

    def test_another_program_finds_it(self):
        self.session["x"] = "kept"
        close_all()
        again = Sandbox(**OPTIONS).session(self.session.id)
        self.assertEqual(again["x"], "kept")
        self.assertIn(self.session.id, self.box.sessions())

    def test_a_fork_goes_its_own_way(self):
        self.session["x"] = [1]
        with self.session.fork() as fork:
            fork.run("x.append(2)")
            self.assertEqual((self.session["x"], fork["x"]), ([1], [1, 2]))

    def test_a_snapshot_goes_on_in_another_data_directory(self):
        self.session.run("import collections\nx = collections.Counter('abc')\nopen('f.txt', 'w').write('kept')")
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "x.brumate")
            self.session.snapshot(path)
            self.session.run("x.clear()")
            self.assertEqual([file.name for file in pathlib.Path(directory).iterdir()], ["x.brumate"])
            other = Sandbox(**OPTIONS, data_dir=os.path.join(directory, "data"))
            for box in (self.box, other):
                with box.restore(path) as copy:
                    self.assertEqual(copy.run("x.total(), open('f.txt').read()").value, [3, "kept"])
                    self.assertEqual([file.name for file in copy.files()], ["f.txt"])
            close_all()

    def test_a_snapshot_of_a_new_session_is_a_new_session(self):
        with tempfile.TemporaryDirectory() as directory, self.box.session() as session:
            session.snapshot(os.path.join(directory, "x"))
            with self.box.restore(os.path.join(directory, "x")) as copy:
                self.assertEqual((copy.run("'x' in globals()").value, copy.files()), (False, []))

    def test_what_is_no_snapshot_is_refused(self):
        with tempfile.TemporaryDirectory() as directory:
            pathlib.Path(directory, "x").write_bytes(b"no archive")
            with self.assertRaisesRegex(FileError, "x: it is not a snapshot of a session"):
                self.box.restore(os.path.join(directory, "x"))
            with self.assertRaisesRegex(FileError, "missing: No such file"):
                self.box.restore(os.path.join(directory, "missing"))
            with self.assertRaisesRegex(FileError, "no/x"):
                self.session.snapshot(os.path.join(directory, "no", "x"))
        with self.assertRaises(SessionNotFoundError):
            self.box.session("0" * 16).snapshot("x")

    def test_a_session_is_a_notebook(self):
        self.session.run("print('a')")
        self.session["x"] = 1
        self.session.run("1/0")
        text = self.session.to_notebook()
        cells = json.loads(text)["cells"]
        self.assertEqual([cell["source"] for cell in cells], [["print('a')"], ["1/0"]])
        self.assertEqual(cells[1]["outputs"][0]["ename"], "ZeroDivisionError")
        with tempfile.TemporaryDirectory() as directory:
            file = pathlib.Path(directory, "a.ipynb")
            line = [find_binary(), "sessions", "export", self.session.id, "--notebook", file]
            subprocess.run(line, check=True, capture_output=True)
            self.assertEqual(file.read_text(encoding="utf-8"), text)
            gone = subprocess.run([*line[:3], "no-such-session", *line[4:]], capture_output=True, text=True)
        self.assertEqual(gone.returncode, 1)
        self.assertIn("there is no session no-such-session", gone.stderr)
        self.session.reset()
        self.assertEqual(json.loads(self.session.to_notebook())["cells"], [])

    def test_a_session_that_is_deleted_is_gone(self):
        with self.box.session() as session:
            session.run("1")
        with self.assertRaisesRegex(
            SessionNotFoundError, r"not found or has expired\. Sessions expire after 30 minutes.*inactivity\.$"
        ):
            session.run("1")

    def test_reset_removes_everything(self):
        self.session.run("x = 1; open('f', 'w').write('a')")
        self.session.reset()
        self.assertEqual(self.session.files(), [])
        with self.assertRaises(KeyError):
            self.session["x"]

    def test_running_code_is_interrupted(self):
        runs = threading.Event()

        def interrupt():
            runs.wait()
            while not self.session.interrupt():
                time.sleep(0.05)

        thread = threading.Thread(target=interrupt)
        thread.start()
        events = self.session.stream("x = 1\nprint('runs', flush=True)\nwhile True: pass")
        next(events)
        runs.set()
        *_, result = events
        thread.join()
        self.assertEqual((result.success, result.stopped), (False, "cancelled"))
        self.assertEqual(self.session["x"], 1)

    def test_events_come_while_the_code_runs(self):
        *others, last = self.session.stream("print('a')\n4")
        self.assertEqual(("".join(event.text for event in others), last.value), ("a\n", 4))

    def test_a_figure_is_a_file_too(self):
        result = self.session.run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()")
        (figure,) = result.figures
        self.assertEqual(self.session.download(figure.name), figure.png)


class Files(unittest.TestCase):
    def setUp(self):
        self.session = Sandbox(**OPTIONS).session()

    def tearDown(self):
        self.session.delete()

    def test_files_go_in_and_out(self):
        self.session.upload(b"a,b\n1,2\n", "data.csv")
        code = (
            "import os\nos.mkdir('out')\ntext = open('data.csv').read()\n_ = open('out/x.txt', 'w').write(text.upper())"
        )
        result = self.session.run(code)
        self.assertEqual([file.name for file in result.raise_for_error().files], ["out/x.txt"])
        self.assertEqual(self.session.download("out/x.txt"), b"A,B\n1,2\n")
        self.assertEqual([(file.name, file.size) for file in self.session.files()], [("data.csv", 8), ("out/x.txt", 8)])

    def test_a_file_of_this_machine_keeps_its_name(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "table.bin")
            data = bytes(range(256)) * 12_000  # three parts
            path.write_bytes(data)
            file = self.session.upload(path)
        self.assertEqual((file.name, file.size), ("table.bin", len(data)))
        self.assertEqual(self.session.download("table.bin"), data)

    def test_an_empty_file_is_a_file(self):
        self.session.upload(b"", "empty")
        self.assertEqual(self.session.download("empty"), b"")

    def test_what_is_not_there_is_named(self):
        with self.assertRaisesRegex(FileError, "nothing.txt"):
            self.session.download("nothing.txt")
        with self.assertRaises(FileError):
            self.session.upload(b"", "../escape")
        with self.assertRaisesRegex(TypeError, "name"):
            self.session.upload(b"")


class Values(unittest.TestCase):
    def setUp(self):
        self.session = Sandbox(**OPTIONS).session()

    def tearDown(self):
        self.session.delete()

    def back_and_forth(self, value):
        self.session["value"] = value
        return self.session["value"]

    def test_values_of_python_cross_unchanged(self):
        zone = datetime.timezone(datetime.timedelta(hours=2))
        for value in (
            None, True, 10**40, 1.5, "é\ud800", b"\0\xff", bytearray(b"a"), 1 + 2j, [1, [2]], (1, "a"), {1, 2}, frozenset("a"),
            {"a": 1, 2: (3,), None: b"", (1, 2): {}}, datetime.datetime(2026, 1, 2, 3, 4, 5, 6, zone), datetime.date(2026, 1, 2),
            datetime.time(1, 2), datetime.timedelta(1, 2, 3), decimal.Decimal("1.10"), float("inf"),
        ):  # fmt: skip
            with self.subTest(value=value):
                again = self.back_and_forth(value)
                self.assertEqual((again, type(again)), (value, type(value)))

    def test_the_session_sees_the_same_value(self):
        self.session["value"] = {"a": (1, b"x")}
        self.assertEqual(self.session.run("value").text, "{'a': (1, b'x')}")

    def test_a_large_value_crosses(self):
        data = b"0123456789" * 500_000
        self.assertEqual(self.back_and_forth(data), data)
        self.assertEqual(self.session.files(), [])

    def test_what_cannot_cross_is_named(self):
        with self.assertRaisesRegex(TypeError, "builtins.function"):
            self.session["value"] = lambda: 1
        self.session.run("import re; value = re.compile('a')")
        with self.assertRaisesRegex(TypeError, "re.Pattern"):
            self.session["value"]

    def test_a_name_that_is_not_there_is_a_key_error(self):
        for act in (
            lambda: self.session["nothing"],
            lambda: self.session["not a name"],
            lambda: self.session.__delitem__("nothing"),
        ):
            with self.assertRaises(KeyError):
                act()
        self.session["x"] = 1
        del self.session["x"]
        with self.assertRaises(KeyError):
            self.session["x"]

    def test_nothing_of_ours_stays_among_the_variables(self):
        self.session["x"] = 1
        self.assertEqual(self.session["x"], 1)
        names = self.session.run("sorted(name for name in globals() if not name.startswith('__'))").value
        self.assertFalse([name for name in names if "brumate" in name], names)

    def test_what_a_session_sends_cannot_run_code(self):
        self.session["value"] = 1
        forged = "import sys; sys.modules['_brumate_exchange'].give = lambda *a: __import__('base64').b64encode({!r}).decode()"
        for data in (b"", b"\x05\0\0\0{}", b"\x02\0\0\0[]", b'\x23\0\0\0{"value": {"os": []}, "sizes": [0]}'):
            self.session.run(forged.format(data)).raise_for_error()
            with self.assertRaises((ValueError, ImportError)):
                self.session["value"]

    @unittest.skipIf(pandas is None, "numpy and pandas are not installed")
    def test_arrays_cross_with_their_types(self):
        for array in (
            numpy.arange(6).reshape(2, 3), numpy.array([1.5], "f4"), numpy.array(["a", "bc"]), numpy.array([True]),
            numpy.array(["2026-01-02"], "M8[s]"), numpy.array([], "i2"), numpy.asfortranarray(numpy.eye(3)),
        ):  # fmt: skip
            again = self.back_and_forth(array)
            numpy.testing.assert_array_equal(again, array)
            self.assertEqual((again.dtype, again.shape), (array.dtype, array.shape))
        self.assertEqual(self.back_and_forth(numpy.int64(5)), 5)

    @unittest.skipIf(pandas is None, "numpy and pandas are not installed")
    def test_pandas_objects_cross_with_their_types(self):
        frame = pandas.DataFrame(
            {
                "number": [1, 2, 3], "text": ["a", None, "c"], "float": [1.5, float("nan"), 2.0], "mixed": [1, "b", (2,)],
                "when": pandas.date_range("2026-01-01", periods=3), "zone": pandas.date_range("2026-01-01", periods=3, tz="UTC"),
                "group": pandas.Categorical(["x", "y", "x"], ordered=True), "maybe": pandas.array([1, None, 3], dtype="Int64"),
            },
            index=pandas.Index(["p", "q", "r"], name="row"),
        )  # fmt: skip
        again = self.back_and_forth(frame)
        pandas.testing.assert_frame_equal(again, frame)
        grouped = frame.groupby(["group", "text"], observed=True)["number"].sum()
        pandas.testing.assert_series_equal(self.back_and_forth(grouped), grouped)
        pandas.testing.assert_index_equal(self.back_and_forth(frame.index), frame.index)


if __name__ == "__main__":
    unittest.main()
