"""The ASGI lifespan of an application: what it does before its first request and after its last one."""

from ..pristine import __builtins__

import asyncio

from .wire import ServingError

# Seconds that an application may take to end after it has answered.
PATIENCE = 1


class Lifespan:
    """Starts an application and ends it. An application that knows no lifespan is served without one.

    `mode` is uvicorn's option: `on`, `off` or `auto`. `state` is what the application gives its requests.
    """

    def __init__(self, app, mode, state):
        self.app = app
        self.mode = mode
        self.state = state
        self._inbox = asyncio.Queue()
        self._done = {"startup": asyncio.Event(), "shutdown": asyncio.Event()}
        # Whether it has answered at all, and whether there is nothing to end.
        self._answered = False
        self._ended = False
        self._failure = None
        self._task = None

    async def startup(self):
        """Waits until the application is ready; ServingError when it says that it cannot be."""
        if self.mode == "off":
            self._ended = True
            return
        self._task = asyncio.ensure_future(self._run())
        await self._inbox.put({"type": "lifespan.startup"})
        await self._done["startup"].wait()
        if self._failure is not None:
            raise ServingError(self._failure or "the application failed to start")

    async def shutdown(self):
        """Waits until the application has ended."""
        if self._ended or self._task is None:
            return
        await self._inbox.put({"type": "lifespan.shutdown"})
        await self._done["shutdown"].wait()
        await asyncio.wait([self._task], timeout=PATIENCE)

    async def _run(self):
        scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": self.state}
        try:
            await self.app(scope, self._inbox.get, self._send)
        except BaseException as error:
            self._ended = True
            if self._answered or self.mode == "on":
                self._failure = self._failure or str(error)
            if not isinstance(error, Exception):
                raise
        finally:
            for event in self._done.values():
                event.set()

    async def _send(self, message):
        self._answered = True
        kind = message["type"]
        if kind.endswith(".failed"):
            self._failure = message.get("message", "")
            self._ended = True
        self._done["startup" if "startup" in kind else "shutdown"].set()
