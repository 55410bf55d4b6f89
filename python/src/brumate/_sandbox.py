"""The blocking interface."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Generator, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

from . import _operations as operations
from ._operations import Answerer, Ask, Code, Make, MakeStream, Operation, Question, Request
from ._process import Call, Frame, Process, shared_process
from ._results import Event, File, Result
from ._settings import Configured, Settings, milliseconds

T = TypeVar("T")


class Sandbox(Configured):
    """Runs Python code in a sandbox: CPython 3.14 with numpy, pandas, matplotlib and more.

    Code has no network, and sees no files, variables or secrets of this machine. One process of the binary serves all
    sandboxes with equal settings, all threads and all tasks. It starts with the first call. When it ends, the calls
    that wait raise `SandboxError`, and the next one starts another process. Calls beyond those that the sandbox runs at
    once wait in order.

    A sandbox can be pickled, for `multiprocessing`: in another program it starts a process there.

    Args:
        packages: requirements that every run gets, such as `["rich>=13"]`; what code imports is found without them
        mounts: directories of the host for all runs and sessions, such as `["./project:/work", "./data:/data:ro"]`
        network: hosts that code may connect to, such as `["api.example.com:8080", "10.1.2.3:5432"]`; else none
        timeout: seconds of wall-clock time of a run, 0.05 to 86400; 60 when not given
        cpu_timeout: seconds of CPU time of a run, 0.05 to 86400; 60 when not given
        memory: of a run, such as `"2GiB"`, or bytes, 64 MiB to 4 GiB; 1 GiB when not given
        output_limit: bytes of output that are kept of a run, and of its value, 1 KiB to 64 MiB; 1 MiB when not given
        offline: no network, not even for packages: what is in the binary, in the cache or in `find_links`
        index: URL of the package index; what pip is set to when not given
        find_links: directories of wheels
        session_timeout: seconds without use after which sessions are removed; 30 minutes when not given
        data_dir: directory of the sessions
        cache_dir: directory of compiled code and wheels
        arguments: further options of `brumate stdio`

    Raises:
        TypeError: an argument has another type.
        ValueError: an argument has a value that it cannot have.

    >>> from brumate import Sandbox
    >>> with Sandbox() as box:
    ...     box.run("1 + 1").value
    2
    """

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *exception: object) -> None:
        """Does nothing: the process serves other sandboxes as well, and ends with this program."""

    def run(
        self,
        code: str,
        globals: Mapping[str, Any] | None = None,
        *,
        input: Answerer | None = None,
        file_name: str = "",
        timeout: float | None = None,
    ) -> Result:
        """Runs code in a fresh interpreter, which is gone afterwards.

        Args:
            code: the source text; the value of its last expression is the result's `value`
            globals: variables that it begins with: what JSON can express
            input: answers `input()` and `getpass()`, at most 100 times a run; without it they find the end of input.
                An exception that it raises interrupts the code, and is raised here
            file_name: shown in tracebacks
            timeout: seconds of wall-clock time of this run, instead of the sandbox's; waiting for others does not count

        >>> Sandbox().run("import numpy as np; np.arange(3) ** n", {"n": 2}).value
        [0, 1, 4]
        """
        given = Code(code, globals, file_name=file_name, timeout=milliseconds(timeout))
        return self._wait(lambda ask: operations.run(given, ask, None), input)

    def stream(
        self,
        code: str,
        globals: Mapping[str, Any] | None = None,
        *,
        input: Answerer | None = None,
        file_name: str = "",
        timeout: float | None = None,
    ) -> Generator[Event, None, None]:
        """Runs code as `run` does; yields what it writes and shows as it comes, and its result in the end.

        Closing the generator interrupts the code.

        >>> [event.text for event in Sandbox().stream("print('a'); 'b'")]
        ['a\\n', 'b']
        """
        given = Code(code, globals, file_name=file_name, timeout=milliseconds(timeout))
        return _stream(self._settings, lambda ask, listener: operations.run(given, ask, listener), input)

    def session(self, id: str | None = None) -> Session:
        """Returns a new session, or the one with this `id`, which an earlier program may have made."""
        if id is None:
            new: str = self._wait(lambda ask: operations.simple("session.new", "session"))
            return Session(self._settings, new)
        return Session(self._settings, id)

    def sessions(self) -> list[str]:
        """Returns the ids of all sessions in the data directory, those that were used last first."""
        found = self._wait(lambda ask: operations.simple("session.list", "sessions"))
        return [session["session"] for session in found]

    def restore(self, path: str | os.PathLike[str]) -> Session:
        """Returns a new session that goes on from the state in a file that `Session.snapshot` wrote, here or elsewhere.

        Raises:
            FileError: the file is no snapshot, or cannot be read.
            SessionError: it was made by a version of Brumate whose sessions this one cannot continue.
        """
        return Session(self._settings, self._wait(lambda ask: operations.restore(path)))

    def _wait(self, make: Make[T], input: Answerer | None = None) -> T:
        return _wait(self._settings, make, input)


class Session:
    """A Python interpreter that keeps its variables, modules and files between runs.

    Made by `Sandbox.session`. It sleeps in a file when it is not used. As a context manager it is deleted at the end.

    A copy of this object, also one that was pickled, is the same session; `fork` makes another one.

    >>> with Sandbox().session() as session:
    ...     session["x"] = [1, 2]
    ...     result = session.run("x.append(3)")
    ...     session["x"]
    [1, 2, 3]
    """

    def __init__(self, settings: Settings, id: str) -> None:
        self._settings = settings
        #: The session's name; `Sandbox.session(id)` finds it again.
        self.id = id

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exception: object) -> None:
        self.delete()

    def __repr__(self) -> str:
        return f"<brumate.Session {self.id}>"

    def run(
        self,
        code: str,
        globals: Mapping[str, Any] | None = None,
        *,
        input: Answerer | None = None,
        timeout: float | None = None,
    ) -> Result:
        """Runs code in the session, within `timeout` seconds instead of the sandbox's.

        What it changes stays, also when it fails. Code that ends the interpreter changes nothing.
        """
        given = Code(code, globals, self.id, timeout=milliseconds(timeout))
        return _wait(self._settings, lambda ask: operations.run(given, ask, None), input)

    def stream(
        self,
        code: str,
        globals: Mapping[str, Any] | None = None,
        *,
        input: Answerer | None = None,
        timeout: float | None = None,
    ) -> Generator[Event, None, None]:
        """Runs code as `run` does; yields what it writes and shows as it comes, and its result in the end.

        Closing the generator interrupts the code.
        """
        given = Code(code, globals, self.id, timeout=milliseconds(timeout))
        return _stream(self._settings, lambda ask, listener: operations.run(given, ask, listener), input)

    def __getitem__(self, name: str) -> Any:
        """Returns a variable of one of Python's own types, a numpy array or a pandas object.

        The last two need these packages here.

        Raises:
            KeyError: there is no such variable.
            TypeError: its value cannot cross.
        """
        return self._wait(operations.get(self.id, name))

    def __setitem__(self, name: str, value: Any) -> None:
        """Sets a variable, to a value of the same kinds."""
        self._wait(operations.set(self.id, name, value))

    def __delitem__(self, name: str) -> None:
        self._wait(operations.delete(self.id, name))

    def upload(self, source: str | os.PathLike[str] | bytes, name: str | None = None) -> File:
        """Copies a file of this machine, or bytes, into the session's working directory.

        >>> with Sandbox().session() as session:
        ...     file = session.upload(b"a,b", "data.csv")
        ...     session.run("open('data.csv').read()").value
        'a,b'
        """
        return self._wait(operations.upload(self.id, source, name))

    def download(self, name: str) -> bytes:
        """Returns the bytes of a file in the session's working directory."""
        return self._wait(operations.download(self.id, name))

    def files(self) -> list[File]:
        """Returns the files in the session's working directory."""
        return self._wait(operations.files(self.id))

    def to_notebook(self) -> str:
        """Returns the session as a Jupyter notebook: its cells with their outputs and figures, as JSON (nbformat 4.5).

        The oldest outputs go first when all of them exceed 16 MiB; the metadata of a cell says so. Scripts, widgets and
        addresses that a client would fetch are left out.

        >>> import json
        >>> with Sandbox().session() as session:
        ...     result = session.run("print('a')")
        ...     json.loads(session.to_notebook())["cells"][0]["outputs"][0]["text"]
        ['a\\n']
        """
        return self._wait(operations.notebook(self.id))

    def fork(self) -> Session:
        """Returns another session that goes on from the present state of this one."""
        return Session(self._settings, self._wait(operations.simple("session.fork", "session", session=self.id)))

    def snapshot(self, path: str | os.PathLike[str]) -> None:
        """Writes the present state to a file: variables, modules, files. The session goes on.

        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as directory, Sandbox().session() as session:
        ...     session["x"] = 1
        ...     session.snapshot(os.path.join(directory, "x.brumate"))
        ...     with Sandbox().restore(os.path.join(directory, "x.brumate")) as copy:
        ...         copy["x"]
        1

        Raises:
            FileError: the file cannot be written.
        """
        self._wait(operations.snapshot(self.id, path))

    def interrupt(self) -> bool:
        """Interrupts the code that runs in the session, from another thread. Returns whether code ran."""
        return bool(self._wait(operations.simple("session.interrupt", "done", session=self.id)))

    def reset(self) -> None:
        """Removes all variables and files."""
        self._wait(operations.simple("session.reset", "done", session=self.id))

    def delete(self) -> None:
        """Deletes the session with all that it has."""
        self._wait(operations.simple("session.clear", "done", session=self.id))

    def _wait(self, operation: Operation[T]) -> T:
        return _wait(self._settings, lambda ask: operation, None)


def run_operation(session: Session, operation: Operation[T]) -> T:
    """Does an operation with the process that serves a session."""
    return session._wait(operation)  # pyright: ignore[reportPrivateUsage]


class _Interrupter:
    """Gives up the call that another thread makes, whether it waits or runs, and those that it makes later."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._call: Call | None = None
        self._is_given_up = False

    def take(self, call: Call) -> None:
        with self._lock:
            self._call = call
            is_given_up = self._is_given_up
        if is_given_up:
            call.give_up()

    def give_up(self) -> None:
        with self._lock:
            self._is_given_up = True
            call = self._call
        if call is not None:
            call.give_up()


def _wait(settings: Settings, make: Make[T], input: Answerer | None, interrupter: _Interrupter | None = None) -> T:
    process = shared_process(settings.command_line())
    failures: list[BaseException] = []
    ask = None if input is None else _asker(process, input, failures)
    operation = make(ask)
    try:
        request = next(operation)
        while True:
            request = operation.send(_answer(process, request, interrupter))
    except StopIteration as end:
        if failures:
            raise failures[0]
        value: T = end.value
        return value


def _answer(process: Process, request: Request, interrupter: _Interrupter | None) -> Frame:
    call = process.call(request.json, request.data, request.on_event)
    try:
        if interrupter is not None:
            interrupter.take(call)
        call.place.result()
        call.send()
        return call.answer.result()
    except BaseException:
        if not call.answer.done():
            # Control-C, or what another handler of a signal raises: the code in the sandbox is interrupted too.
            call.give_up()
        raise


def _asker(process: Process, input: Answerer, failures: list[BaseException]) -> Ask:
    """Returns what takes questions. Each is answered in a thread of its own: the reader must not wait for a person."""

    def ask(question: Question) -> None:
        threading.Thread(target=_reply, args=(process, input, failures, question), daemon=True).start()

    return ask


def _reply(process: Process, input: Answerer, failures: list[BaseException], question: Question) -> None:
    try:
        text = operations.check_answer(input(question.prompt, question.password))
    except EOFError:
        text = None
    except BaseException as error:
        # The code is interrupted, and the caller gets the exception.
        failures.append(error)
        process.cancel(question.request)
        return
    process.tell({"call": "answer", "of": question.request, "text": text})


def _stream(settings: Settings, make: MakeStream, input: Answerer | None) -> Generator[Event, None, None]:
    events: queue.SimpleQueue[Event | Future[Result]] = queue.SimpleQueue()
    finished: Future[Result] = Future()
    interrupter = _Interrupter()

    def work() -> None:
        try:
            finished.set_result(_wait(settings, lambda ask: make(ask, events.put), input, interrupter))
        except BaseException as error:
            finished.set_exception(error)
        events.put(finished)

    threading.Thread(target=work, name="brumate-stream", daemon=True).start()
    try:
        while not isinstance(event := events.get(), Future):
            yield event
    finally:
        if not finished.done():
            interrupter.give_up()
    yield event.result()
