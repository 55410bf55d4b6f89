"""Waits that cannot end without threads."""

import copy
import os
import queue
import sys
import threading
import time
import unittest
import unittest.mock

import guest_path  # isort: split

from _brumate import waits


class Waits(unittest.TestCase):
    def setUp(self):
        for target, name in [(threading.Condition, "wait"), (threading, "Lock"), (queue, "SimpleQueue")]:
            patch = unittest.mock.patch.object(target, name, getattr(target, name))
            patch.start()
            self.addCleanup(patch.stop)
        waits.install()

    def test_what_would_wait_for_ever_raises_at_once(self):
        lock, condition, full = threading.Lock(), threading.Condition(), queue.Queue(maxsize=1)
        lock.acquire()
        full.put(1)
        barrier = threading.Barrier(2)
        with condition:
            for wait in (
                lock.acquire,
                lock.__enter__,
                condition.wait,
                lambda: full.put(2),
                queue.Queue().get,
                queue.LifoQueue().get,
                queue.SimpleQueue().get,
                threading.Event().wait,
                threading.Semaphore(0).acquire,
                barrier.wait,
                full.join,
            ):
                with self.subTest(wait=wait), self.assertRaisesRegex(RuntimeError, "without threads"):
                    wait()

    def test_waits_that_end_are_as_elsewhere(self):
        lock = threading.Lock()
        self.assertTrue(lock.acquire())
        self.assertFalse(lock.acquire(False))
        start = time.monotonic()
        self.assertFalse(lock.acquire(timeout=0.02))
        self.assertGreaterEqual(time.monotonic() - start, 0.01)
        with self.assertRaises(ValueError):
            lock.acquire(False, 1)
        lock.release()
        with self.assertRaisesRegex(RuntimeError, "release unlocked lock"):
            lock.release()
        with lock:
            self.assertTrue(lock.locked())
        with self.assertRaises(queue.Empty):
            queue.SimpleQueue().get(timeout=0.01)
        with self.assertRaises(queue.Empty):
            queue.Queue().get_nowait()
        self.assertFalse(threading.Event().wait(0.01))
        numbers = queue.SimpleQueue()
        numbers.put(1)
        self.assertEqual(numbers.get(), 1)
        condition = threading.Condition()
        with self.assertRaisesRegex(RuntimeError, "un-acquired lock"):
            condition.wait()
        with threading.Condition(threading.Lock()) as held:
            self.assertTrue(held)

    def test_a_lock_looks_as_it_does_elsewhere(self):
        lock = threading.Lock()
        self.assertRegex(repr(lock), r"^<unlocked _thread.lock object at 0x[0-9a-f]+>$")
        self.assertEqual(repr(type(lock)), "<class '_thread.lock'>")
        self.assertIsInstance(lock, threading.Lock)
        with self.assertRaisesRegex(TypeError, "cannot pickle '_thread.lock' object"):
            copy.deepcopy(lock)


if __name__ == "__main__":
    unittest.main()
