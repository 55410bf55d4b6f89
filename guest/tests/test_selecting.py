"""`select` by `poll`; beside native Python's."""

import os
import select
import signal
import socket
import unittest

import guest_path  # isort: split

from _brumate import selecting


def outcome(function, *arguments):
    """What a call gives or raises."""
    try:
        return function(*arguments)
    except Exception as error:
        return type(error), getattr(error, "errno", None)


class Shrinking:
    """Takes what follows it out of its list."""

    def __init__(self, things):
        self.things = things

    def fileno(self):
        del self.things[-1:]
        return 0


class Select(unittest.TestCase):
    def setUp(self):
        self.one, self.other = socket.socketpair()
        self.addCleanup(self.one.close)
        self.addCleanup(self.other.close)

    def test_what_is_ready(self):
        one, other, descriptor = self.one, self.other, self.one.fileno()
        for prepare in (lambda: None, lambda: other.send(b"text"), lambda: other.shutdown(socket.SHUT_WR), other.close):
            prepare()
            for lists in (
                ([one], [], []),
                ([one], [one], [one]),
                ([descriptor, one], (one,), {descriptor}),
                ([], [], [one]),
                ([], [], []),
            ):
                self.assertEqual(selecting.select(*lists, 0), select.select(*lists, 0))
        one.recv(100)
        self.assertEqual(selecting.select([one], [], []), select.select([one], [], []))

    def test_errors(self):
        closed = os.dup(0)
        os.close(closed)
        for arguments in (
            ([closed], [], [], 0),
            ([], [0], [closed], 0),
            ([-1], [], []),
            ([1 << 20], [], []),
            (["text"], [], []),
            (5, [], []),
            ([], [], [], -1),
            ([], [], [], "text"),
            ([], [], [], float("nan")),
            ([], [], [], float("inf")),
            ([], []),
        ):
            ours = outcome(selecting.select, *arguments)
            self.assertIsInstance(ours[0], type)
            self.assertEqual(ours, outcome(select.select, *arguments), arguments)

    def test_a_list_may_change(self):
        things = []
        things += [Shrinking(things) for _ in range(4)]
        self.assertEqual(selecting.select([], [], things, 0), ([], [], []))
        self.assertEqual(len(things), 2)

    def test_handlers_of_signals_run_and_the_wait_goes_on(self):
        calls = []

        def handle(*_):
            calls.append(1)
            if len(calls) == 3:
                self.other.send(b"text")

        before = signal.signal(signal.SIGALRM, handle)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        self.addCleanup(signal.setitimer, signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        self.assertEqual(selecting.select([self.one], [], [], 60), ([self.one], [], []))
        self.assertGreaterEqual(len(calls), 3)


if __name__ == "__main__":
    unittest.main()
