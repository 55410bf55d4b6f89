"""The blocking interface, with a real sandbox."""

import copy
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from concurrent.futures import CancelledError, ThreadPoolExecutor
from unittest.mock import Mock, patch

import brumate
from brumate import (
    AsyncSandbox,
    BinaryNotFoundError,
    CodeError,
    Figure,
    File,
    Output,
    Result,
    Sandbox,
    SandboxError,
    _process,
    _settings,
    close_all,
    find_binary,
)
from brumate._process import Call, Gate, running_process

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
        file = Sandbox(**OPTIONS, data_dir="/proc/no-such-directory")
        with self.assertRaises(SandboxError):
            list(file.stream("1"))

    def test_a_stream_that_is_left_ends_its_code(self):
        box = Sandbox(**OPTIONS, arguments=["--max-concurrent", "1"])
        events = box.stream("print(1, flush=True)\nwhile True: pass")
        self.assertEqual(next(events), Output("stdout", "1\n"))
        events.close()
        self.assertEqual(box.run("2").value, 2)

    def test_a_call_has_its_own_time_limit(self):
        for result in (
            self.box.run("while True: pass", timeout=0.3),
            list(self.box.stream("while True: pass", timeout=0.3))[-1],
        ):
            self.assertEqual((result.success, result.stopped), (False, "time-limit"))
            self.assertIn("0.3 s (set by `timeout`)", result.error)
        # It may be longer than that of the sandbox.
        self.assertEqual(Sandbox(**OPTIONS, timeout=0.3).run("import time; time.sleep(0.6)", timeout=30).error, None)
        with self.box.session() as session:
            self.assertEqual(session.run("x = 1\nwhile True: pass", timeout=0.3).stopped, "time-limit")
            self.assertEqual(list(session.stream("while x: pass", timeout=0.3))[-1].stopped, "time-limit")
            self.assertEqual(session.run("x").value, 1)
        for timeout, error in ((0, ValueError), (float("inf"), ValueError), ("5", TypeError)):
            with self.assertRaisesRegex(error, "`timeout`"):
                self.box.run("1", timeout=timeout)
            with self.assertRaisesRegex(error, "`timeout`"):
                self.box.stream("1", timeout=timeout)

    def test_more_calls_than_the_sandbox_runs_at_once_wait(self):
        box = Sandbox(**OPTIONS, arguments=["--max-concurrent", "2"])
        with ThreadPoolExecutor(40) as threads:
            runs = [threads.submit(box.run, "n", {"n": number}) for number in range(40)]
            self.assertEqual([run.result().value for run in runs], list(range(40)))
        with box.session() as session, ThreadPoolExecutor(40) as threads:
            session["n"] = 0
            runs = [threads.submit(session.run, "n += 1; n") for _ in range(40)]
            self.assertEqual(sorted(run.result().value for run in runs), list(range(1, 41)))


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


class TheGate(unittest.TestCase):
    def test_calls_beyond_the_bounds_wait_in_order(self):
        gate = Gate()
        places = [gate.enter(1) for _ in range(_process.MAX_CALLS + 3)]
        self.assertEqual(sum(place.done() for place in places), _process.MAX_CALLS)
        self.assertTrue(places[-3].cancel())
        gate.leave(1)
        self.assertEqual([place.done() for place in places[-2:]], [True, False])

    def test_requests_are_bounded_by_their_bytes(self):
        gate = Gate()
        large = gate.enter(_process.MAX_CALLS_BYTES + 1)
        small = gate.enter(1)
        self.assertEqual((large.done(), small.done()), (True, False))
        gate.leave(_process.MAX_CALLS_BYTES + 1)
        self.assertTrue(small.done())

    @patch.object(_process, "MAX_CALLS_BYTES", 10)
    def test_a_call_that_is_given_up_gives_its_place_back_once(self):
        process = Mock(gate=Gate())

        def is_free():
            return (process.gate._calls, process.gate._bytes, len(process.gate._waiting)) == (0, 0, 0)

        large = Call(process, 1, b"x" * 11, None)
        waiting = Call(process, 2, b"x", None)
        for _ in range(2):
            waiting.give_up()
        self.assertTrue(waiting.place.cancelled())
        self.assertEqual(len(process.gate._waiting), 0)
        # It has its place, and is not sent yet.
        for _ in range(2):
            large.give_up()
        self.assertTrue(is_free())
        for call in (large, waiting):
            self.assertRaises(CancelledError, call.send)
        process.send_call.assert_not_called()
        sent = Call(process, 3, b"x", None)
        sent.send()
        sent.give_up()
        process.cancel.assert_called_once_with(3)
        self.assertFalse(is_free())
        sent.answer.set_result(None)
        self.assertTrue(is_free())

    @patch.object(_process, "MAX_CALLS_BYTES", 10)
    def test_who_waits_behind_a_large_request_that_is_given_up_goes_on(self):
        process = Mock(gate=Gate())
        running = Call(process, 1, b"x", None)
        large = Call(process, 2, b"x" * 10, None)
        small = Call(process, 3, b"x", None)
        self.assertEqual([call.place.done() for call in (running, large, small)], [True, False, False])
        large.give_up()
        self.assertTrue(small.place.done() and not small.place.cancelled())


def fail(code):
    Sandbox(**OPTIONS).run(code).raise_for_error()


class Copies(unittest.TestCase):
    def assert_same(self, value, equal):
        copies = [pickle.loads(pickle.dumps(value, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
        for other in [*copies, copy.copy(value), copy.deepcopy(value)]:
            self.assertIs(type(other), type(value))
            self.assertEqual(equal(other), equal(value))

    def test_results_go_there_and_back(self):
        figure, file = Figure(b"data", "image/png", "a.png"), File("a", 1, "text/plain")
        result = Result(True, [1, {"a": None}], "text", "out", "", None, (figure,), (file,), ("rich",), 0.5, "success")
        for value in (figure, file, Output("stdout", "text"), result):
            self.assert_same(value, lambda value: value)

    def test_errors_go_there_and_back(self):
        errors = [getattr(brumate, name) for name in brumate.__all__ if name.endswith("Error")]
        self.assertIn(CodeError, errors)
        for kind in errors:
            error = kind("text", "run-error") if kind is CodeError else kind("text")
            error.note = "of a user"
            self.assert_same(error, lambda error: (str(error), error.args, vars(error)))

    def test_sandboxes_and_sessions_are_the_same_ones_elsewhere(self):
        for box in (Sandbox(**OPTIONS, timeout=5), AsyncSandbox(**OPTIONS, packages=["rich>=13"])):
            self.assert_same(box, lambda box: box._settings)
        session = Sandbox(**OPTIONS).session("some-id")
        self.assert_same(session, lambda session: (session.id, session._settings))
        self.assert_same(brumate.AsyncSession(session._settings, "x"), lambda session: (session.id, session._settings))

    def test_a_session_that_is_not_open_says_what_to_do(self):
        opening = AsyncSandbox(**OPTIONS).session()
        for act in (pickle.dumps, copy.copy, copy.deepcopy):
            with self.assertRaisesRegex(TypeError, "not open yet cannot be copied or pickled: `await` it"):
                act(opening)
        with self.assertRaisesRegex(AttributeError, "has no `run`: write `session = await box.session\\(\\)`"):
            opening.run  # noqa: B018
        with self.assertRaisesRegex(AttributeError, "no attribute 'walk'"):
            opening.walk  # noqa: B018

    def test_a_pool_gets_the_error_of_its_worker(self):
        with multiprocessing.get_context("fork").Pool(1) as pool:
            with self.assertRaisesRegex(CodeError, "ZeroDivisionError") as raised:
                pool.apply_async(fail, ("1 / 0",)).get(timeout=120)
            self.assertEqual(raised.exception.status, "run-error")
            self.assertEqual(pool.apply_async(Sandbox(**OPTIONS).run, ("1",)).get(timeout=120).value, 1)


class WrongSettings(unittest.TestCase):
    def test_they_are_refused_at_once_by_the_name_of_the_parameter(self):
        for name, value, error, text in (
            ("timeout", 0, ValueError, "must be from 0.05 to 86400 seconds, not 0"),
            ("timeout", "5", TypeError, "is a number of seconds, not '5'"),
            ("timeout", True, TypeError, "is a number of seconds"),
            ("cpu_timeout", float("nan"), ValueError, "must be from 0.05"),
            ("cpu_timeout", 10**5000, ValueError, "a number of more than 64 bits"),
            ("session_timeout", 0.5, ValueError, "must be from 1 to 316224000 seconds"),
            ("memory", "8GiB", ValueError, "must be from 64 MiB to 4 GiB, not 8GiB"),
            ("memory", "lots", ValueError, 'such as "512MiB", not \'lots\''),
            ("memory", 1.5, TypeError, "is a number of bytes"),
            ("output_limit", 1, ValueError, "must be from 1 KiB to 64 MiB, not 1"),
            ("packages", "numpy", TypeError, "such as ['numpy']"),
            ("packages", [1], TypeError, "has 1, which is no text"),
            ("packages", ["numpy", "rich=>13"], ValueError, "rich=>13"),
            ("index", "ftp://example.com/", ValueError, "not http"),
            ("find_links", 5, TypeError, "is a list of texts"),
            ("mounts", "./a:/a", TypeError, "such as ['./a:/a']"),
            ("mounts", ["/nowhere/at/all:/work"], ValueError, "cannot use /nowhere/at/all"),
            ("mounts", ["/tmp:/usr"], ValueError, "/usr belongs to the interpreter"),
            ("network", ["*.com"], ValueError, "top-level domain"),
            ("network", "example.com", TypeError, "such as ['example.com']"),
            ("arguments", ["--no-such-option"], ValueError, "unexpected argument '--no-such-option'"),
            ("arguments", ["--max-concurrent=0"], ValueError, "`--max-concurrent` must be from 1"),
            ("data_dir", __file__, ValueError, "is not a directory"),
            ("cache_dir", "a\0b", ValueError, "has a NUL character"),
            ("offline", "no", TypeError, "is True or False"),
        ):
            for kind in (Sandbox, AsyncSandbox):
                with self.subTest(name=name, value=str(value)[:20]) if value != 10**5000 else self.subTest(name=name):
                    with self.assertRaises(error) as raised:
                        kind(**{name: value})
                    message = str(raised.exception)
                    self.assertTrue(message.startswith(f"`{name}`") and text in message, message)
                    self.assertNotIn("Usage", message)
        for kind in (Sandbox, AsyncSandbox):
            with self.assertRaisesRegex(TypeError, rf"^{kind.__name__}\.__init__\(\) got an unexpected.*'max_runs'"):
                kind(max_runs=1)

    def test_the_ranges_are_those_of_the_binary(self):
        def is_accepted(option, value):
            return _settings._refusal((f"--{option}={value}",)) is None

        for option, (least, most) in (("timeout", _settings.TIME), ("session-timeout", _settings.IDLE)):
            accepted = [is_accepted(option, f"{value:f}s") for value in (least, most, least - 0.01, most + 1)]
            self.assertEqual(accepted, [True, True, False, False], option)
        for option, (least, most) in (("memory", _settings.MEMORY), ("output-limit", _settings.OUTPUT)):
            accepted = [is_accepted(option, value) for value in (least, most, least - 1, most + 1)]
            self.assertEqual(accepted, [True, True, False, False], option)
        for text in ("1GiB", "1.5 gb", "300000000", " 512MiB", "1e9", "1.GiB", "GiB", "1_000", "65536 KiB"):
            self.assertEqual(is_accepted("memory", text), _settings.size(text) is not None, text)

    def test_paths_do_not_depend_on_where_the_program_is_later(self):
        settings = Sandbox(data_dir="data", find_links=["wheels", "https://example.com/wheels"])._settings
        self.assertEqual(settings.data_dir, os.path.abspath("data"))
        self.assertEqual(settings.find_links, (os.path.abspath("wheels"), "https://example.com/wheels"))
        here = os.getcwd()
        self.assertEqual(
            Sandbox(mounts=[".:/work:ro", f"{here}:/b"])._settings.mounts, (f"{here}:/work:ro", f"{here}:/b")
        )

    def test_directories_of_the_host_are_mounted(self):
        with tempfile.TemporaryDirectory() as work, Sandbox(**OPTIONS, mounts=[f"{work}:/work"]) as box:
            box.run("open('/work/of_a_run', 'w').write('1')")
            with box.session() as session:
                self.assertEqual(session.run("open('/work/of_a_run').read()").value, "1")
                session.run("open('/work/of_a_session', 'w').write('2')")
            self.assertEqual(sorted(os.listdir(work)), ["of_a_run", "of_a_session"])


class Names(unittest.TestCase):
    def test_the_package_shows_its_public_names(self):
        public = {name for name in dir(brumate) if not name.startswith("__")}
        self.assertEqual(public, set(brumate.__all__))
        for name in public:
            self.assertIsNotNone(getattr(brumate, name))


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
