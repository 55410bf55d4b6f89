"""The process of the binary, and calls to it."""

from __future__ import annotations

import atexit
import itertools
import json
import os
import socket
import struct
import subprocess
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any, BinaryIO, NamedTuple, cast

from ._binary import environment, find_binary, without_usage
from ._errors import SandboxError, of_kind

#: Version of the protocol; the binary says its own first.
PROTOCOL = 1
#: Longest JSON text of a frame, and most bytes beside it, as the binary takes them.
MAX_TEXT_BYTES = 96 << 20
MAX_DATA_BYTES = 64 << 20
#: Most calls of one process at once, and most bytes of their requests. Further calls wait in order.
MAX_CALLS = 1000
MAX_CALLS_BYTES = 256 << 20
#: Lines of the binary's messages that are kept for the text of an exception.
KEPT_LINES = 20
#: Seconds that the last messages of a binary that failed are waited for.
MESSAGES_TIMEOUT = 2.0
#: Seconds that the binary has to put its sessions to sleep at the end.
END_TIMEOUT = 30.0

_LENGTHS = struct.Struct("<II")


class Frame(NamedTuple):
    """One message: a JSON object, and bytes."""

    json: dict[str, Any]
    data: bytes = b""


EventHandler = Callable[[Frame], None]


class Gate:
    """Bounds the calls that are under way."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls = 0
        self._bytes = 0
        # The places that are waited for, in order, with the sizes of their requests.
        self._waiting: OrderedDict[Future[None], int] = OrderedDict()

    def enter(self, size: int) -> Future[None]:
        """Returns the future of a place for a request of this size."""
        place: Future[None] = Future()
        with self._lock:
            self._waiting[place] = size
        self._admit()
        return place

    def leave(self, size: int) -> None:
        """Gives a place back."""
        with self._lock:
            self._calls -= 1
            self._bytes -= size
        self._admit()

    def give_up(self, place: Future[None], size: int) -> None:
        """Gives a place back, or takes it out of the queue."""
        if not place.cancel():
            self.leave(size)
            return
        with self._lock:
            self._waiting.pop(place, None)
        # The others may have waited behind it.
        self._admit()

    def _admit(self) -> None:
        admitted: list[Future[None]] = []
        with self._lock:
            while self._waiting:
                place, size = next(iter(self._waiting.items()))
                is_full = self._calls >= MAX_CALLS or self._bytes + size > MAX_CALLS_BYTES
                # A request above the bound on bytes goes alone.
                if is_full and self._calls:
                    break
                del self._waiting[place]
                if place.set_running_or_notify_cancel():
                    self._calls += 1
                    self._bytes += size
                    admitted.append(place)
        for place in admitted:
            place.set_result(None)


class Call:
    """A request: it waits for its `place`, is sent, and has an `answer`."""

    def __init__(self, process: Process, number: int, frame: bytes, on_event: EventHandler | None) -> None:
        self.number = number
        self.on_event = on_event
        self.answer: Future[Frame] = Future()
        self.answer.set_running_or_notify_cancel()
        self._process = process
        self._frame = frame
        self._size = len(frame)
        self._lock = threading.Lock()
        self._is_sent = False
        self._is_given_up = False
        self.place = process.gate.enter(self._size)

    def send(self) -> None:
        """Sends the request; the place is given back with the answer.

        Raises:
            CancelledError: the call was given up.
        """
        with self._lock:
            if self._is_given_up:
                raise CancelledError
            gate, size = self._process.gate, self._size
            self.answer.add_done_callback(lambda _: gate.leave(size))
            self._is_sent = True
            frame, self._frame = self._frame, b""
            # Within the lock: `give_up` tells the binary only after it has the request.
            self._process.send_call(self, frame)

    def give_up(self) -> None:
        """Asks for the end of the request, or gives its place back. Any thread may call it, and more than once."""
        with self._lock:
            was_given_up, self._is_given_up = self._is_given_up, True
        if self._is_sent:
            self._process.cancel(self.number)
        elif not was_given_up:
            self._process.gate.give_up(self.place, self._size)


class Process:
    """A running binary. All threads and tasks use it at the same time."""

    def __init__(self, arguments: tuple[str, ...]) -> None:
        self.gate = Gate()
        self._pending: dict[int, Call] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._messages: deque[str] = deque(maxlen=KEPT_LINES)
        self._ended: str | None = None
        self._greeted: Future[None] = Future()
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [find_binary(), "pipe", *arguments],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=environment(),
                start_new_session=True,
            )
        self._socket = ours
        self._reader = threading.Thread(target=self._read, name="brumate", daemon=True)
        self._listener = threading.Thread(target=self._listen, name="brumate-messages", daemon=True)
        self._listener.start()
        self._reader.start()
        self._greeted.result()

    @property
    def is_alive(self) -> bool:
        """Whether calls can be made."""
        return self._ended is None

    def call(self, request: dict[str, Any], data: bytes = b"", on_event: EventHandler | None = None) -> Call:
        """Makes a call, which its caller sends when it has a place.

        `on_event` is called in another thread and must not wait.
        """
        number = next(self._numbers)
        return Call(self, number, _frame({**request, "id": number}, data), on_event)

    def send_call(self, call: Call, frame: bytes) -> None:
        """Sends a call, whose request has these bytes."""
        with self._lock:
            ended = self._ended
            if ended is None:
                self._pending[call.number] = call
        if ended is not None:
            call.answer.set_exception(SandboxError(ended))
            return
        self._send(frame)

    def tell(self, message: dict[str, Any], data: bytes = b"") -> None:
        """Sends a message that has no answer of its own."""
        self._send(_frame(message, data))

    def _send(self, frame: bytes) -> None:
        with self._lock:
            try:
                self._socket.sendall(frame)
            except OSError:
                # The reader notices the end as well, and tells all who wait.
                pass
            except BaseException:
                # A part of a frame may have been sent: nothing that follows would be understood.
                self._socket.shutdown(socket.SHUT_RDWR)
                raise

    def cancel(self, number: int) -> None:
        """Asks for the end of a request; its future still has a result."""
        self.tell({"call": "cancel", "of": number})

    def close(self) -> None:
        """Ends the process. Sessions are put to sleep first."""
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        try:
            self._process.wait(END_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()

    def abandon(self) -> None:
        """Lets go of it in the child of a fork: the process belongs to the parent."""
        self._ended = "the process was forked; its child has to make sandboxes of its own"
        self._socket.close()

    def _read(self) -> None:
        stream = cast(BinaryIO, self._socket.makefile("rb", buffering=1 << 16))
        reason = "the sandbox has ended"
        try:
            while (frame := _read_frame(stream)) is not None:
                self._take(frame)
        except (OSError, ValueError) as error:
            reason = f"{reason}: {error}"
        stream.close()
        self._socket.close()
        if self._process.wait() != 0:
            # What it said last. Processes of its own may hold its standard error for longer than it lives.
            self._listener.join(MESSAGES_TIMEOUT)
        self._end(reason)

    def _take(self, frame: Frame) -> None:
        number = frame.json.get("id")
        if number is None:
            protocol = frame.json.get("protocol")
            if protocol != PROTOCOL:
                raise ValueError(
                    f"the binary speaks version {protocol} of the protocol, this package version {PROTOCOL}: "
                    "install both of one version"
                )
            self._greeted.set_result(None)
            return
        if "event" in frame.json:
            pending = self._pending.get(number)
            if pending is not None and pending.on_event is not None:
                pending.on_event(frame)
            return
        pending = self._pending.pop(number, None)
        if pending is None:
            return
        error = frame.json.get("error")
        if error is None:
            pending.answer.set_result(frame)
        else:
            pending.answer.set_exception(of_kind(error["kind"], error["message"]))

    def _end(self, reason: str) -> None:
        messages = without_usage("\n".join(self._messages))
        text = f"{reason}\n{messages}" if messages else f"{reason} (exit status {self._process.returncode})"
        with self._lock:
            self._ended = text
            pending = list(self._pending.values())
            self._pending.clear()
        if not self._greeted.done():
            self._greeted.set_exception(SandboxError(text))
        for waiting in pending:
            waiting.answer.set_exception(SandboxError(text))

    def _listen(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as stream:
            for line in stream:
                self._messages.append(line.decode(errors="replace").rstrip())


def _frame(message: dict[str, Any], data: bytes) -> bytes:
    """Returns a frame's bytes.

    Raises:
        ValueError: a text has a lone surrogate, or the frame is too long.
    """
    text = json.dumps(message, ensure_ascii=False).encode()
    if len(text) > MAX_TEXT_BYTES or len(data) > MAX_DATA_BYTES:
        raise ValueError(
            f"code and variables may have {MAX_TEXT_BYTES >> 20} MiB; put larger data into files of a session"
        )
    return _LENGTHS.pack(len(text), len(data)) + text + data


def _read_frame(stream: BinaryIO) -> Frame | None:
    head = stream.read(_LENGTHS.size)
    if not head:
        return None
    if len(head) < _LENGTHS.size:
        raise ValueError("its last message is incomplete")
    text_length, data_length = _LENGTHS.unpack(head)
    text, data = stream.read(text_length), stream.read(data_length)
    if len(text) < text_length or len(data) < data_length:
        raise ValueError("its last message is incomplete")
    return Frame(json.loads(text), data)


class _Shared:
    """The processes of this interpreter, one for each set of arguments."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.processes: dict[tuple[str, ...], Process] = {}

    def running(self, arguments: tuple[str, ...]) -> Process | None:
        process = self.processes.get(arguments)
        return process if process is not None and process.is_alive else None

    def get(self, arguments: tuple[str, ...]) -> Process:
        with self.lock:
            process = self.processes.get(arguments)
            if process is None or not process.is_alive:
                process = self.processes[arguments] = Process(arguments)
            return process

    def close(self) -> None:
        with self.lock:
            processes = list(self.processes.values())
            self.processes.clear()
        for process in processes:
            process.close()

    def forget(self) -> None:
        for process in self.processes.values():
            process.abandon()
        self.__init__()  # type: ignore[misc]


_shared = _Shared()
atexit.register(_shared.close)
os.register_at_fork(after_in_child=_shared.forget)


def shared_process(arguments: tuple[str, ...]) -> Process:
    """Returns the running binary with these arguments; starts it when there is none."""
    return _shared.get(arguments)


def running_process(arguments: tuple[str, ...]) -> Process | None:
    """Returns the binary with these arguments if it runs."""
    return _shared.running(arguments)


def close_all() -> None:
    """Ends all binaries of this interpreter. The next call starts another one."""
    _shared.close()
