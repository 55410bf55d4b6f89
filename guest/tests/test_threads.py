"""Threads in cells and programs: which end by themselves, the stacks that an interrupt shows, what a loop needs."""

import json
import os
import sys
import threading
import time
import unittest

import guest_path  # isort: split

from _brumate import thread_stacks, thread_support
from _brumate.semaphores import SemLock
from support import bundles, cells, run

EXECUTOR = (
    "import threading, time\nfrom concurrent.futures import ThreadPoolExecutor\nlog = []\n"
    "pool = ThreadPoolExecutor(3, initializer=log.append, initargs=('init',))\n"
)
STARTED = "import threading\nend = threading.Event()\nstarted = threading.Event()\n"


def session(*codes, **options):
    """Runs cells of a session; the result is that of the last."""
    return run(*[{"code": code, "mode": "cell"} for code in codes], emulate=True, **options)


def script(code, **options):
    """Runs a program to the end of its process."""
    return run({"code": code, "mode": "script", "ends_program": True}, emulate=True, **options)


def value_of(result, index):
    """The value of an earlier cell."""
    return json.loads(result.all[index]["Returned"]["json"])


class IdleThreads(unittest.TestCase):
    def test_workers_end_with_the_cell_and_start_again(self):
        result = session(
            EXECUTOR + "seen = [list(pool.map(abs, [-1, -2]))]",
            "seen.append(threading.active_count())\nseen.append(list(pool.map(abs, [-3])))",
            "[*seen, threading.active_count(), len(pool._threads), pool.submit(int, '4').result(), set(log)]",
        )
        self.assertEqual(result.value, [[1, 2], 1, [3], 1, 0, 4, ["init"]])
        result = session(EXECUTOR + "pool.submit(int).result()", "pool.submit(int).result()", "log")
        self.assertEqual(result.value, ["init", "init"])

    def test_the_cell_is_that_of_a_notebook(self):
        result = cells(EXECUTOR + "list(pool.map(abs, [-1, -2]))", "print(threading.active_count())", emulate=True)
        self.assertEqual(result.output.splitlines()[-1], "1")

    def test_busy_workers_go_on(self):
        result = session(
            EXECUTOR + "end = threading.Event()\nbusy = pool.submit(end.wait, 60)\npool.submit(int).result()",
            "alive = threading.active_count() > 1\nend.set()\n[alive, busy.result(60)]",
            "[threading.active_count(), pool.submit(int, '4').result()]",
        )
        self.assertEqual((value_of(result, 1), result.value), ([True, True], [1, 4]))

    def test_executors_that_were_shut_down_stay_so(self):
        code = "pool.shutdown()\ntry: pool.submit(int)\nexcept RuntimeError as error: seen = str(error)\nseen"
        result = session(EXECUTOR + "pool.submit(int).result()", code)
        self.assertEqual(result.value, "cannot schedule new futures after shutdown")

    def test_the_executor_of_the_session_s_loop(self):
        ask = "import asyncio, threading\n(await asyncio.to_thread(threading.current_thread)).name"
        result = session(ask, "import threading\ncount = threading.active_count()", ask, "count")
        self.assertEqual((value_of(result, 2), result.value), ("asyncio_0", 1))

    def test_pools_of_threads(self):
        make = "import threading\nfrom multiprocessing.pool import ThreadPool\npool = ThreadPool(2)\n"
        result = session(
            make + "seen = [pool.map(abs, [-1])]",
            "seen.append(threading.active_count())\nseen.append(pool.map(abs, [-2]))",
            "count = threading.active_count()\npool.close()\npool.join()\n[*seen, count, repr(pool).split('=')[1]]",
            "try: pool.map(abs, [1])\nexcept ValueError as error: seen.append(str(error))\n[*seen, threading.active_count()]",
        )
        self.assertEqual(value_of(result, 2), [[1], 1, [2], 1, "CLOSE pool_size"])
        self.assertEqual(result.value, [[1], 1, [2], "Pool not running", 1])
        result = session(
            make + "end = threading.Event()\nwork = pool.apply_async(end.wait, (60,))",
            "alive = threading.active_count() > 1\nend.set()\n[alive, work.get(60)]",
            "with pool: seen = pool.map(abs, [-5])\nseen",
        )
        self.assertEqual((value_of(result, 1), result.value), ([True, True], [5]))

    def test_the_monitor_of_bars(self):
        fake = (
            "import os, threading\nos.mkdir('tqdm')\nopen('tqdm/__init__.py', 'w').close()\n"
            "open('tqdm/_monitor.py', 'w').write('''import threading\nclass TMonitor(threading.Thread):\n"
            "    def __init__(self):\n        super().__init__(daemon=True)\n        self.was_killed = threading.Event()\n"
            "        self.start()\n    def run(self):\n        self.was_killed.wait()\n''')\n"
            "from tqdm._monitor import TMonitor\nmonitor = TMonitor()\nmonitor.is_alive()"
        )
        result = session(fake, "monitor.is_alive()")
        self.assertEqual((value_of(result, 0), result.value), (True, False))


class Cells(unittest.TestCase):
    def test_other_threads_stay(self):
        result = session(
            STARTED + "thread = threading.Thread(target=end.wait)\nthread.start()",
            "alive = thread.is_alive()\nend.set()\nthread.join(60)\n[alive, thread.is_alive()]",
        )
        self.assertEqual(result.value, [True, False])

    def test_exceptions_are_printed(self):
        code = "import threading\nthread = threading.Thread(target=lambda: 1 / 0, name='bad')\nthread.start()\nthread.join()\n1"
        for result in (session(code), script(code), cells(code)):
            self.assertIn("Exception in thread bad:\nTraceback (most recent call last):\n", result.output)
            self.assertIn("ZeroDivisionError: division by zero\n", result.output)
            self.assertNotIn("_brumate", result.output)

    def test_threads_display(self):
        code = "import threading\nthread = threading.Thread(target=display, args=('shown',))\nthread.start()\nthread.join()"
        for result in (session(code), cells(code)):
            self.assertEqual([bundle["text/plain"] for bundle in bundles(result)], ["'shown'"])

    def test_the_session_s_loop_is_that_of_the_main_thread(self):
        code = (
            "import asyncio, threading, warnings\nwarnings.simplefilter('ignore')\nseen = []\n"
            "def ask():\n"
            "    try: asyncio.create_task(asyncio.sleep(0))\n    except RuntimeError as error: seen.append(str(error))\n"
            "    try: asyncio.get_event_loop()\n    except RuntimeError: seen.append('none')\n"
            "thread = threading.Thread(target=ask)\nthread.start()\nthread.join()\n"
            "[seen, asyncio.get_event_loop() is asyncio.get_event_loop()]"
        )
        self.assertEqual(session(code).value, [["no running event loop", "none"], True])


class Programs(unittest.TestCase):
    def test_the_end_waits_for_threads(self):
        code = (
            "import atexit, threading, time\natexit.register(print, 'exit function')\n"
            "ended = threading.Event()\nthreading._register_atexit(ended.set)\nthreading._register_atexit(print, 'threading')\n"
            "main = threading.main_thread()\n"
            "def work():\n    if hasattr(main, '_os_thread_handle'): main.join()  # since 3.13\n    ended.wait()\n    print('thread')\n"
            "threading.Thread(target=work).start()\n"
            "threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\nprint('main')"
        )
        self.assertEqual(script(code).output, "main\nthreading\nthread\nexit function\n")

    def test_the_end_waits_for_work_of_executors(self):
        code = EXECUTOR + "for number in range(5): _ = pool.submit(lambda: time.sleep(0.01) or log.append(1))\n"
        code += "import atexit\natexit.register(lambda: print(log.count(1)))"
        self.assertEqual(script(code).output, "5\n")

    def test_programs_inside_a_session(self):
        code = (
            "import threading, time, sys\nfrom concurrent.futures import ThreadPoolExecutor\n"
            "pool = ThreadPoolExecutor(2)\n_ = pool.submit(lambda: time.sleep(0.02) or print('executor'))\n"
            "threading.Thread(target=lambda: time.sleep(0.05) or print('thread')).start()\nprint('main')"
        )
        make = f"import threading\n_ = open('program.py', 'w').write({code!r})\nend = threading.Event()\n"
        result = cells(
            make + "threading.Thread(target=end.wait).start()",
            "!python program.py",
            "print(threading.active_count())\nend.set()",
        )
        self.assertEqual(result.output, "main\nexecutor\nthread\n2\n")


class Interrupts(unittest.TestCase):
    CODE = (
        "import threading\ndef inner(): threading.Event().wait()\ndef outer(): inner()\n"
        "threading.Thread(target=outer, name='stuck', daemon=True).start()\nthreading.Event().wait()"
    )

    def test_the_stacks_of_other_threads_are_shown(self):
        for mode in ("cell", "script", "notebook_cell"):
            with self.subTest(mode=mode):
                result = run({"code": self.CODE, "mode": mode, "interrupt_after": 1.0})
                self.assertIn("Other threads that were alive at the interrupt:\n", result.output)
                self.assertRegex(result.output, r"Thread 0x[0-9a-f]+ \[stuck\] \(most recent call first\):\n")
                self.assertRegex(result.output, r" in inner\n  File .* in outer\n")
                self.assertNotIn("MainThread", result.output)

    def test_also_when_the_end_waits_for_them(self):
        code = self.CODE.replace(", daemon=True", "").rpartition("\n")[0]
        result = run({"code": code, "mode": "script", "ends_program": True, "interrupt_after": 1.0})
        self.assertRegex(result.output, r"\[stuck\] \(most recent call first\):\n")
        self.assertEqual(result.exited[0], 130)

    def test_one_thread_shows_nothing(self):
        result = session("raise KeyboardInterrupt")
        self.assertEqual((result.raised["ename"], result.output), ("KeyboardInterrupt", ""))

    def test_what_is_shown_is_bounded(self):
        end = threading.Event()

        def deep(count):
            return deep(count - 1) if count else end.wait()

        threads = [threading.Thread(target=deep, args=(100,), name="n" * 1000) for _ in range(30)]
        for thread in threads:
            thread.start()
        try:
            text = thread_stacks.describe({threading.get_ident()})
        finally:
            end.set()
            for thread in threads:
                thread.join()
        hidden = sum(line.startswith("(") for line in text.splitlines())
        self.assertEqual((text.count("most recent call first"), hidden), (thread_stacks.MAX_THREADS, 1))
        self.assertLessEqual(len(text.splitlines()), thread_stacks.MAX_THREADS * (thread_stacks.MAX_FRAMES + 5) + 1)
        self.assertLess(text.count("n" * 1000), 1)


class Loops(unittest.TestCase):
    def test_a_full_pipe_is_no_error(self):
        code = (
            "import asyncio\nasync def main():\n    loop = asyncio.get_running_loop()\n    seen = []\n"
            "    for _ in range(100_000): loop._write_to_self()\n    loop.call_soon_threadsafe(seen.append, 1)\n"
            "    await asyncio.sleep(0.01)\n    return seen\nasyncio.run(main())"
        )
        self.assertEqual(run(code, emulate=True).value, [1])

    def test_a_loop_that_waits_is_woken(self):
        code = (
            "import asyncio, threading\nasync def main():\n    loop, event = asyncio.get_running_loop(), asyncio.Event()\n"
            "    threading.Timer(0.05, loop.call_soon_threadsafe, [event.set]).start()\n    return await event.wait()\n"
        )
        self.assertEqual(run(code + "asyncio.run(main())", emulate=True).value, True)
        self.assertEqual(session(code + "await main()").value, True)


class LockOfProcesses(unittest.TestCase):
    def test_threads_wait_for_each_other(self):
        lock = SemLock(1, 1, 1, None, True)
        lock.acquire()
        threading.Timer(0.02, lock.release).start()
        self.assertTrue(lock.acquire(timeout=60))
        self.assertFalse(lock.acquire(timeout=0.01))
        self.assertFalse(lock.acquire(False))

    def test_a_recursive_one_belongs_to_a_thread(self):
        lock, seen = SemLock(0, 1, 1, None, True), []
        lock.acquire()
        lock.acquire()

        def other():
            seen.append((lock._is_mine(), lock.acquire(timeout=0.01)))
            with self.assertRaises(AssertionError):
                lock.release()

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        lock.release()
        lock.release()
        self.assertEqual((seen, lock._get_value(), lock._count()), ([(False, False)], 1, 0))


class Platform(unittest.TestCase):
    def test_numbers_of_threads(self):
        code = (
            "import os, threading, _thread\nend = threading.Event()\nthread = threading.Thread(target=end.wait)\n"
            "before = thread.native_id\nthread.start()\nnumber = thread.native_id\nend.set()\n"
            "[before, {threading.get_native_id(), _thread.get_native_id(), threading.main_thread().native_id} == {os.getpid()},"
            " number not in (None, os.getpid())]"
        )
        self.assertEqual(run(code, emulate=True).value, [None, True, True])

    def test_libraries_are_told_that_there_are_threads(self):
        info = type("info", (tuple,), {name: property(lambda self, n=n: self[n]) for n, name in enumerate(NAMES)})
        before = getattr(sys, "_emscripten_info", None)
        sys._emscripten_info = info(("5", None, False, False))
        try:
            thread_support._tell_of_threads()
            self.assertEqual(sys._emscripten_info, ("5", None, True, False))
        finally:
            if before is None:
                del sys._emscripten_info
            else:
                sys._emscripten_info = before


NAMES = ("emscripten_version", "runtime", "pthreads", "shared_memory")


if __name__ == "__main__":
    unittest.main()
