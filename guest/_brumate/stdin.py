"""What `input()` and `getpass()` ask in a notebook's cell.

A host that can ask a person puts a function into [`answer`]; without one, asking fails in Jupyter's words.
"""

from .pristine import __builtins__

import builtins
import getpass
import sys

# `function(prompt, password) -> str`, or None: nobody answers.
answer = None

_REFUSAL = "{} was called, but this frontend does not support input requests."


def request(prompt, password=False):
    """Asks for one line. Raises `StdinNotImplementedError` when nobody can be asked."""
    __tracebackhide__ = True
    if answer is None:
        from IPython.core.error import StdinNotImplementedError

        raise StdinNotImplementedError(_REFUSAL.format("getpass" if password else "raw_input"))
    sys.stdout.flush()
    sys.stderr.flush()
    return answer(prompt, password)


def _input(prompt="", /):
    """Asks for one line of text."""
    __tracebackhide__ = True
    return request(str(prompt))


def _getpass(prompt="Password: ", stream=None):
    """Asks for a password."""
    __tracebackhide__ = True
    return request(prompt, password=True)


_input.__name__ = _input.__qualname__ = "input"
_getpass.__name__ = _getpass.__qualname__ = "getpass"
_input.__module__ = "builtins"


class Asking:
    """While a cell runs, `input` and `getpass.getpass` ask the host."""

    def __enter__(self):
        self.saved = builtins.input, getpass.getpass
        builtins.input, getpass.getpass = _input, _getpass

    def __exit__(self, *_error):
        # What the cell itself put there stays.
        if builtins.input is _input:
            builtins.input = self.saved[0]
        if getpass.getpass is _getpass:
            getpass.getpass = self.saved[1]
