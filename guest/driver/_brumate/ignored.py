"""`sys.unraisablehook`: what CPython prints about exceptions it cannot raise, with source lines.

The built-in hook takes source lines from files, and the guest's program is none.
"""

from .pristine import __builtins__

import sys
import traceback


def install():
    """Replaces the built-in hook. A guest may put its own in place."""
    sys.unraisablehook = print_ignored


def print_ignored(unraisable):
    """Prints to `sys.stderr` in the built-in hook's words. Runs guest code (`__repr__`, `__str__`)."""
    stream = sys.stderr
    if stream is None:
        return
    message = unraisable.err_msg
    if unraisable.object is not None:
        try:
            shown = repr(unraisable.object)
        except Exception:
            shown = "<object repr() failed>"
        parts = [f"{message or 'Exception ignored in'}: {shown}\n"]
    else:
        parts = [f"{message}:\n"] if message else []
    if unraisable.exc_traceback is not None:
        parts.append("Traceback (most recent call last):\n")
        # Built from (frame, line) pairs: no columns, hence no carets.
        parts += traceback.StackSummary.extract(traceback.walk_tb(unraisable.exc_traceback)).format()
    kind, error = unraisable.exc_type, unraisable.exc_value
    if kind is not None:
        name = kind.__qualname__
        if kind.__module__ not in ("builtins", "__main__"):
            name = f"{kind.__module__}.{name}"
        try:
            text = "" if error is None else str(error)
        except Exception:
            text = "<exception str() failed>"
        parts.append(f"{name}: {text}\n" if error is not None else f"{name}\n")
    stream.write("".join(parts))
    stream.flush()
