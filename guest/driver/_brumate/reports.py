"""Uncaught exceptions as CPython reports them, without the driver's frames, and bounded."""

from .pristine import __builtins__

import asyncio
import gc
import linecache
import selectors
import sys
import traceback

from . import interrupts
from .own_files import OWN
from .text import elide, well_formed

# Characters of one traceback; the middle of a longer one is left out.
MAX_TRACEBACK_CHARS = 64 << 10
# Characters of `str(exception)` that are reported apart from the traceback.
MAX_MESSAGE_CHARS = 8 << 10
# Frames of one traceback that are looked at (half from each end), and exceptions of one chain.
MAX_FRAMES = 20_000
MAX_CHAIN = 200


_LOOP = (asyncio.run.__code__.co_filename.rpartition("/")[0] + "/", selectors.PollSelector.select.__code__.co_filename)

# Files, and beginnings of their names, of what runs guest code and is none.
DRIVER = (*OWN, *_LOOP)

_TracebackException = traceback.TracebackException
_get_frame = sys._getframe
_GUEST_CALL = interrupts.call.__code__
_cache = linecache.cache
_class_name = type.__dict__["__name__"].__get__  # does not ask the metaclass


def describe(error):
    """`(class name, message, traceback text)` of an exception. Runs guest code (`__str__`, `__notes__`, ...)."""
    try:
        # First, since traceback swallows whatever a `__str__` raises, an interrupt too.
        message = str(error)
    except Exception:
        message = "<exception str() failed>"  # what the traceback says, too
    _cut_chain(error)
    hide_driver(error)
    report = _TracebackException(type(error), error, error.__traceback__, compact=True)
    _clean(report)
    text = "".join(report.format())
    return (
        well_formed(_class_name(type(error))),
        elide(well_formed(message), MAX_MESSAGE_CHARS),
        elide(well_formed(text), MAX_TRACEBACK_CHARS),
    )


def chain_of(error):
    """An exception with its causes and contexts, no more than [`MAX_CHAIN`]."""
    seen, chain = set(), []
    while error is not None and id(error) not in seen and len(chain) < MAX_CHAIN:
        seen.add(id(error))
        chain.append(error)
        error = error.__cause__ or error.__context__
    return chain


def release_memory(error):
    """Lets go of what the frames of a MemoryError hold: whoever keeps the exception would keep that."""
    chain = chain_of(error)
    if not any(isinstance(link, MemoryError) for link in chain):
        return
    for link in chain:
        traceback.clear_frames(link.__traceback__)
    # Cycles wait for a collection, which a few large objects do not bring about.
    gc.collect()


def describe_safely(error):
    """Like [`describe`], for when the exception's own code or a patched traceback module fails. Runs no guest code."""
    kind = type(error)
    try:
        name = _class_name(kind)
        arguments = BaseException.args.__get__(error)
        message = arguments[0] if arguments and type(arguments[0]) is str else ""
        message = elide(well_formed(message), MAX_MESSAGE_CHARS)
        entries = []
        step = guest_part(BaseException.__traceback__.__get__(error))
        while step is not None and len(entries) < 100:
            code = step.tb_frame.f_code
            if not code.co_filename.startswith(OWN):
                entries.append(f'  File "{code.co_filename}", line {step.tb_lineno}, in {code.co_name}\n')
                line = _cached_line(code.co_filename, step.tb_lineno)
                if line:
                    entries.append(f"    {line}\n")
            step = step.tb_next
        head = "Traceback (most recent call last):\n" if entries else ""
        tail = f"{name}: {message}\n" if message else f"{name}\n"
        return well_formed(name), message, elide(well_formed(head + "".join(entries) + tail), MAX_TRACEBACK_CHARS)
    except Exception:
        return "Exception", "", "Exception: it could not be described\n"


def hide_driver(error):
    """Makes an exception's traceback begin with the guest's first frame."""
    error.__traceback__ = guest_part(error.__traceback__)


def patch():
    """Lets `traceback.print_stack` and its like begin with the guest's first frame, too."""
    traceback.walk_stack = walk_stack


def walk_stack(f):
    """Walk a stack yielding the frame and line number for each frame, from the caller's or `f` outwards."""
    if f is None:
        f = _get_frame().f_back
    steps, end = [], None
    while f is not None:
        if f.f_code == _GUEST_CALL:  # equal: code is copied when an image is built
            end = len(steps)  # the outermost: the guest may have called the driver, which called the guest
        steps.append(f)
        f = f.f_back
    if end is not None:
        del steps[end:]
        while steps and steps[-1].f_code.co_filename.startswith(DRIVER):
            steps.pop()
    return ((step, step.f_lineno) for step in steps if not step.f_code.co_filename.startswith(OWN))


walk_stack.__module__ = traceback.__name__


def _cached_line(file_name, number):
    entry = _cache.get(file_name)
    if type(entry) is tuple and len(entry) == 4 and 1 <= number <= len(entry[2]):
        return entry[2][number - 1].strip()
    return ""


def guest_part(step):
    """What to show of a traceback: from the guest's first frame on, and no more than [`MAX_FRAMES`] frames."""
    if step is not None and step.tb_frame.f_code.co_filename.startswith(OWN):
        while step is not None and step.tb_frame.f_code.co_filename.startswith(DRIVER):
            step = step.tb_next
    count, walk = 0, step
    while walk is not None:
        count += 1
        # Ours again, between the guest's: a function of the standard library that we stand in for.
        while walk.tb_next is not None and walk.tb_next.tb_frame.f_code.co_filename.startswith(OWN):
            walk.tb_next = walk.tb_next.tb_next
        walk = walk.tb_next
    if count > MAX_FRAMES:
        last_kept = step
        for _ in range(MAX_FRAMES // 2 - 1):
            last_kept = last_kept.tb_next
        walk = last_kept
        for _ in range(count - MAX_FRAMES + 1):
            walk = walk.tb_next
        last_kept.tb_next = walk
    return step


def _cut_chain(error):
    """Ends a chain of causes and contexts after [`MAX_CHAIN`] exceptions; formatting it would take for ever."""
    seen = set()
    for _ in range(MAX_CHAIN):
        seen.add(id(error))
        following = error.__cause__
        if following is None:
            following = error.__context__
        if following is None or id(following) in seen:
            return
        error = following
    suppressed = error.__suppress_context__
    error.__cause__ = error.__context__ = None
    error.__suppress_context__ = suppressed


def _clean(report):
    """Removes our own frames from a `TracebackException` and from all it refers to."""
    reports = [report]
    while reports:
        report = reports.pop()
        stack = report.stack
        if any(entry.filename.startswith(OWN) for entry in stack):
            skip = 0
            if stack[0].filename.startswith(OWN):
                while skip < len(stack) and stack[skip].filename.startswith(DRIVER):
                    skip += 1
            stack[:] = [entry for entry in stack[skip:] if not entry.filename.startswith(OWN)]
        for related in (report.__cause__, report.__context__):
            if related is not None:
                reports.append(related)
        reports.extend(report.exceptions or ())


def exit_status(error):
    """`(exit code 0-255, text for stderr)` of a `SystemExit`, by CPython's rules. May run guest code (`__str__`)."""
    code = error.code
    if code is None:
        return 0, ""
    if isinstance(code, int):
        code = int.__index__(code)
        # CPython hands a C long to exit(); one that does not fit becomes -1. The system keeps the low 8 bits.
        limit = sys.maxsize
        return (code & 0xFF if -limit - 1 <= code <= limit else 0xFF), ""
    return 1, elide(well_formed(str(code)), MAX_MESSAGE_CHARS)
