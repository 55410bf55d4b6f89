"""KeyboardInterrupt, wherever it lands."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest

from support import HANG_SECONDS, TESTS, run

SOON = 0.2


class Guest(unittest.TestCase):
    def stops(self, code, **options):
        """Runs code that never ends by itself; its interrupt."""
        result = run(code, interrupt_after=SOON, emulate=True, **options)
        self.assertEqual(result.raised["ename"], "KeyboardInterrupt")
        self.assertNotIn("_brumate", result.raised["traceback"])
        return result

    def test_loop(self):
        text = self.stops("print('start')\nwhile True:\n    pass").raised["traceback"]
        self.assertIn('File "main.py", line ', text)

    def test_output_is_kept(self):
        self.assertEqual(self.stops("print('a', end='')\nwhile True: pass").output, "a")

    def test_await(self):
        result = self.stops("import asyncio\ntry:\n    await asyncio.sleep(100)\nfinally:\n    print('cleaned')")
        self.assertIn("    await asyncio.sleep(100)\n", result.raised["traceback"])
        self.assertNotIn("CancelledError", result.raised["traceback"])
        self.assertEqual(result.output, "cleaned\n")

    def test_busy_coroutine(self):
        text = self.stops("import asyncio\nasync def f():\n    while True: pass\nawait f()").raised["traceback"]
        self.assertIn("in f\n", text)

    def test_busy_coroutine_under_asyncio_run(self):
        text = self.stops("import asyncio\nasync def f():\n    while True: pass\nasyncio.run(f())").raised["traceback"]
        self.assertIn("in f\n", text)

    def test_busy_background_task(self):
        text = self.stops(
            "import asyncio\nasync def f():\n    await asyncio.sleep(0.01)\n    while True: pass\n"
            "t = asyncio.create_task(f())\nawait asyncio.sleep(100)"
        ).raised["traceback"]
        self.assertIn("in f\n", text)

    def test_stop_that_nobody_heard(self):
        """The interrupt comes between the end of a task and that of its loop: the loop's next task goes on to its end."""
        code = "import asyncio\ndef interrupt(): raise KeyboardInterrupt\n"
        code += "async def f(): asyncio.get_running_loop().call_soon(interrupt)\nawait f()"
        result = run(code, "await asyncio.sleep(0.01, 5)", mode="cell")
        self.assertEqual((result.all[0]["Raised"]["ename"], result.value), ("KeyboardInterrupt", 5))

    def test_wake_up_that_was_lost(self):
        """The interrupt comes between two callbacks, and takes the one along that a task waits for."""
        lose = (
            "import asyncio\n"
            "async def waits(future): await future\n"
            "def lose(loop, future):\n    future.set_result(1)\n    loop._ready.clear()\n    raise KeyboardInterrupt\n"
            "async def main():\n    loop = asyncio.get_running_loop()\n    future = loop.create_future()\n"
            "    loop.call_later(0.01, lose, loop, future)\n    await asyncio.create_task(waits(future))\n"
        )
        for last in ["await main()", "asyncio.run(main())"]:
            result = run(lose + last, emulate=True)
            self.assertEqual(result.raised["ename"], "KeyboardInterrupt")
            self.assertEqual(result.output, "")

    def test_sleeping_under_asyncio_run(self):
        result = self.stops(
            "import asyncio\nasync def f():\n    try: await asyncio.sleep(100)\n    finally: print('cleaned')\nasyncio.run(f())"
        )
        self.assertEqual(result.output, "cleaned\n")

    def test_endless_repr_of_the_value(self):
        self.stops("class A:\n    def __repr__(self):\n        while True: pass\nA()")

    def test_endless_iterator_without_output(self):
        self.stops(
            "class A:\n    def __iter__(self): return self\n    def __next__(self):\n        while True: pass\nA()"
        )

    def test_endless_str_of_the_error(self):
        result = run(
            "class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E('x')", interrupt_after=SOON
        )
        self.assertEqual(result.raised["ename"], "E")

    def test_endless_atexit(self):
        result = run(
            "import atexit\n@atexit.register\ndef f():\n    while True: pass\n", mode="script", interrupt_after=SOON
        )
        self.assertIn("KeyboardInterrupt", result.output + str(result.ended))

    def test_endless_flush(self):
        self.stops(
            "import sys\nclass X:\n    def write(self, s): pass\n    def flush(self):\n        while True: pass\nsys.stdout = X()"
        )

    def test_endless_compilation_can_be_stopped(self):
        # The parser does not look for signals; the interrupt takes effect right after it.
        self.stops("x = 1\n" * 400_000 + "while True: pass")

    def test_caught_by_the_guest(self):
        result = run(
            "try:\n    while True:\n        pass\nexcept KeyboardInterrupt:\n    x = 'caught'\nx", interrupt_after=SOON
        )
        self.assertEqual(result.value, "caught")

    def test_guest_handler_lasts_one_run(self):
        code = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n1"
        result = run(code, {"code": "while True: pass", "interrupt_after": SOON})
        self.assertEqual(result.raised["ename"], "KeyboardInterrupt")

    def test_next_run_is_not_affected(self):
        result = run({"code": "while True: pass", "interrupt_after": SOON}, "1+1", mode="cell")
        self.assertEqual((result.all[0]["Raised"]["ename"], result.value), ("KeyboardInterrupt", 2))


class Storm(unittest.TestCase):
    def report(self, *arguments):
        with tempfile.TemporaryDirectory() as directory:
            report = os.path.join(directory, "report")
            done = subprocess.run(
                [sys.executable, os.path.join(TESTS, "interrupt_storm.py"), "6", report, *arguments],
                capture_output=True,
                timeout=HANG_SECONDS,
                text=True,
                env={**os.environ, "PYTHONUTF8": "1"},
            )
            self.assertEqual(done.returncode, 0, done.stderr[-3000:])
            with open(report, encoding="utf-8") as file:
                report = json.load(file)
        self.assertEqual(report["runs"], sum(report["counts"].values()))
        return report

    def test_every_run_is_answered(self):
        report = self.report()
        counts = report["counts"]
        self.assertEqual(report["last"], {"Returned": {"json": "42", "is_str": False}})
        self.assertGreater(counts["KeyboardInterrupt"], 20)
        self.assertGreater(counts["Returned"], 20)
        self.assertLessEqual(
            set(counts), {"Returned", "Exited", "KeyboardInterrupt", "ZeroDivisionError", "SystemExit"}
        )

    @unittest.skipIf(importlib.util.find_spec("IPython") is None, "IPython is not installed")
    def test_every_cell_is_answered(self):
        report = self.report("cells")
        counts = report["counts"]
        self.assertEqual(report["last"], {"Returned": None}, report)
        self.assertGreater(counts["KeyboardInterrupt"], 20)
        self.assertGreater(counts["Returned"], 20)
        self.assertLessEqual(set(counts), {"Returned", "KeyboardInterrupt", "ZeroDivisionError", "SystemExit"})


if __name__ == "__main__":
    unittest.main()
