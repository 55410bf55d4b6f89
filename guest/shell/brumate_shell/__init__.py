"""Shell lines without a shell: a small set of file commands, answered inside the interpreter.

`!ls -l *.csv | head -3`, `%%bash` and `x = !cat f` end up here. What can be done is in [`table`]; the rest is refused
by name. Nothing here starts a process.

Modules of this package use the builtins as they are. Its functions below repair them first: a cell may have replaced
some. `streams` alone has its own, for programs write to it while they run.
"""

from _brumate.pristine import Repaired

from .streams import Refused, Streams

__all__ = ["Refused", "Streams", "call", "describe", "run"]


def run(line, streams):
    """Runs a script; returns its exit status. Directory and environment are the caller's again afterwards."""
    with Repaired():
        from .bash import interpreter

        return interpreter.run(line, streams)


def call(name, arguments, streams):
    """Runs one command, which there is; returns its exit status. Raises [`Refused`] for what it cannot do."""
    with Repaired():
        from . import table

        return table.find(name)(arguments, streams) or 0


def describe(name):
    """The text about a command. Raises [`Refused`] if there is none of this name."""
    with Repaired():
        from . import table

        function = table.find(name)
        if function is None:
            raise Refused(table.refusal(name))
        return function.__doc__
