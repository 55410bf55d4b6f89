"""The asynchronous interface."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from typing import Any, NoReturn, TypeVar

from . import _operations as operations
from ._operations import Ask, Code, Make, MakeStream, Operation, Question
from ._process import Process, running_process, shared_process
from ._results import Event, Figure, File, Output, Result
from ._settings import Configured, Settings, milliseconds

T = TypeVar("T")
#: As `Answerer`, for a coroutine.
AsyncAnswerer = Callable[[str, bool], Awaitable[str | None]]


class AsyncSandbox(Configured):
    """Runs Python code in a sandbox, as `Sandbox` does, from asyncio. A task that is cancelled interrupts its code.

    >>> import asyncio
    >>> async def main():
    ...     async with AsyncSandbox() as box:
    ...         results = await asyncio.gather(*(box.run(f"{n} ** 2") for n in range(4)))
    ...         return [result.value for result in results]
    >>> asyncio.run(main())
    [0, 1, 4, 9]
    """

    @classmethod
    async def eval(cls, code: str, globals: Mapping[str, Any] | None = None) -> Any:
        """Returns the value of code with the default settings.

        Raises:
            CodeError: the code failed.
        """
        result = await cls().run(code, globals)
        return result.raise_for_error().value

    async def __aenter__(self) -> AsyncSandbox:
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Does nothing: the process serves other sandboxes as well, and ends with this program."""

    async def run(
        self,
        code: str,
        globals: Mapping[str, Any] | None = None,
        *,
        input: AsyncAnswerer | None = None,
        file_name: str = "",
        timeout: float | None = None,
    ) -> Result:
        """Runs code in a fresh interpreter, which is gone afterwards; as `Sandbox.run`."""
        given = Code(code, globals, file_name=file_name, timeout=milliseconds(timeout))
        return await _wait(self._settings, lambda ask: operations.run(given, ask, None), input)

    def stream(
        self,
        code: str,
        globals: Mapping[str, Any] | None = None,
        *,
        input: AsyncAnswerer | None = None,
        file_name: str = "",
        timeout: float | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Runs code; yields what it writes and shows as it comes, and its result in the end; as `Sandbox.stream`."""
        given = Code(code, globals, file_name=file_name, timeout=milliseconds(timeout))
        return _stream(self._settings, lambda ask, listener: operations.run(given, ask, listener), input)

    def session(self, id: str | None = None) -> SessionOpening:
        """Returns a new session, or the one with this `id`.

        `await` gives the session. `async with` deletes it at the end.
        """
        return SessionOpening(self._settings, id)

    async def sessions(self) -> list[str]:
        """Returns the ids of all sessions in the data directory, those that were used last first."""
        found = await _wait(self._settings, lambda ask: operations.simple("session.list", "sessions"))
        return [session["session"] for session in found]

    async def restore(self, path: str | os.PathLike[str]) -> AsyncSession:
        """Returns a new session that goes on from the state in a file that `AsyncSession.snapshot` wrote."""
        return AsyncSession(self._settings, await _wait(self._settings, lambda ask: operations.restore(path)))


class SessionOpening:
    """What `AsyncSandbox.session` returns: `await` it, or use it in `async with`."""

    def __init__(self, settings: Settings, id: str | None) -> None:
        self._settings = settings
        self._id = id
        self._session: AsyncSession | None = None

    def __await__(self) -> Generator[Any, Any, AsyncSession]:
        return self._open().__await__()

    async def __aenter__(self) -> AsyncSession:
        self._session = await self._open()
        return self._session

    async def __aexit__(self, *exception: object) -> None:
        if self._session is not None:
            await self._session.delete()

    def __getattr__(self, name: str) -> NoReturn:
        if not name.startswith("_") and (name == "id" or hasattr(AsyncSession, name)):
            raise AttributeError(
                f"the session is not open yet, so it has no `{name}`: write `session = await box.session()`, or "
                "`async with box.session() as session:`"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a session that is not open yet cannot be copied or pickled: `await` it, and take its `id`")

    async def _open(self) -> AsyncSession:
        if self._id is not None:
            return AsyncSession(self._settings, self._id)
        new: str = await _wait(self._settings, lambda ask: operations.simple("session.new", "session"))
        return AsyncSession(self._settings, new)


class AsyncSession:
    """A Python interpreter that keeps its variables, modules and files between runs; as `Session`.

    Made by `AsyncSandbox.session`.
    """

    def __init__(self, settings: Settings, id: str) -> None:
        self._settings = settings
        #: The session's name; `AsyncSandbox.session(id)` finds it again.
        self.id = id

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.delete()

    def __repr__(self) -> str:
        return f"<brumate.AsyncSession {self.id}>"

    async def run(
        self,
        code: str,
        globals: Mapping[str, Any] | None = None,
        *,
        input: AsyncAnswerer | None = None,
        timeout: float | None = None,
    ) -> Result:
        """Runs code in the session, within `timeout` seconds instead of the sandbox's."""
        given = Code(code, globals, self.id, timeout=milliseconds(timeout))
        return await _wait(self._settings, lambda ask: operations.run(given, ask, None), input)

    def stream(
        self,
        code: str,
        globals: Mapping[str, Any] | None = None,
        *,
        input: AsyncAnswerer | None = None,
        timeout: float | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Runs code; yields what it writes and shows as it comes, and its result in the end."""
        given = Code(code, globals, self.id, timeout=milliseconds(timeout))
        return _stream(self._settings, lambda ask, listener: operations.run(given, ask, listener), input)

    async def get(self, name: str) -> Any:
        """Returns a variable; as `Session.__getitem__`."""
        return await self._wait(operations.get(self.id, name))

    async def set(self, name: str, value: Any) -> None:
        """Sets a variable."""
        await self._wait(operations.set(self.id, name, value))

    async def upload(self, source: str | os.PathLike[str] | bytes, name: str | None = None) -> File:
        """Copies a file of this machine, or bytes, into the session's working directory."""
        return await self._wait(operations.upload(self.id, source, name))

    async def download(self, name: str) -> bytes:
        """Returns the bytes of a file in the session's working directory."""
        return await self._wait(operations.download(self.id, name))

    async def files(self) -> list[File]:
        """Returns the files in the session's working directory."""
        return await self._wait(operations.files(self.id))

    async def fork(self) -> AsyncSession:
        """Returns another session that goes on from the present state of this one."""
        return AsyncSession(
            self._settings, await self._wait(operations.simple("session.fork", "session", session=self.id))
        )

    async def to_notebook(self) -> str:
        """Returns the session as a Jupyter notebook; as `Session.to_notebook`."""
        return await self._wait(operations.notebook(self.id))

    async def snapshot(self, path: str | os.PathLike[str]) -> None:
        """Writes the present state to a file; as `Session.snapshot`."""
        await self._wait(operations.snapshot(self.id, path))

    async def interrupt(self) -> bool:
        """Interrupts the code that runs in the session. Returns whether code ran."""
        return bool(await self._wait(operations.simple("session.interrupt", "done", session=self.id)))

    async def reset(self) -> None:
        """Removes all variables and files."""
        await self._wait(operations.simple("session.reset", "done", session=self.id))

    async def delete(self) -> None:
        """Deletes the session with all that it has."""
        await self._wait(operations.simple("session.clear", "done", session=self.id))

    async def _wait(self, operation: Operation[T]) -> T:
        return await _wait(self._settings, lambda ask: operation, None)


async def _wait(settings: Settings, make: Make[T], input: AsyncAnswerer | None = None) -> T:
    arguments = settings.command_line()
    process = running_process(arguments)
    if process is None:
        # Starting one takes longer than a loop should stand still.
        process = await asyncio.to_thread(shared_process, arguments)
    failures: list[BaseException] = []
    ask = None if input is None else _asker(process, input, failures, asyncio.get_running_loop())
    operation = make(ask)
    try:
        request = next(operation)
        while True:
            call = process.call(request.json, request.data, request.on_event)
            try:
                await asyncio.wrap_future(call.place)
                call.send()
                answer = await asyncio.wrap_future(call.answer)
            except (asyncio.CancelledError, GeneratorExit):
                # Cancelled, or left behind by a loop that was closed.
                call.give_up()
                raise
            request = operation.send(answer)
    except StopIteration as end:
        if failures:
            raise failures[0]
        value: T = end.value
        return value


def _asker(
    process: Process, input: AsyncAnswerer, failures: list[BaseException], loop: asyncio.AbstractEventLoop
) -> Ask:
    async def reply(question: Question) -> None:
        try:
            text = operations.check_answer(await input(question.prompt, question.password))
        except EOFError:
            text = None
        except BaseException as error:
            # The code is interrupted, and the caller gets the exception.
            failures.append(error)
            process.cancel(question.request)
            return
        process.tell({"call": "answer", "of": question.request, "text": text})

    def ask(question: Question) -> None:
        asyncio.run_coroutine_threadsafe(reply(question), loop)

    return ask


async def _stream(settings: Settings, make: MakeStream, input: AsyncAnswerer | None) -> AsyncGenerator[Event, None]:
    loop = asyncio.get_running_loop()
    events: asyncio.Queue[Output | Figure | None] = asyncio.Queue()

    def listener(event: Output | Figure) -> None:
        loop.call_soon_threadsafe(events.put_nowait, event)

    task = asyncio.ensure_future(_wait(settings, lambda ask: make(ask, listener), input))
    task.add_done_callback(lambda _: events.put_nowait(None))
    try:
        while (event := await events.get()) is not None:
            yield event
        yield await task
    finally:
        task.cancel()
