"""What `input()` and `getpass()` ask in a notebook's cell.

A host that can ask a person puts a function into [`answer`]; without one, asking fails in Jupyter's words.
"""

from .pristine import __builtins__

import builtins
import getpass
import sys

from . import import_hooks

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


def _no_debugger(*_arguments, **_options):
    """`breakpoint()` and `pdb.set_trace()` where nobody can talk to a debugger: says so, and the code goes on."""
    print("No debugger: nobody can talk to it here. The code goes on; print what you want to see.", file=sys.stderr)


class _Pdb:
    # Its own `set_trace`, while ours is in the place of it.
    set_trace = None


def _silence(pdb):
    if sys.breakpointhook is _no_debugger and _Pdb.set_trace is None:
        _Pdb.set_trace, pdb.set_trace = pdb.set_trace, _no_debugger


def install():
    """Done once, at boot."""
    import_hooks.after_import("pdb", _silence)


class Asking:
    """While a cell runs, `input` and `getpass.getpass` ask the host, and nothing waits for a debugger."""

    def __enter__(self):
        self.saved = builtins.input, getpass.getpass
        builtins.input, getpass.getpass = _input, _getpass
        if sys.breakpointhook is sys.__breakpointhook__:
            sys.breakpointhook = _no_debugger
        if "pdb" in sys.modules:
            _silence(sys.modules["pdb"])

    def __exit__(self, *_error):
        # What the cell itself put there stays.
        if builtins.input is _input:
            builtins.input = self.saved[0]
        if getpass.getpass is _getpass:
            getpass.getpass = self.saved[1]
        if sys.breakpointhook is _no_debugger:
            sys.breakpointhook = sys.__breakpointhook__
        if _Pdb.set_trace is not None:
            sys.modules["pdb"].set_trace, _Pdb.set_trace = _Pdb.set_trace, None
