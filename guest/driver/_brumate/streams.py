"""`sys.stdout` and `sys.stderr`: few writes to the host, and the order between the two kept.

Both are `io.TextIOWrapper`s over a subclass of `io.BufferedWriter`; the buffering is done in C, where an interrupt
cannot tear it. Only stdout ever holds text back. It is passed on

* when a line ends, for the first lines of a burst: a guest that is killed later has not lost them;
* in a burst, at most every [`BURST_INTERVAL`] seconds at a line's end, or when [`BUFFER_BYTES`] are full;
* before anything is written to stderr, by `sys.stdout.flush()`, before an event frame, and at the end of the run.

stdout is line-buffered: `TextIOWrapper.write` calls `buffer.flush()` at the end of a line, and that is where the first
two rules live. The guest itself calls `TextIOWrapper.flush`: the two can be told apart. A line costs one Python call.

`os.write(1, ...)` and C code that prints are not seen here: as in CPython they may overtake an unfinished line.
"""

from .pristine import __builtins__

import io
import sys
from time import monotonic as _monotonic

BUFFER_BYTES = 8192
# Lines that are passed on at once before stdout starts to collect them.
BURST_LINES = 256
# Seconds between two passes while it collects; a pause ten times as long ends the burst.
BURST_INTERVAL = 0.02

_Writer = io.BufferedWriter
_write = _Writer.write
_flush = _Writer.flush
_Wrapper = io.TextIOWrapper
_flush_text = _Wrapper.flush


class _Stdout(_Writer):
    """stdout's bytes; see the module's rules."""

    def __init__(self, raw):
        _Writer.__init__(self, raw, BUFFER_BYTES)
        self.start_run()

    def start_run(self):
        self._lines = BURST_LINES
        self._passed = 0.0
        self.forced = False

    def flush(self):
        if self.forced:
            self.forced = False
            _flush(self)
        elif self._lines > 0:
            self._lines -= 1
            if self._lines == 0:
                self._passed = _monotonic()
            _flush(self)
        else:
            now = _monotonic()
            pause = now - self._passed
            if pause > BURST_INTERVAL:
                self._passed = now
                if pause > BURST_INTERVAL * 10:
                    self._lines = BURST_LINES
                _flush(self)


class _Text(_Wrapper):
    """stdout's text: `flush` passes everything on."""

    def __init__(self, raw):
        _Wrapper.__init__(self, _Stdout(raw), "utf-8", "surrogateescape", "\n", line_buffering=True)
        self.mode = "w"

    def flush(self):
        self.buffer.forced = True
        _flush_text(self)


class _Stderr(_Writer):
    """stderr's bytes: stdout first, then at once."""

    def __init__(self, raw, stdout):
        _Writer.__init__(self, raw, BUFFER_BYTES)
        self._stdout = stdout

    def write(self, data):
        try:
            self._stdout.flush()
        except (ValueError, OSError):
            pass  # stdout is closed: nothing of it is left to keep in order
        count = _write(self, data)
        _flush(self)
        return count


class _Current:
    out = err = None
    # Below those two.
    layers = ()


def _descriptor(number, name):
    raw = io.FileIO(number, "wb", closefd=False)
    raw.name = name
    return raw


_Text.__name__ = _Text.__qualname__ = "TextIOWrapper"
_Text.__module__ = "_io"


def install():
    """Makes new streams and puts them in `sys`."""
    out = _Current.out = _Text(_descriptor(1, "<stdout>"))
    raw = _Stderr(_descriptor(2, "<stderr>"), out)
    # Write-through: each write reaches `_Stderr.write` at once.
    err = _Current.err = _Wrapper(raw, "utf-8", "backslashreplace", "\n", write_through=True)
    err.mode = "w"
    _Current.layers = (out.buffer, err.buffer, out.buffer.raw, err.buffer.raw)
    sys.stdout = sys.__stdout__ = out
    sys.stderr = sys.__stderr__ = err


def start_run():
    """Replaces what an earlier run of the session closed or detached, and renews stdout's allowance."""
    try:
        broken = _Current.out.closed or _Current.err.closed or _Current.out.buffer.closed
        _Current.out.buffer.start_run()
    except Exception:  # detached: ValueError; a wrapper without a buffer: AttributeError
        broken = True
    if broken:
        out, err = sys.stdout, sys.stderr
        ours = (_Current.out, _Current.err)
        install()
        if not (out in ours or getattr(out, "closed", True)):
            sys.stdout = out
        if not (err in ours or getattr(err, "closed", True)):
            sys.stderr = err
    if getattr(sys.stdin, "closed", False):  # exit() closes it
        sys.stdin = sys.__stdin__ = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), encoding="utf-8")
    if sys.stdout is None:
        sys.stdout = _Current.out
    if sys.stderr is None:
        sys.stderr = _Current.err


def is_ours(stream):
    """Whether [`flush`] takes care of a stream."""
    return stream is _Current.out or stream is _Current.err


def is_part_of_ours(stream):
    """Whether a stream is one of ours, or a layer of one."""
    return any(stream is ours for ours in (_Current.out, _Current.err, *_Current.layers))


def take_back():
    """Makes our own streams those of the program again."""
    sys.stdout = sys.__stdout__ = _Current.out
    sys.stderr = sys.__stderr__ = _Current.err


def flush():
    """Passes on what our own streams hold. Never raises."""
    for stream in (_Current.out, _Current.err):
        try:
            stream.flush()
        except Exception:
            pass


def flush_guest():
    """Flushes what the guest put in `sys.stdout` and `sys.stderr`: guest code, to be called as such."""
    out, err = sys.stdout, sys.stderr
    if out is not _Current.out and out is not None:
        out.flush()
    if err is not _Current.err and err is not None:
        err.flush()


def write_error(text):
    """Writes to our own stderr, whatever `sys.stderr` is now."""
    _Current.err.write(text)
