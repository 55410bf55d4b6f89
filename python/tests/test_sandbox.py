"""The blocking interface, with a real sandbox."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import unittest

from brumate import (
    BinaryNotFoundError,
    CodeError,
    Figure,
    Output,
    Result,
    Sandbox,
    SandboxError,
    close_all,
    find_binary,
)
from brumate._process import running_process

from . import OPTIONS


class Runs(unittest.TestCase):
    def setUp(self):
        self.box = Sandbox(**OPTIONS)

    def test_a_result_has_what_the_code_did(self):
        code = "import sys\nprint('out')\nprint('error', file=sys.stderr)\n{'a': [1, 2.5, None, True, 'x']}"
        result = self.box.run(code)
        self.assertTrue(result.success)
        self.assertEqual(result.value, {"a": [1, 2.5, None, True, "x"]})
        self.assertEqual((result.stdout, result.stderr, result.error), ("out\n", "error\n", None))
        self.assertGreater(result.duration, 0)
        self.assertIs(result.raise_for_error(), result)

    def test_each_run_is_a_fresh_interpreter(self):
        self.box.run("import json; json.x = 1; open('file', 'w').close()")
        self.assertEqual(
            self.box.run("import json, os; (hasattr(json, 'x'), os.path.exists('file'))").value, [False, False]
        )

    def test_globals_are_variables(self):
        self.assertEqual(self.box.run("a + b['c']", {"a": 1, "b": {"c": 2}}).value, 3)

    def test_what_cannot_be_sent_is_refused_and_harms_nobody(self):
        for act, error in (
            (lambda: self.box.run("'\ud800'"), ValueError),
            (lambda: self.box.run("x", {"x": object()}), TypeError),
            (lambda: self.box.run("x", {"x": float("nan")}), ValueError),
        ):
            with self.assertRaises(error):
                act()
            self.assertEqual(self.box.run("1").value, 1)

    def test_values_are_exact_in_both_directions(self):
        deep = current = []
        for _ in range(500):
            current.append([])
            current = current[0]
        values = [2**64 + 3, -(2**70), 10**4000, 0.1, 5e-324, -0.0, "\ud800", {"\udfff": [True, None]}]
        result = self.box.run(
            "import math\n[v % 10 if type(v) is int else v for v in values], math.copysign(1, values[5])",
            {"values": values},
        )
        expected = [9, 6, 0, 0.1, 5e-324, -0.0, "\\ud800", {"\\udfff": [True, None]}]
        self.assertEqual(result.value, [expected, -1.0])
        self.assertEqual(self.box.run("n", {"n": 2**64 + 3}).value, 2**64 + 3)
        # More digits than Python's own functions write and read.
        self.assertEqual(self.box.run("10 ** 5000 + 7").value, 10**5000 + 7)
        self.assertEqual(self.box.run("n = 0\nwhile x:\n    x, n = x[0], n + 1\nn", {"x": deep}).value, 500)

    def test_output_beyond_the_limit_is_cut(self):
        result = Sandbox(**OPTIONS, output_limit="64KiB").run("print('x' * 1_000_000)")
        self.assertTrue(result.success)
        self.assertLess(len(result.stdout), 70_000)

    def test_a_failure_is_a_result_until_it_is_raised(self):
        result = self.box.run("def f():\n    1 / 0\nprint('before')\nf()", file_name="tool.py")
        self.assertFalse(result.success)
        self.assertEqual((result.status, result.stdout, result.value), ("run-error", "before\n", None))
        self.assertIn('File "tool.py", line 2, in f', result.error)
        with self.assertRaisesRegex(CodeError, "ZeroDivisionError: division by zero"):
            result.raise_for_error()

    def test_a_package_that_cannot_be_had_is_an_install_error(self):
        result = self.box.run("# /// script\n# dependencies = ['no-such-package-anywhere']\n# ///\n1")
        self.assertEqual((result.success, result.status), (False, "install-error"))
        self.assertIn("no-such-package-anywhere", result.error)

    def test_nan_and_infinity_are_floats(self):
        value = self.box.run("[float('nan'), float('inf')]").value
        self.assertNotEqual(value[0], value[0])
        self.assertEqual(value[1], float("inf"))

    def test_the_time_limit_ends_a_run(self):
        result = Sandbox(**OPTIONS, timeout=0.3).run("while True: pass")
        self.assertEqual((result.success, result.stopped), (False, "time-limit"))

    def test_the_memory_limit_is_that_of_the_sandbox(self):
        result = Sandbox(**OPTIONS, memory="128MiB").run("b = bytearray(200 << 20)")
        self.assertIn("MemoryError", result.error)
        self.assertIn("128 MiB", result.error)

    def test_a_figure_is_a_picture(self):
        result = self.box.run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()")
        (figure,) = result.figures
        self.assertTrue(figure.png.startswith(b"\x89PNG"))
        self.assertIn("image/png", figure._repr_mimebundle_())
        self.assertIn('<img src="data:image/png;base64,', result._repr_html_())

    def test_output_is_escaped_for_notebooks(self):
        self.assertEqual(self.box.run("print('<b>')")._repr_html_(), "<pre>&lt;b&gt;\n</pre>")

    def test_events_come_while_the_code_runs(self):
        events = self.box.stream(
            "import time\nprint(1, flush=True)\ninput()\nprint(2)\n3", input=lambda prompt, password: ""
        )
        self.assertEqual(next(events), Output("stdout", "1\n"))
        *others, last = events
        self.assertIn(Output("stdout", "2\n"), others)
        self.assertIsInstance(last, Result)
        self.assertEqual((last.value, last.stdout.splitlines()[-1]), (3, "2"))

    def test_figures_are_events_too(self):
        kinds = [type(event) for event in self.box.stream("import matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()")]
        self.assertEqual((kinds.count(Figure), kinds[-1]), (1, Result))

    def test_a_failure_to_run_is_raised_by_the_stream(self):
        with self.assertRaises(SandboxError):
            list(Sandbox(**OPTIONS, arguments=["--no-such-option"]).stream("1"))


class Questions(unittest.TestCase):
    def setUp(self):
        self.box = Sandbox(**OPTIONS)

    def test_questions_are_answered(self):
        asked = []

        def answer(prompt, password):
            asked.append((prompt, password))
            return f"answer {len(asked)}"

        result = self.box.run("import getpass\n[input('Name? '), getpass.getpass('Word? ')]", input=answer)
        self.assertEqual(result.value, ["answer 1", "answer 2"])
        self.assertEqual(asked, [("Name? ", False), ("Word? ", True)])

    def test_no_answer_is_the_end_of_the_input(self):
        for answer in (None, lambda prompt, password: None):
            self.assertIn("EOFError", self.box.run("input()", input=answer).error)

    def test_what_an_answerer_raises_reaches_the_caller(self):
        def answer(prompt, password):
            raise KeyError("no answer")

        with self.assertRaisesRegex(KeyError, "no answer"):
            self.box.run("input()\nwhile True: pass", input=answer)
        with self.assertRaisesRegex(TypeError, "a text or None, not int"):
            self.box.run("input()", input=lambda prompt, password: 5)
        self.assertEqual(self.box.run("1").value, 1)

    def test_the_limit_does_not_count_what_a_person_takes(self):
        def answer(prompt, password):
            time.sleep(1.5)
            return "late"

        self.assertEqual(Sandbox(**OPTIONS, timeout=1).run("input()", input=answer).value, "late")


class Processes(unittest.TestCase):
    def test_threads_share_a_process(self):
        box = Sandbox(**OPTIONS)
        results = [None] * 8

        def work(number):
            results[number] = box.run("n * 2", {"n": number}).value

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [number * 2 for number in range(8)])

    def test_the_end_of_the_process_is_an_error_and_the_next_call_works(self):
        box = Sandbox(**OPTIONS, arguments=["--verbose"])
        box.run("1")
        process = running_process(box._settings.command_line())
        threading.Timer(0.5, process._process.send_signal, [signal.SIGKILL]).start()
        with self.assertRaisesRegex(SandboxError, "the sandbox has ended"):
            box.run("while True: pass")
        self.assertEqual(box.run("2").value, 2)

    def test_wrong_options_are_named(self):
        with self.assertRaisesRegex(SandboxError, "--no-such-option"):
            Sandbox(**OPTIONS, arguments=["--no-such-option"]).run("1")
        with self.assertRaisesRegex(TypeError, r"such as \['numpy'\]"):
            Sandbox(packages="numpy")

    def test_a_binary_that_is_not_there_is_named(self):
        code = "import brumate; brumate.Sandbox().run('1')"
        environment = {**os.environ, "BRUMATE_BINARY": "/nowhere/brumate"}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        self.assertIn("BinaryNotFoundError: BRUMATE_BINARY names '/nowhere/brumate'", done.stderr)
        self.assertTrue(issubclass(BinaryNotFoundError, Exception))
        self.assertTrue(os.access(find_binary(), os.X_OK))

    def test_a_program_ends_with_its_process(self):
        code = (
            "import brumate, sys; from tests import OPTIONS; box = brumate.Sandbox(**OPTIONS); box.run('1')\n"
            "from brumate._process import running_process; print(running_process(box._settings.command_line())._process.pid)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.stderr, "")
        self.assertFalse(os.path.exists(f"/proc/{int(done.stdout)}"))

    def test_a_forked_program_makes_its_own_process(self):
        box = Sandbox(**OPTIONS)
        self.assertEqual(box.run("1").value, 1)
        context = multiprocessing.get_context("fork")
        answers = context.Queue()
        child = context.Process(target=lambda: answers.put(box.run("2").value))
        child.start()
        self.assertEqual(answers.get(timeout=60), 2)
        child.join()
        self.assertEqual(box.run("3").value, 3)

    def test_closing_is_not_the_end(self):
        box = Sandbox(**OPTIONS)
        box.run("1")
        close_all()
        self.assertEqual(box.run("2").value, 2)


if __name__ == "__main__":
    unittest.main()
