"""The wire of servers, and what they read and write by it."""

import asyncio
import contextlib
import os
import sys
import threading
import unittest
import unittest.mock

import guest_path  # isort: split

from _brumate.serving import streams, wire
from _brumate.serving.wire import ServingError, Wire, WireError


class Wires(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        source, self.write_end = os.pipe()
        self.read_end, sink = os.pipe()
        self.wire = Wire(source, sink)

    async def test_lines(self):
        got = []

        async def read():
            async for line in streams.Lines(self.wire):
                got.append(line)

        task = asyncio.create_task(read())
        await asyncio.sleep(0.01)
        os.write(self.write_end, b'{"a":1}\n\n{"b"')
        await asyncio.sleep(0.02)
        self.assertEqual(got, ['{"a":1}\n'])
        os.write(self.write_end, b':"\xe9"}\n\xff\nrest')
        os.close(self.write_end)
        await asyncio.wait_for(task, 2)
        self.assertEqual(got[1:], ['{"b":"\ufffd"}\n', "\ufffd\n", "rest"])

    async def test_messages_are_whole_whoever_is_cancelled(self):
        out = streams.Out(self.wire)
        text = "x" * 500_000 + "\n"
        await out.write(text)
        flushing = asyncio.create_task(out.flush())
        await asyncio.sleep(0.02)
        self.assertFalse(flushing.done())
        flushing.cancel()
        await asyncio.sleep(0)
        await out.write("end\n")
        second = asyncio.create_task(out.flush())
        os.set_blocking(self.read_end, False)
        data = b""
        while not second.done() or not data.endswith(b"end\n"):
            with contextlib.suppress(BlockingIOError):
                data += os.read(self.read_end, 1 << 16)
            await asyncio.sleep(0)
        self.assertEqual(data.decode(), text + "end\n")

    def test_a_loop_that_ended_while_it_flushed(self):
        self.wire.put(b"x" * 500_000)
        for _ in range(2):
            with self.assertRaises(TimeoutError):
                asyncio.run(asyncio.wait_for(self.wire.flush(), 0.01))

    async def test_a_reader_that_is_cancelled_loses_nothing(self):
        task = asyncio.create_task(self.wire.read_line())
        await asyncio.sleep(0.01)
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        os.write(self.write_end, b"a\n")
        self.assertEqual(await self.wire.read_line(), b"a\n")

    async def test_a_message_that_is_too_long(self):
        os.write(self.write_end, b"x" * 2000)
        with unittest.mock.patch.object(wire, "MAX_MESSAGE", 1000), self.assertRaises(WireError):
            await self.wire.read_line()

    async def test_a_host_that_is_gone(self):
        os.close(self.read_end)
        await streams.Out(self.wire).write("x\n")
        await self.wire.flush()

    async def test_bytes(self):
        os.write(self.write_end, b"abcde")
        os.close(self.write_end)
        self.assertEqual(await self.wire.read_exactly(4), b"abcd")
        with self.assertRaisesRegex(WireError, "within a frame"):
            await self.wire.read_exactly(4)
        self.assertEqual([await self.wire.read_exactly(1), await self.wire.read_exactly(1)], [b"e", None])

    def test_without_a_loop(self):
        os.write(self.write_end, b"a\nb")
        threading.Timer(0.02, os.close, [self.write_end]).start()
        lines = [self.wire.read_line_blocking() for _ in range(3)]
        self.assertEqual(lines, [b"a\n", b"b", b""])

    def test_one_server(self):
        self.wire.claim("stdio")
        with self.assertRaises(ServingError):
            self.wire.claim("http")


if __name__ == "__main__":
    unittest.main()
