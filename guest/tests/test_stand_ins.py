"""Stand-ins for packages that have no wheel for the sandbox: watchfiles, caio, uvloop."""

import asyncio
import os
import sys
import tempfile
import threading
import unittest

import guest_path  # isort: split

import caio
import uvloop
import watchfiles
from caio.asyncio_base import AsyncioContextBase
from watchfiles import Change


class Watching(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = os.path.realpath(directory.name)

    def write(self, name, text):
        path = os.path.join(self.directory, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        return path

    def test_changes_are_reported_once(self):
        changed, removed = self.write("changed.py", "1"), self.write("removed.py", "1")
        watching = watchfiles.watch(self.directory, poll_delay_ms=1, rust_timeout=5, yield_on_timeout=True)
        self.assertEqual(next(watching), set())
        self.write("changed.py", "22")
        os.remove(removed)
        added = self.write("inner/added.txt", "")
        expected = {
            (Change.added, os.path.dirname(added)),
            (Change.added, added),
            (Change.modified, changed),
            (Change.deleted, removed),
        }
        self.assertEqual(next(watching), expected)
        self.assertEqual(next(watching), set())

    def test_filters(self):
        watching = watchfiles.watch(self.directory, poll_delay_ms=1, rust_timeout=5, yield_on_timeout=True)
        next(watching)
        for name in ("__pycache__/a.pyc", "b.pyc", ".git/config", "c~", ".#d", "e.swp"):
            self.write(name, "")
        self.assertEqual(next(watching), set())
        only = watchfiles.PythonFilter(extra_extensions=[".toml"], ignore_paths=["/skipped"])
        reported = [path for path in ("/a.py", "/a.txt", "/a.toml", "/skipped/a.py") if only(Change.added, path)]
        self.assertEqual(reported, ["/a.py", "/a.toml"])

        class Own(watchfiles.DefaultFilter):
            ignore_dirs = ("own",)

        self.assertFalse(Own()(Change.added, "/own/a"))
        self.assertTrue(Own()(Change.added, "/.git/a"))

    def test_one_level(self):
        watching = watchfiles.watch(
            self.directory, poll_delay_ms=1, rust_timeout=5, yield_on_timeout=True, recursive=False
        )
        next(watching)
        deep = self.write("inner/deep.txt", "")
        self.assertEqual(next(watching), {(Change.added, os.path.dirname(deep))})

    def test_the_end(self):
        stop = threading.Event()
        stop.set()
        self.assertEqual(list(watchfiles.watch(self.directory, stop_event=stop)), [])
        with self.assertRaises(FileNotFoundError):
            next(watchfiles.watch(self.directory + "/missing"))
        with self.assertRaisesRegex(OSError, "no processes"):
            watchfiles.run_process(self.directory, target="command")

    def test_tasks_go_on(self):
        async def main():
            stop, found = asyncio.Event(), []

            async def watch():
                async for changes in watchfiles.awatch(self.directory, stop_event=stop, poll_delay_ms=1):
                    found.append(changes)
                    stop.set()

            watching = asyncio.create_task(watch())
            await asyncio.sleep(0)
            path = self.write("a.txt", "")
            await watching
            self.assertEqual(found, [{(Change.added, path)}])

        asyncio.run(main())


class Files(unittest.TestCase):
    def test_operations(self):
        async def main(descriptor):
            async with caio.AsyncioContext(4) as context:
                self.assertIsInstance(context, AsyncioContextBase)
                self.assertIs(context.loop, asyncio.get_running_loop())
                self.assertEqual(await context.write(b"hello", descriptor, 2), 5)
                self.assertEqual(await context.read(3, descriptor, 3), b"ell")
                await context.fsync(descriptor)
                await context.fdsync(descriptor)
                with self.assertRaises(OSError):
                    await context.read(1, -1, 0)

        with tempfile.TemporaryFile() as file:
            asyncio.run(main(file.fileno()))


class Loops(unittest.TestCase):
    def test_loops_are_asyncio_s(self):
        loop = uvloop.new_event_loop()
        self.assertIsInstance(loop, asyncio.AbstractEventLoop)
        self.assertEqual(loop.run_until_complete(asyncio.sleep(0, 3)), 3)
        loop.close()
        uvloop.install()
        policy = uvloop.EventLoopPolicy()
        with self.assertRaises(RuntimeError):
            policy.get_event_loop()
        policy.set_event_loop(loop)
        self.assertIs(policy.get_event_loop(), loop)


if __name__ == "__main__":
    unittest.main()
