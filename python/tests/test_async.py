"""The asynchronous interface."""

import asyncio
import os
import tempfile
import time
import unittest

from brumate import AsyncSandbox, CodeError, Output, Result

from . import OPTIONS


class Runs(unittest.IsolatedAsyncioTestCase):
    async def test_runs_go_on_at_the_same_time(self):
        async with AsyncSandbox(**OPTIONS) as box:
            await box.run("1")
            began = time.monotonic()
            results = await asyncio.gather(*(box.run("import time; time.sleep(0.5); n", {"n": n}) for n in range(4)))
            self.assertEqual([result.value for result in results], [0, 1, 2, 3])
            self.assertLess(time.monotonic() - began, 2.0 + 4 * 0.5)

    async def test_a_task_that_is_cancelled_ends_its_code(self):
        box = AsyncSandbox(**OPTIONS, arguments=["--max-concurrent", "1"])
        await box.run("1")
        task = asyncio.create_task(box.run("while True: pass"))
        await asyncio.sleep(0.3)
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        # There is one place: it is free again.
        self.assertEqual((await box.run("2")).value, 2)

    async def test_questions_are_answered(self):
        async def answer(prompt, password):
            await asyncio.sleep(0.01)
            return prompt.upper()

        self.assertEqual((await AsyncSandbox(**OPTIONS).run("input('abc')", input=answer)).value, "ABC")

    async def test_what_an_answerer_raises_reaches_the_caller(self):
        async def answer(prompt, password):
            raise KeyError("no answer")

        with self.assertRaisesRegex(KeyError, "no answer"):
            await AsyncSandbox(**OPTIONS).run("input()", input=answer)

    async def test_events_come_while_the_code_runs(self):
        events = [event async for event in AsyncSandbox(**OPTIONS).stream("print(1)\n2")]
        self.assertEqual(events[0], Output("stdout", "1\n"))
        self.assertIsInstance(events[-1], Result)

    async def test_a_stream_that_is_left_ends_its_code(self):
        box = AsyncSandbox(**OPTIONS, arguments=["--max-concurrent", "1"])
        events = box.stream("print(1, flush=True)\nwhile True: pass")
        async for _ in events:
            break
        await events.aclose()
        self.assertEqual((await box.run("2")).value, 2)

    async def test_more_calls_than_the_sandbox_runs_at_once_wait(self):
        box = AsyncSandbox(**OPTIONS, arguments=["--max-concurrent", "2"])
        results = await asyncio.gather(*(box.run("n", {"n": n}) for n in range(40)))
        self.assertEqual([result.value for result in results], list(range(40)))

    async def test_a_call_has_its_own_time_limit(self):
        box = AsyncSandbox(**OPTIONS)
        self.assertEqual((await box.run("while True: pass", timeout=0.3)).stopped, "time-limit")
        events = [event async for event in box.stream("while True: pass", timeout=0.3)]
        self.assertEqual(events[-1].stopped, "time-limit")
        async with box.session() as session:
            self.assertEqual((await session.run("while True: pass", timeout=0.3)).stopped, "time-limit")
        with self.assertRaisesRegex(ValueError, "`timeout`"):
            await box.run("1", timeout=0)

    async def test_a_call_that_is_cancelled_while_it_waits_takes_no_place(self):
        box = AsyncSandbox(**OPTIONS, arguments=["--max-concurrent", "1"])
        running = asyncio.create_task(box.run("input()", input=self.forever))
        waiting = asyncio.create_task(box.run("1"))
        await asyncio.sleep(0)
        for task in (waiting, running):
            task.cancel()
        for task in (waiting, running):
            with self.assertRaises(asyncio.CancelledError):
                await task
        self.assertEqual((await box.run("2")).value, 2)

    async def forever(self, prompt, password):
        await asyncio.Event().wait()

    async def test_failures_are_raised_by_eval(self):
        with self.assertRaises(CodeError):
            (await AsyncSandbox(**OPTIONS).run("1 / 0")).raise_for_error()


class Sessions(unittest.IsolatedAsyncioTestCase):
    async def test_a_session_keeps_state_values_and_files(self):
        box = AsyncSandbox(**OPTIONS)
        async with box.session() as session:
            await session.set("x", {"a": (1,)})
            self.assertEqual(await session.get("x"), {"a": (1,)})
            await session.upload(b"text", "a.txt")
            self.assertEqual((await session.run("open('a.txt').read()")).value, "text")
            self.assertEqual([file.name for file in await session.files()], ["a.txt"])
            self.assertEqual(await session.download("a.txt"), b"text")
            async with await session.fork() as fork:
                self.assertEqual(await fork.get("x"), {"a": (1,)})
            with tempfile.TemporaryDirectory() as directory:
                await session.snapshot(os.path.join(directory, "x"))
                async with await box.restore(os.path.join(directory, "x")) as copy:
                    self.assertEqual(await copy.get("x"), {"a": (1,)})
            other = await box.session()
            await other.delete()
            events = [event async for event in session.stream("print(x)")]
            self.assertEqual(events[0], Output("stdout", "{'a': (1,)}\n"))
            self.assertIn(session.id, await box.sessions())
            again = await box.session(session.id)
            await again.reset()
            self.assertEqual(await session.files(), [])


if __name__ == "__main__":
    unittest.main()
