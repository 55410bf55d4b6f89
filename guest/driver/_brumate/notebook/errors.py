"""Exceptions of cells, as IPython words them, in plain text and bounded."""

from ..pristine import __builtins__

import re
import sys

from .. import execution, reports, streams, thread_stacks
from . import frontend
from ..text import elide, well_formed

# Longer tracebacks are CPython's, which are quick: IPython's would read the source around each frame.
MAX_FRAMES = 3000
# Exceptions of a chain that are looked at.
MAX_CHAIN = reports.MAX_CHAIN

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class Errors:
    """What was shown, until it is known whether it is what the cell ended with."""

    def __init__(self):
        self.start_cell()

    def start_cell(self):
        self.pending = None
        # A value that could not be shown fails its cell, as in Jupyter.
        self.showing_failed = False
        # The lines that frontends got of the last exception, and whether they have to get it yet.
        self.traceback = None
        self.is_unsent = False

    def end_cell(self, error):
        """`(name, message, traceback)` for the exception that ended the cell; None when none did."""
        pending, self.pending = self.pending, None
        if isinstance(error, KeyboardInterrupt):
            thread_stacks.tell_others()
        if error is None and not (self.showing_failed and pending is not None):
            if pending is not None:
                _print(pending[1][2])
            return None
        if pending is not None:
            return pending[1]
        return self._plain(error)

    def shown(self, error):
        """`(name, message, traceback)` of an exception that was shown; None when it was not."""
        return self.pending[1] if self.pending is not None and self.pending[0] is error else None

    def show(self, kind, value, text, showing=False):
        """Takes a traceback. One that belongs to no exception being handled is printed at once (`%tb`).

        `showing`: it was raised by showing the cell's value.
        """
        self.showing_failed = self.showing_failed or showing
        text = elide(well_formed(_ANSI.sub("", text)), reports.MAX_TRACEBACK_CHARS).rstrip("\n") + "\n"
        if sys.exc_info()[1] is not value:
            streams.write_error(text)
            return
        self._keep(value, (well_formed(kind.__name__), _message(value), text))

    def send(self, kind, value, lines, showing=False):
        """Takes a traceback, as `show`, and sends it to the frontends."""
        name, message = well_formed(kind.__name__), _message(value)
        text = well_formed("\n".join(lines))
        if len(text) > reports.MAX_TRACEBACK_CHARS:
            text = elide(text, reports.MAX_TRACEBACK_CHARS)
            lines = text.split("\n")
        self.showing_failed = self.showing_failed or showing
        # A cancelled task's own exception may be only how an interrupt reached it.
        is_last = name != "CancelledError" or sys.exc_info()[1] is not value
        if is_last:
            frontend.send("error", {"ename": name, "evalue": message, "traceback": lines})
        if sys.exc_info()[1] is value:
            self._keep(value, (name, message, _ANSI.sub("", text) + "\n"))
            self.traceback, self.is_unsent = lines, not is_last

    def before_showing(self, value):
        """Takes our own frames out of an exception, and gives memory back when it is about that."""
        if isinstance(value, MemoryError):
            execution.give_memory_back()
        for link in reports.chain_of(value):
            link.__traceback__ = reports.guest_part(link.__traceback__)
        self._place_interrupt(value)

    def _place_interrupt(self, value):
        """An interrupt that found the loop waiting is shown where it reached the code that was waited for."""
        if isinstance(value, KeyboardInterrupt) and self.pending is not None and not _reaches_code(value.__traceback__):
            cancelled = self.pending[0]
            if type(cancelled).__name__ == "CancelledError":
                value.__traceback__ = cancelled.__traceback__

    def is_too_much_for_ipython(self, value):
        """Takes exceptions that IPython has no words for, groups, or would take too long over."""
        if value is None or not (_has_group(value) or _is_deep(value.__traceback__)):
            return False
        self._keep(value, self._plain(value))
        return True

    def _keep(self, value, described):
        if self.pending is not None:
            earlier, (_, _, text) = self.pending
            # A cancelled task's own exception is only how the interrupt reached it.
            if not (isinstance(value, KeyboardInterrupt) and type(earlier).__name__ == "CancelledError"):
                _print(text)
        self.pending = (value, described)
        self.traceback, self.is_unsent = None, True

    def _plain(self, error):
        """In CPython's words, from the cell's first frame on."""
        error.__traceback__ = _from_cell(error.__traceback__)
        return reports.describe(error)


def _print(text):
    """Prints a traceback that the cell did not end with; frontends have got it already."""
    if not frontend.is_listening():
        streams.write_error(text)


def _message(value):
    try:
        text = str(value)
    except Exception:
        text = "<exception str() failed>"
    return elide(well_formed(text), reports.MAX_MESSAGE_CHARS)


def _has_group(value):
    seen = set()
    while value is not None and id(value) not in seen and len(seen) < MAX_CHAIN:
        if isinstance(value, BaseExceptionGroup):
            return True
        seen.add(id(value))
        value = value.__context__
    return False


def _is_deep(step):
    count = 0
    while step is not None and count <= MAX_FRAMES:
        count += 1
        step = step.tb_next
    return count > MAX_FRAMES


def _reaches_code(step):
    """Whether a traceback has a frame that is not ours, IPython's or the loop's."""
    ipython = _machinery().rpartition("/")[0] + "/"
    while step is not None:
        if not step.tb_frame.f_code.co_filename.startswith((ipython, *reports.DRIVER)):
            return True
        step = step.tb_next
    return False


def _from_cell(step):
    """The part of a traceback below IPython's own frames."""
    machinery = _machinery()
    while step is not None and step.tb_frame.f_code.co_filename == machinery:
        step = step.tb_next
    return step


def _machinery():
    """The file of IPython's that runs cells."""
    from IPython.core import interactiveshell

    return interactiveshell.InteractiveShell.run_code.__code__.co_filename
