"""Event frames to the host: one JSON line per `write`, in serde's externally tagged form.

The descriptor is a host device. A frame looks like `{"DisplayData":{"data":{"text/plain":"1"}}}`.
"""

from .pristine import __builtins__

import os

from .text import quote

# Frames above this are not sent; senders shrink their payload first.
MAX_FRAME_BYTES = 16 << 20
# A guest in a loop must not keep the host busy for ever.
MAX_FRAMES_PER_RUN = 1000

_write = os.write


class _State:
    fd = -1
    left = MAX_FRAMES_PER_RUN


def open_channel(fd):
    """Frames go to descriptor `fd` from now on; a negative number drops them."""
    _State.fd = fd


def start_run():
    """Renews the allowance of frames."""
    _State.left = MAX_FRAMES_PER_RUN


def emit(kind, data):
    """Sends one event with a mime bundle (`str` to `str`). Returns whether it was sent."""
    if _State.fd < 0 or _State.left <= 0:
        return False
    _State.left -= 1
    pairs = ",".join([f"{quote(mime)}:{quote(payload)}" for mime, payload in data.items()])
    frame = f'{{"{kind}":{{"data":{{{pairs}}}}}}}\n'.encode()
    if len(frame) > MAX_FRAME_BYTES:
        return False
    view = memoryview(frame)
    while view:
        view = view[_write(_State.fd, view):]
    return True
