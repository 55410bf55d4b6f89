"""Changes to libraries that servers use (small stand-ins here), and limits of their tools."""

import asyncio
import errno
import os
import signal
import sys
import threading
import time
import types
import unittest
import unittest.mock

import guest_path  # isort: split

from _brumate.serving import adaptation, anyio_inline, limits, wire
from _brumate.serving.wire import Wire


class Scope:
    def __init__(self, shield=False):
        self.shield = shield

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        pass


class Limiter:
    async def __aenter__(self):
        pass

    async def __aexit__(self, *_error):
        pass


class InlineThreads(unittest.TestCase):
    def setUp(self):
        class AsyncIOBackend:
            checkpoint = classmethod(lambda cls: asyncio.sleep(0))
            current_default_thread_limiter = classmethod(lambda cls: Limiter())
            run_sync_in_worker_thread = run_async_from_thread = run_sync_from_thread = classmethod(lambda cls: None)

        locals_ = threading.local()
        anyio_inline.change(
            types.SimpleNamespace(AsyncIOBackend=AsyncIOBackend, CancelScope=Scope, threadlocals=locals_)
        )
        self.backend = AsyncIOBackend

    async def inside(self, function):
        task = asyncio.current_task()
        result = await self.backend.run_sync_in_worker_thread(function, ())
        self.assertIs(asyncio.current_task(), task)
        return result

    def run_inline(self, function, beside=()):
        async def main():
            return (await asyncio.gather(self.inside(function), *beside))[0]

        return asyncio.run(main())

    def test_a_call_is_outside_of_the_loop(self):
        def function():
            with self.assertRaises(RuntimeError):
                asyncio.get_running_loop()
            return asyncio.run(asyncio.sleep(0.001, "inner"))

        self.assertEqual(self.run_inline(function), "inner")

    def test_calls_from_the_thread(self):
        async def back(value):
            await asyncio.sleep(0.001)
            return value

        def function():
            value = self.backend.run_async_from_thread(back, (1,))
            return value, self.backend.run_sync_from_thread(asyncio.get_running_loop, ()).is_running()

        self.assertEqual(self.run_inline(function), (1, True))
        with self.assertRaisesRegex(RuntimeError, "not inside a call"):
            self.backend.run_sync_from_thread(int, ())

    def test_other_tasks_run_on_meanwhile(self):
        seen = []

        async def other(number):
            for _ in range(3):
                await asyncio.sleep(0)
            seen.append(number)

        def function():
            self.backend.run_async_from_thread(asyncio.sleep, (0.01,))
            return list(seen)

        self.assertEqual(self.run_inline(function, [other(number) for number in range(20)]), list(range(20)))

    def test_exceptions(self):
        def function():
            raise StopIteration

        with self.assertRaisesRegex(RuntimeError, "raised StopIteration"):
            self.run_inline(function)


class Libraries(unittest.TestCase):
    def test_sqlite_runs_inline(self):
        class Connection:
            def __init__(self, path):
                self.path = path
                self._tx = self._thread = None

        adaptation.CHANGES["aiosqlite.core"](types.SimpleNamespace(Connection=Connection))

        async def main():
            connection = Connection(":memory:")
            connection._thread.start()
            futures = [asyncio.get_running_loop().create_future() for _ in range(2)]
            connection._tx.put_nowait((futures[0], lambda: connection.path))
            connection._tx.put((futures[1], lambda: 1 / 0))
            connection._tx.put_nowait((None, connection._thread.join))
            self.assertEqual([future.done() for future in futures], [False, False])
            return await asyncio.gather(*futures, return_exceptions=True)

        path, error = asyncio.run(main())
        self.assertEqual((path, type(error)), (":memory:", ZeroDivisionError))

    def test_log_files_where_nothing_can_be_written(self):
        class FileHandler:
            mode, encoding, errors = "a", "utf-8", None

            def __init__(self, number):
                self.number = number

            def _open(self):
                raise OSError(self.number, "no")

        adaptation.CHANGES["logging"](types.SimpleNamespace(FileHandler=FileHandler))
        with FileHandler(errno.EROFS)._open() as file:
            self.assertTrue(os.path.samestat(os.fstat(file.fileno()), os.fstat(2)))
        with self.assertRaises(OSError):
            FileHandler(errno.EACCES)._open()


class Limits(unittest.TestCase):
    def setUp(self):
        number = signal.SIGUSR1
        self.addCleanup(signal.signal, number, signal.getsignal(number))
        limits.install()
        # The timer stands for the host.
        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, limits.limit_reached))

    def test_a_busy_tool_is_stopped_and_a_waiting_loop_is_not(self):
        def busy():
            end = time.monotonic() + 10
            while time.monotonic() < end:
                pass

        async def main():
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with self.assertRaisesRegex(TimeoutError, limits.TOO_LONG):
                busy()
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            await asyncio.sleep(0.2)
            return "went on"

        self.assertEqual(asyncio.run(main()), "went on")

    def test_nothing_is_stopped_outside_of_a_loop(self):
        signal.raise_signal(signal.SIGUSR1)


if __name__ == "__main__":
    unittest.main()
