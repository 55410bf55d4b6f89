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

from _brumate.serving import adaptation, limits


class Libraries(unittest.TestCase):
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

    def test_worker_threads_of_requests_that_were_stopped(self):
        def scope(cancelled, shield=False, parent=None):
            return types.SimpleNamespace(cancel_called=cancelled, shield=shield, _parent_scope=parent)

        class WorkerThread(threading.Thread):
            def run(self):
                cancel_scope = self.scope
                try:
                    while cancel_scope and not end.is_set():
                        time.sleep(0.005)
                except BaseException as error:
                    self.error = error

        async def main(line):
            limits.note_message(line)
            await asyncio.sleep(0.4)

        outer, end, threads = scope(True), threading.Event(), []
        for one in (scope(False, parent=outer), scope(False, shield=True, parent=outer), scope(False)):
            threads.append(WorkerThread())
            threads[-1].scope, threads[-1].error = one, None
            threads[-1].start()
        self.addCleanup(end.set)
        cancel = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"%s"}}'
        backend = {"anyio._backends._asyncio": types.SimpleNamespace(WorkerThread=WorkerThread)}
        with unittest.mock.patch.dict(sys.modules, backend):
            asyncio.run(main(cancel % b"The user does not want it any more."))
            self.assertEqual([thread.is_alive() for thread in threads], [True, True, True])
            asyncio.run(main(cancel % b"The request was stopped at its time limit of 2 seconds (`--timeout`)."))
        threads[0].join(60)
        self.assertEqual([thread.is_alive() for thread in threads], [False, True, True])
        self.assertEqual(repr(threads[0].error), f"CancelledError('Cancelled by cancel scope {id(outer):x}')")

    def test_nothing_is_stopped_outside_of_a_loop(self):
        signal.raise_signal(signal.SIGUSR1)


if __name__ == "__main__":
    unittest.main()
