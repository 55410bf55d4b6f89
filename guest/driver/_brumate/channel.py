"""Event frames to the host: one JSON line per `write`, in serde's externally tagged form.

The descriptor is a host device. A frame looks like `{"DisplayData":{"data":{"text/plain":"1"}}}`. Of what is read from
it, each line is the JSON answer to a frame that asks.
"""

from .pristine import __builtins__

import os

from .text import parse, quote

# Frames above this are not sent; senders shrink their payload first.
MAX_FRAME_BYTES = 16 << 20
# A guest in a loop must not keep the host busy for ever.
MAX_FRAMES_PER_RUN = 10_000
# Messages to a Jupyter frontend: widgets and progress bars send many.
MAX_MESSAGES_PER_RUN = 100_000
# Values of a run that are sent even when its other frames are used up: a cell's result is not lost to a loop before it.
MAX_RESULTS_PER_RUN = 100
# Bytes of all frames of one run.
MAX_BYTES_PER_RUN = 256 << 20

# Longest prompt that is sent, in characters.
MAX_PROMPT = 16 << 10

_write = os.write
_read = os.read


class _State:
    fd = -1
    left = MAX_FRAMES_PER_RUN
    results_left = MAX_RESULTS_PER_RUN
    messages_left = MAX_MESSAGES_PER_RUN
    bytes_left = MAX_BYTES_PER_RUN
    # Frames that were not sent since others had used up what a run may send.
    unsent = 0


def open_channel(fd):
    """Frames go to descriptor `fd` from now on; a negative number drops them."""
    _State.fd = fd


def descriptor():
    """The descriptor that frames go to; negative if there is none."""
    return _State.fd


def start_run():
    """Renews the allowance of frames."""
    _State.left = MAX_FRAMES_PER_RUN
    _State.results_left = MAX_RESULTS_PER_RUN
    _State.messages_left = MAX_MESSAGES_PER_RUN
    _State.bytes_left = MAX_BYTES_PER_RUN
    _State.unsent = 0


def unsent():
    """A line about what was not sent in this run; empty when all was."""
    count = _State.unsent
    return f"[{count} more displays were left out: a run may send {MAX_FRAMES_PER_RUN}]\n" if count else ""


def emit(kind, data):
    """Sends one event with a mime bundle (`str` to `str`). Returns whether it was sent."""
    if _State.fd < 0:
        return False
    if kind == "ExecuteResult" and _State.results_left > 0:
        _State.results_left -= 1
    elif _State.left > 0:
        _State.left -= 1
    else:
        _State.unsent += 1
        return False
    pairs = ",".join([f"{quote(mime)}:{quote(payload)}" for mime, payload in data.items()])
    return _write_frame(f'{{"{kind}":{{"data":{{{pairs}}}}}}}\n'.encode())


def send(kind, content, metadata, buffers):
    """Sends a message to a Jupyter frontend. Returns whether it was sent.

    Content and metadata are JSON objects as text, buffers are base64.
    """
    if _State.fd < 0 or _State.messages_left <= 0:
        return False
    _State.messages_left -= 1
    parts = ",".join([f'"{buffer}"' for buffer in buffers])
    message = f'"kind":{quote(kind)},"content":{content},"metadata":{metadata},"buffers":[{parts}]'
    return _write_frame(f'{{"Frontend":{{{message}}}}}\n'.encode())


def _write_frame(frame):
    if len(frame) > min(MAX_FRAME_BYTES, _State.bytes_left):
        return False
    _State.bytes_left -= len(frame)
    _write_all(frame)
    return True


def _write_all(frame):
    view = memoryview(frame)
    while view:
        view = view[_write(_State.fd, view) :]


def ask(prompt, password=False):
    """Asks the host for one line of text and waits for it, interruptibly. EOFError when there is none."""
    hidden = "true" if password else "false"
    line = _question(f'{{"InputRequest":{{"prompt":{quote(prompt[:MAX_PROMPT])},"password":{hidden}}}}}\n')
    if line is None:
        raise EOFError("EOF when reading a line")
    return line


def install(request):
    """Asks the host for packages (an `InstallRequest` as JSON) and waits, interruptibly; what it gives is mounted then.

    Returns `{"installed", "satisfied"}`, each a list of names and versions, or `{"error"}`; None when nobody installs
    anything here.
    """
    frame = f'{{"Install":{request}}}\n'
    if len(frame) > MAX_FRAME_BYTES:
        return {"error": "too many requirements"}
    return _question(frame)


def _question(frame):
    """Sends a frame that asks; returns the answer, None when nobody answers."""
    if _State.fd < 0:
        return None
    _write_all(frame.encode("utf-8", "replace"))
    parts = []
    while not parts or not parts[-1].endswith(b"\n"):
        try:
            part = _read(_State.fd, 1 << 16)
        except OSError:  # nobody to be asked, or the host is gone
            part = b""
        if not part:
            return None
        parts.append(part)
    return parse(b"".join(parts).decode())
