"""What sandboxes and sessions do, as generators of requests.

The blocking and the asynchronous interface run the same generators.
"""

from __future__ import annotations

import base64
import functools
import io
import json
import os
import time
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

from . import _exchange
from ._errors import CodeError, SessionError
from ._process import EventHandler, Frame
from ._results import Figure, File, Gatherer, Output, Result, file_of

T = TypeVar("T")

#: Bytes of a file that one request carries.
PART_BYTES = 1 << 20
#: Bytes of an encoded value that travel within a request; larger ones are files.
INLINE_BYTES = 64 << 10
#: The file of a session that a larger value is in while it travels.
VALUE_FILE = ".brumate-value"
#: The module of a session that encodes and decodes values.
VALUE_MODULE = "_brumate_exchange"


class Request(NamedTuple):
    """One call of the binary."""

    json: dict[str, Any]
    data: bytes = b""
    on_event: EventHandler | None = None


Operation = Generator[Request, Frame, T]
#: Takes an output of a cell: its kind and its content, as the Jupyter messaging specification has them.
MessageHandler = Callable[[str, dict[str, Any]], None]
Listener = Callable[[Output | Figure], None]
#: Answers a question of the code (`input()`). The arguments are the prompt, and whether it is for a password. None is
#: the end of the input.
Answerer = Callable[[str, bool], str | None]


class Question(NamedTuple):
    """The code waits for a line of input."""

    request: int
    prompt: str
    password: bool


#: Takes a question; it must not wait for the answer.
Ask = Callable[[Question], None]
#: Makes an operation, whose questions go to the argument if there is one.
Make = Callable[[Ask | None], Operation[T]]
#: As `Make`; the second argument hears what the code writes and shows.
MakeStream = Callable[[Ask | None, Listener], Operation[Result]]


class Code(NamedTuple):
    """Code to run."""

    text: str
    globals: Mapping[str, Any] | None = None
    #: The session that it runs in. None: a fresh interpreter.
    session: str | None = None
    file_name: str = ""
    #: Time limit in milliseconds. None: the sandbox's.
    timeout: int | None = None
    #: Whether it is left out of the session's notebook.
    internal: bool = False


class CellEnd(NamedTuple):
    """How a cell of a notebook ended."""

    #: None when it ran to its end.
    error: str | None
    #: Name of the exception.
    name: str
    #: Message of the exception.
    message: str
    #: Lines of the traceback, with colors.
    traceback: tuple[str, ...]


def run(code: Code, on_question: Ask | None, listener: Listener | None) -> Operation[Result]:
    """Runs code."""
    where = {"call": "run"} if code.session is None else {"call": "session.run", "session": code.session}
    fields = {
        **where,
        "code": code.text,
        "globals": _globals(code.globals),
        "file_name": code.file_name,
        "timeout": code.timeout,
        "input": on_question is not None,
        "internal": code.internal,
    }
    return (yield from _run(fields, on_question, listener))


def _globals(globals: Mapping[str, Any] | None) -> str:
    """Returns variables as JSON text.

    Raises:
        TypeError: a value is nothing that JSON has.
        ValueError: a number is NaN or infinite, or a value contains itself.
    """
    return json.dumps(dict(globals), allow_nan=False) if globals else ""


def _run(fields: dict[str, Any], on_question: Ask | None, listener: Listener | None) -> Operation[Result]:
    gatherer = Gatherer()

    def on_event(frame: Frame) -> None:
        if frame.json["event"] == "input" and on_question is not None:
            on_question(Question(frame.json["id"], frame.json["prompt"], frame.json["password"]))
            return
        seen = gatherer.take(frame.json, frame.data)
        if seen is not None and listener is not None:
            listener(seen)

    began = time.perf_counter()
    answer = yield Request(fields, on_event=on_event)
    return gatherer.finish(answer.json["result"], time.perf_counter() - began)


def simple(call: str, field: str, **fields: Any) -> Operation[Any]:
    """Makes a call, and returns one field of its result."""
    answer = yield Request({"call": call, **fields})
    return answer.json["result"][field]


def snapshot(session: str, path: str | os.PathLike[str]) -> Operation[None]:
    yield from simple("session.snapshot", "done", session=session, path=os.path.abspath(path))


def restore(path: str | os.PathLike[str]) -> Operation[str]:
    restored: str = yield from simple("session.restore", "session", path=os.path.abspath(path))
    return restored


def files(session: str) -> Operation[list[File]]:
    """Lists the files of a session."""
    found = yield from simple("session.files", "files", session=session)
    return [file_of(file) for file in found]


def upload(session: str, source: str | os.PathLike[str] | bytes, name: str | None) -> Operation[File]:
    """Writes a file of a session: the bytes, or those of a file of this machine."""
    if isinstance(source, bytes):
        if name is None:
            raise TypeError("say with `name` what the file is to be called")
        return (yield from _write(session, name, source))
    path = Path(source)
    with path.open("rb") as file:
        return (yield from _write_parts(session, name or path.name, file))


def _write(session: str, name: str, data: bytes) -> Operation[File]:
    return (yield from _write_parts(session, name, io.BytesIO(data)))


def _write_parts(session: str, name: str, file: BinaryIO) -> Operation[File]:
    offset, part = 0, file.read(PART_BYTES)
    while True:
        following = file.read(PART_BYTES)
        fields = {"call": "file.write", "session": session, "name": name, "offset": offset, "last": not following}
        answer = yield Request(fields, part)
        if not following:
            return file_of(answer.json["result"]["file"])
        offset, part = offset + len(part), following


def download(session: str, name: str) -> Operation[bytes]:
    """Reads a file of a session."""
    parts: list[bytes] = []
    offset = 0
    while True:
        answer = yield Request({"call": "file.read", "session": session, "name": name, "offset": offset})
        parts.append(answer.data)
        offset += len(answer.data)
        if not answer.data or offset >= answer.json["result"]["size"]:
            return b"".join(parts)


def notebook(session: str) -> Operation[str]:
    """Returns the session as the text of a notebook."""
    answer = yield Request({"call": "session.notebook", "session": session})
    return answer.data.decode()


def cell(session: str, code: str, on_message: MessageHandler, internal: bool) -> Operation[CellEnd]:
    """Runs a cell through the shell of notebooks. Its outputs go to `on_message`, in order."""

    def on_event(frame: Frame) -> None:
        event = frame.json
        if event["event"] in ("stdout", "stderr"):
            on_message("stream", {"name": event["event"], "text": event["text"]})
        elif event["event"] == "message":
            on_message(event["kind"], event["content"])

    fields = {"call": "session.cell", "session": session, "code": code, "internal": internal}
    answer = yield Request(fields, on_event=on_event)
    result = answer.json["result"]
    reply = result["reply"]
    if reply.get("status") == "ok" and result["stopped"] is None:
        return CellEnd(None, "", "", ())
    # The shell says nothing when its interpreter has ended.
    error = result["error"] or "the interpreter has ended"
    if reply.get("status") != "error":
        return CellEnd(error, "SandboxError", error, (error,))
    traceback = tuple(str(line) for line in reply.get("traceback") or ())
    if result["stopped"] is not None and result["message"]:
        traceback += (result["message"],)
    name, message = str(reply.get("ename", "")), str(reply.get("evalue", ""))
    return CellEnd(f"{name}: {message}", name, message, traceback or (f"{name}: {message}",))


def get(session: str, name: str) -> Operation[Any]:
    """Returns the value of a variable."""
    _check_name(name)
    where = f"/workspace/{VALUE_FILE}"
    result = yield from _exchange_cell(session, f"give(globals(), {name!r}, {where!r}, {INLINE_BYTES})", {}, name)
    data = base64.b64decode(result) if isinstance(result, str) else (yield from download(session, VALUE_FILE))
    try:
        return _exchange.decode(data)
    except ModuleNotFoundError as error:
        raise SessionError(
            f"the value of {name!r} needs the package {error.name}, which is not installed here"
        ) from None


def set(session: str, name: str, value: Any) -> Operation[None]:
    """Sets a variable."""
    _check_name(name)
    data = _exchange.encode(value)
    inline = len(data) <= INLINE_BYTES
    if not inline:
        yield from _write(session, VALUE_FILE, data)
    text = base64.b64encode(data).decode() if inline else None
    yield from _exchange_cell(
        session, f"take(globals(), {name!r}, _brumate_value, '/workspace/{VALUE_FILE}')", {"_brumate_value": text}, name
    )


def delete(session: str, name: str) -> Operation[None]:
    """Deletes a variable."""
    _check_name(name)
    result = yield from run(Code(f"del {name}", session=session, internal=True), None, None)
    _raise_for_name(result, name)


def _check_name(name: str) -> None:
    if not name.isidentifier():
        raise KeyError(name)


@functools.cache
def _source() -> str:
    import inspect

    return inspect.getsource(_exchange)


def _exchange_cell(session: str, call: str, globals: dict[str, Any], name: str) -> Operation[Any]:
    """Calls a function of the module that encodes and decodes; makes the module when the session does not have it."""
    use = f"__import__('sys').modules[{VALUE_MODULE!r}].{call}"
    # The value of the last expression is the result; what was sent is taken away again.
    code = (
        f"try:\n    _brumate_answer = {use}\nfinally:\n    globals().pop('_brumate_value', None)\n"
        "globals().pop('_brumate_answer')"
    )
    result = yield from run(Code(code, globals, session, internal=True), None, None)
    if not result.success and f"KeyError: '{VALUE_MODULE}'" in (result.error or ""):
        make = (
            f"import sys, types\nsys.modules[{VALUE_MODULE!r}] = types.ModuleType({VALUE_MODULE!r})\n"
            f"exec(_brumate_value, sys.modules[{VALUE_MODULE!r}].__dict__)\ndel sys, types, _brumate_value"
        )
        made = yield from run(Code(make, {"_brumate_value": _source()}, session, internal=True), None, None)
        made.raise_for_error()
        result = yield from run(Code(code, globals, session, internal=True), None, None)
    _raise_for_name(result, name)
    return result.value


def _raise_for_name(result: Result, name: str) -> None:
    if result.success:
        return
    last = (result.error or "").rstrip().rpartition("\n")[2]
    if last in (f"KeyError: {name!r}", f"NameError: name {name!r} is not defined"):
        raise KeyError(name)
    if last.startswith("TypeError: a value "):
        raise TypeError(last.removeprefix("TypeError: "))
    raise CodeError(result.error or result.status, result.status)


def check_answer(text: object) -> str | None:
    """Returns the answer to a question.

    Raises:
        TypeError: it is neither a text nor None.
    """
    if text is None or isinstance(text, str):
        return text
    raise TypeError(f"the answer to a question of the code is a text or None, not {type(text).__name__}")
