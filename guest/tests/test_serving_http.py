"""Servers over HTTP: the stand-in for uvicorn, and the bridge to the host, which has the sockets."""

import asyncio
import contextlib
import json
import os
import struct
import sys
import tempfile
import types
import unittest
import unittest.mock

import guest_path  # isort: split

from _brumate.serving import adaptation, bridge, uvicorn, wire
from _brumate.serving.bridge import (
    ABORT,
    BODY,
    CLOSED,
    CREDIT,
    DATA,
    END,
    FAILED,
    FINISH,
    HEAD,
    OPEN,
    PING,
    PONG,
    READY,
    SHUTDOWN,
    START,
    WINDOW,
)
from _brumate.serving.wire import ServingError, Wire, WireError

SECONDS = 5


class Host:
    """The host's side of the bridge."""

    def __init__(self):
        source, to_guest = os.pipe()
        from_guest, sink = os.pipe()
        self.guest = Wire(source, sink)
        self.wire = Wire(from_guest, to_guest)

    async def first(self):
        return json.loads(await self.wire.read_line())

    async def frame(self, seconds=SECONDS):
        length, kind, stream = HEAD.unpack(await asyncio.wait_for(self.wire.read_exactly(HEAD.size), seconds))
        return kind, stream, await self.wire.read_exactly(length) if length else b""

    async def send(self, kind, stream, payload=b""):
        self.wire.put(HEAD.pack(len(payload), kind, stream) + payload)
        await self.wire.flush()

    async def open(self, stream, path, method="GET", **facts):
        request = {"method": method, "raw_path": path, "headers": [["Accept", "*/*"]], **facts}
        await self.send(OPEN, stream, json.dumps(request).encode())


class App:
    """An application with a path for each way to answer."""

    def __init__(self):
        self.seen = []

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            await self.live(scope, receive, send)
            return
        self.scope = scope
        await getattr(self, scope["path"].rpartition("/")[2])(receive, send)

    async def live(self, scope, receive, send):
        scope["state"]["database"] = "open"
        self.seen.append((await receive())["type"])
        await send({"type": "lifespan.startup.complete"})
        self.seen.append((await receive())["type"])
        await send({"type": "lifespan.shutdown.complete"})

    async def fail(self, receive, send):
        raise ValueError("it always does")

    async def exit(self, receive, send):
        raise self.raised

    async def wait(self, receive, send):
        while (await receive())["type"] != "http.disconnect":
            pass
        self.seen.append("gone")

    async def big(self, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"a", b"b")]})
        await send({"type": "http.response.body", "body": b"z" * 600_000})

    async def echo(self, receive, send):
        await send({"type": "http.response.start", "status": 200})
        more = True
        while more:
            message = await receive()
            more = message["more_body"]
            await send({"type": "http.response.body", "body": message["body"], "more_body": more})

    async def again(self, receive, send):
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body"})
        await send({"type": "http.response.body", "body": b"more"})

    async def head(self, receive, send):
        await send({"type": "http.response.start", **self.start})

    async def leave(self, receive, send):
        async def later():
            await self.leaving.wait()
            self.seen.append((await receive())["type"])
            await send({"type": "http.response.start", "status": 200})
            self.seen.append("left")

        self.leaving = asyncio.Event()
        self.left = asyncio.create_task(later())

    async def ignore(self, receive, send):
        await asyncio.Event().wait()


class Bridges(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.host, self.app = Host(), App()
        self.server = uvicorn.Server(uvicorn.Config(self.app, host="0.0.0.0", port=80, root_path="/api"))
        patch = unittest.mock.patch.object(wire.Current, "wire", self.host.guest)
        patch.start()
        self.addCleanup(patch.stop)
        patch = unittest.mock.patch.object(bridge, "PATIENCE", 0.05)
        patch.start()
        self.addCleanup(patch.stop)
        self.task = asyncio.create_task(self.server.serve())
        first = await self.host.first()
        self.assertEqual(first, {"serve": "http", "host": "0.0.0.0", "port": 80, "root_path": "/api"})
        self.assertEqual(await self.host.frame(), (READY, 0, b""))

    async def end(self):
        await self.host.send(SHUTDOWN, 0)
        await asyncio.wait_for(self.task, SECONDS)

    async def breaks(self, text):
        with self.assertRaisesRegex(WireError, text):
            await asyncio.wait_for(self.task, SECONDS)

    async def test_request_and_lifespan(self):
        await self.host.open(1, "/a%20b/echo", "POST", query_string="q=1", client=["127.0.0.1", 5])
        self.assertEqual(await self.host.frame(), (START, 1, b'{"status": 200, "headers": []}'))
        await self.host.send(BODY, 1, b"one")
        self.assertEqual(await self.host.frame(), (WINDOW, 1, struct.pack(">I", 3)))
        self.assertEqual(await self.host.frame(), (DATA, 1, b"one"))
        await self.host.send(END, 1)
        self.assertEqual(await self.host.frame(), (FINISH, 1, b""))
        self.assertEqual(await self.host.frame(), (CLOSED, 1, b""))
        scope = self.app.scope
        self.assertEqual((scope["path"], scope["raw_path"]), ("/api/a b/echo", b"/api/a%20b/echo"))
        self.assertEqual((scope["query_string"], scope["client"]), (b"q=1", ("127.0.0.1", 5)))
        self.assertEqual((scope["headers"], scope["state"]), ([(b"accept", b"*/*")], {"database": "open"}))
        await self.end()
        self.assertEqual(self.app.seen, ["lifespan.startup", "lifespan.shutdown"])

    async def test_a_response_waits_for_the_host(self):
        await self.host.open(3, "/big")
        self.assertEqual(await self.host.frame(), (START, 3, b'{"status": 200, "headers": [["a", "b"]]}'))
        got = 0
        while got < CREDIT:
            got += len((await self.host.frame())[2])
        self.assertEqual(got, CREDIT)
        with self.assertRaises(TimeoutError):
            await self.host.frame(0.05)
        await self.host.send(WINDOW, 3, struct.pack(">I", 600_000))
        while (frame := await self.host.frame())[0] == DATA:
            got += len(frame[2])
        self.assertEqual((got, frame), (600_000, (FINISH, 3, b"")))
        await self.end()

    async def test_a_body_is_bounded(self):
        await self.host.open(1, "/ignore", "POST")
        for _ in range(4):
            await self.host.send(BODY, 1, b"x" * (CREDIT // 4))
        await asyncio.sleep(0.02)
        self.assertFalse(self.task.done())
        await self.host.send(BODY, 1, b"x")
        await self.breaks("more of a body than was allowed")

    async def test_what_was_received_may_be_sent_again(self):
        await self.host.open(1, "/wait", "POST")
        for _ in range(3):
            await self.host.send(BODY, 1, b"x" * CREDIT)
            self.assertEqual(await self.host.frame(), (WINDOW, 1, struct.pack(">I", CREDIT)))
        await self.end()

    async def test_clients_that_are_gone_and_applications_that_fail(self):
        with self.assertLogs("uvicorn.error", "ERROR"):
            await self.host.open(1, "/fail")
            self.assertEqual(await self.host.frame(), (ABORT, 1, b""))
        self.assertEqual(await self.host.frame(), (CLOSED, 1, b""))
        await self.host.send(END, 1)  # which the host did not know
        await self.host.open(2, "/wait")
        await self.host.send(ABORT, 2)
        await asyncio.sleep(0.05)
        self.assertEqual(self.app.seen[1:], ["gone"])
        await self.host.open(3, "/wait")
        await self.host.open(4, "/ignore")
        await asyncio.sleep(0.05)
        await self.end()
        self.assertEqual(self.app.seen[2:], ["gone", "lifespan.shutdown"])

    async def test_any_bytes_of_a_client(self):
        raw = bytes(range(0x80, 0x100)) + b"%ff%E2%82%AC%zz/echo"
        text = raw.decode("latin-1")
        await self.host.open(1, "/" + text, query_string=text, headers=[["X-A", text]])
        self.assertEqual((await self.host.frame())[0], START)
        scope = self.app.scope
        self.assertEqual((scope["raw_path"], scope["query_string"]), (b"/api/" + raw, raw))
        self.assertEqual(scope["headers"], [(b"x-a", raw)])
        self.assertTrue(scope["path"].startswith("/api/\ufffd") and scope["path"].endswith("\ufffd\u20ac%zz/echo"))
        await self.host.open(2, "/\xe2\x82\xac/echo")
        self.assertEqual((await self.host.frame())[:2], (START, 2))
        self.assertEqual(self.app.scope["path"], "/api/\u20ac/echo")
        for number in (1, 2):
            await self.host.send(END, number)
            self.assertEqual((await self.host.frame())[:2], (FINISH, number))
            self.assertEqual((await self.host.frame())[:2], (CLOSED, number))
        await self.end()

    async def test_a_fault_of_one_request_ends_its_stream_only(self):
        for number, facts in enumerate(
            [{"raw_path": "/\u20ac"}, {"headers": [["a"]]}, {"client": 3}, {"headers": 1}], 1
        ):
            with self.assertLogs("uvicorn.error", "ERROR"):
                await self.host.send(OPEN, number, json.dumps({"method": "GET", "raw_path": "/echo", **facts}).encode())
                self.assertEqual(
                    [await self.host.frame() for _ in range(2)], [(ABORT, number, b""), (CLOSED, number, b"")]
                )
        for exit in (SystemExit(3), BaseExceptionGroup("all", [SystemExit()]), asyncio.CancelledError()):
            self.app.raised = exit
            with contextlib.ExitStack() as stack:
                if not isinstance(exit, asyncio.CancelledError):
                    stack.enter_context(self.assertLogs("uvicorn.error", "ERROR"))
                await self.host.open(9, "/exit")
                self.assertEqual([await self.host.frame() for _ in range(2)], [(ABORT, 9, b""), (CLOSED, 9, b"")])
        await self.host.send(PING, 0)
        self.assertEqual(await self.host.frame(), (PONG, 0, b""))
        await self.end()

    async def test_whether_the_loop_is_busy(self):
        await self.host.send(PING, 0)
        self.assertEqual(await self.host.frame(), (PONG, 0, b""))
        await self.end()

    async def test_nothing_follows_a_response(self):
        with self.assertLogs("uvicorn.error", "ERROR") as logs:
            await self.host.open(1, "/again")
            frames = [(await self.host.frame())[0] for _ in range(3)]
        self.assertEqual(frames, [START, FINISH, CLOSED])
        self.assertIn("the response is complete", logs.output[0])
        await self.end()

    async def test_tasks_that_outlive_their_request(self):
        await self.host.open(1, "/leave", "POST")
        self.assertEqual([(await self.host.frame())[0] for _ in range(2)], [ABORT, CLOSED])
        self.app.leaving.set()
        await asyncio.wait_for(self.app.left, SECONDS)
        self.assertEqual(self.app.seen[1:], ["http.disconnect", "left"])
        await self.host.send(PING, 0)
        self.assertEqual(await self.host.frame(), (PONG, 0, b""))
        await self.end()

    async def test_heads_that_http_cannot_carry(self):
        many = [(b"x", b"y")] * (bridge.MAX_HEADERS + 1)
        for start, text in [
            ({"status": 101}, "101 is no status"),
            ({"status": 200, "headers": [(b"a b", b"")]}, "header b'a b' of the response is not valid"),
            ({"status": 200, "headers": [(b"a", b"b\r\nc: d")]}, "header b'a' of the response is not valid"),
            ({"status": 200, "headers": [(b"Content-Length", b"-1")]}, "content-length of the response is not valid"),
            ({"status": 200, "headers": many}, "too many headers"),
            ({"status": 200, "headers": [(b"a", b"x" * bridge.MAX_HEAD)]}, "too many headers"),
        ]:
            self.app.start = start
            with self.assertLogs("uvicorn.error", "ERROR") as logs:
                await self.host.open(1, "/head")
                self.assertEqual([(await self.host.frame())[0] for _ in range(2)], [ABORT, CLOSED])
            self.assertIn(text, logs.output[0])
        await self.end()

    async def test_frames_that_are_not_allowed(self):
        await self.host.open(1, "/wait")
        await self.host.open(1, "/wait")
        await self.breaks("cannot be opened")

    async def test_windows_without_a_number(self):
        await self.host.open(1, "/wait")
        await self.host.send(WINDOW, 1, b"1")
        await self.breaks("without a number")

    async def test_unknown_kinds(self):
        await self.host.open(1, "/wait")
        await self.host.send(99, 1)
        await self.breaks("unknown kind 99")

    async def test_long_frames(self):
        self.host.wire.put(HEAD.pack(wire.MAX_MESSAGE + 1, BODY, 1))
        await self.host.wire.flush()
        await self.breaks("too long")

    async def test_a_program_ends_its_server(self):
        self.server.should_exit = True
        await asyncio.wait_for(self.task, SECONDS)
        self.assertEqual(self.app.seen[1:], ["lifespan.shutdown"])

    async def test_the_end_of_the_wire(self):
        os.close(self.host.wire.sink)
        await asyncio.wait_for(self.task, SECONDS)
        self.assertEqual(self.app.seen[1:], ["lifespan.shutdown"])


class Lifespans(unittest.TestCase):
    def serve(self, app, **options):
        """Serves an application without requests; returns its answer to the host."""

        async def main():
            host = Host()
            with unittest.mock.patch.object(wire.Current, "wire", host.guest):
                task = asyncio.create_task(uvicorn.Server(uvicorn.Config(app, **options)).serve())
                await host.first()
                frame = await host.frame()
                os.close(host.wire.sink)
                with contextlib.suppress(ServingError):
                    await asyncio.wait_for(task, SECONDS)
                return frame

        return asyncio.run(main())

    def test_a_start_that_fails(self):
        async def app(scope, receive, send):
            await receive()
            await send({"type": "lifespan.startup.failed", "message": "no database"})

        self.assertEqual(self.serve(app), (FAILED, 0, b"no database"))

    def test_an_application_without_one(self):
        async def app(scope, receive, send):
            assert scope["type"] == "http"

        self.assertEqual(self.serve(app), (READY, 0, b""))
        self.assertEqual(self.serve(app, lifespan="off"), (READY, 0, b""))
        self.assertEqual(self.serve(app, lifespan="on"), (FAILED, 0, b"the application failed to start"))


class Uvicorn(unittest.TestCase):
    def test_it_is_found_in_place_of_the_real_one(self):
        with tempfile.TemporaryDirectory() as directory:
            os.mkdir(os.path.join(directory, "uvicorn"))
            for name, text in [("__init__", "raise ImportError"), ("logging", "installed = True")]:
                with open(os.path.join(directory, "uvicorn", f"{name}.py"), "w") as file:
                    file.write(text)
            with (
                unittest.mock.patch.object(sys, "path", [directory, *sys.path]),
                unittest.mock.patch.object(sys, "meta_path", [adaptation.Finder, *sys.meta_path]),
                unittest.mock.patch.dict(sys.modules),
            ):
                import uvicorn as real
                import uvicorn.logging
                from uvicorn.config import LOGGING_CONFIG
                from uvicorn.server import Server

        self.assertIs(real.Server, Server)
        self.assertEqual((real.logging.installed, LOGGING_CONFIG["version"]), (True, 1))
        with self.assertRaises(ModuleNotFoundError):
            adaptation.Finder.find_spec("httpx._main")

    def test_config(self):
        config = uvicorn.Config(lambda: App(), factory=True, ws="none")
        self.assertEqual((config.ws, type(config.load())), ("none", App))
        with self.assertRaises(AttributeError):
            config.nothing  # noqa: B018
        with self.assertRaisesRegex(ServingError, 'must be in format "module:attribute"'):
            uvicorn.Config("program").load()
        main = types.SimpleNamespace(__file__="/x/program.py", space=types.SimpleNamespace(app=App()))
        with unittest.mock.patch.dict(sys.modules, {"__main__": main}):
            self.assertIs(uvicorn.Config("program:space.app").load(), main.space.app)

    def test_interfaces(self):
        async def third(scope, receive, send):
            return scope

        def second(scope):
            async def instance(receive, send):
                seen.append(scope)

            return instance

        class Second:
            def __init__(self, scope):
                self.scope = scope

            async def __call__(self, receive, send):
                seen.append(self.scope)

        seen, app = [], App()
        self.assertIs(uvicorn.Config(third).load(), third)
        self.assertIs(uvicorn.Config(app).load(), app)
        for number, old in enumerate((second, Second)):
            asyncio.run(uvicorn.Config(old).load()(number, None, None))
        self.assertEqual(seen, [0, 1])


if __name__ == "__main__":
    unittest.main()
