"""Asking the host for a line, over a socket in the place of its device."""

import json
import os
import socket
import sys
import threading
import unittest

import guest_path  # isort: split

from _brumate import channel


class Questions(unittest.TestCase):
    def setUp(self):
        ours, theirs = socket.socketpair()
        self.host = ours.makefile("rwb", buffering=0)
        for opened in (self.host, ours, theirs):
            self.addCleanup(opened.close)
        self.addCleanup(channel.open_channel, channel._State.fd)
        channel.open_channel(theirs.fileno())

    def ask(self, answer, *arguments):
        """What `ask` sends, and what it returns when the host says `answer`."""
        frames = []

        def serve():
            frames.append(json.loads(self.host.readline()))
            self.host.write(answer)

        host = threading.Thread(target=serve)
        host.start()
        try:
            return frames, channel.ask(*arguments)
        finally:
            host.join()

    def test_a_line_is_asked_for(self):
        frames, line = self.ask(b'"Zo\xc3\xab \\"\\n\\u0000"\n', "na\nme? ", True)
        self.assertEqual(frames, [{"InputRequest": {"prompt": "na\nme? ", "password": True}}])
        self.assertEqual(line, 'Zoë "\n\0')

    def test_long_texts_arrive_whole(self):
        text = "ü" * 300_000
        answer = json.dumps(text, ensure_ascii=False).encode() + b"\n"
        frames, line = self.ask(answer, "?" * 100_000)
        self.assertEqual(frames, [{"InputRequest": {"prompt": "?" * channel.MAX_PROMPT, "password": False}}])
        self.assertEqual(line, text)

    def test_no_line_is_the_end_of_the_input(self):
        with self.assertRaisesRegex(EOFError, "EOF when reading a line"):
            self.ask(b"null\n", "")

    def test_without_a_host_there_is_none(self):
        channel.open_channel(-1)
        with self.assertRaises(EOFError):
            channel.ask("")


if __name__ == "__main__":
    unittest.main()
