"""Stacks of all threads as text, as `faulthandler` writes them."""

from .pristine import __builtins__

import _thread
import sys
import threading

from . import streams
from .own_files import OWN
from .text import elide, well_formed

# Threads and frames of each that are shown, and characters of a name.
MAX_THREADS = 20
MAX_FRAMES = 30
MAX_NAME_CHARS = 200

_current_frames = sys._current_frames
_get_ident = _thread.get_ident
_count = _thread._count
# Digits of an identity: as many as a pointer has.
_DIGITS = 16 if sys.maxsize > 2**32 else 8


def tell_others():
    """Prints the stacks of all threads but the calling one, if there are any: where they were when the run was
    interrupted."""
    if _count():
        streams.write_error(f"Other threads that were alive at the interrupt:\n{describe({_get_ident()})}")


def describe(hidden, max_threads=MAX_THREADS):
    """The stacks of all threads but those whose identities are in `hidden`, the last call of each first."""
    frames = _current_frames()
    names = {ident: thread.name for ident, thread in list(threading._active.items())}
    idents = [ident for ident in frames if ident not in hidden]
    parts = [_stack(ident, frames[ident], names.get(ident)) for ident in idents[:max_threads]]
    if len(idents) > max_threads:
        parts.append(f"({len(idents) - max_threads} more threads)\n")
    return "\n".join(parts)


def _stack(ident, frame, name):
    named = f" [{elide(well_formed(str(name)), MAX_NAME_CHARS)}]" if name else ""
    lines = [f"Thread 0x{ident:0{_DIGITS}x}{named} (most recent call first):\n"]
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(OWN):
            if len(lines) > MAX_FRAMES:
                lines.append("  ...\n")
                break
            lines.append(f'  File "{code.co_filename}", line {frame.f_lineno or 0} in {code.co_name}\n')
        frame = frame.f_back
    return well_formed("".join(lines))
