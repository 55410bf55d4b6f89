"""Runs shell lines, and single commands of them."""

import os

from _brumate.programs import Surroundings
from brumate_shell.streams import Refused, Stopped, Streams

from . import syntax
from .executor import Shell
from .signals import Exit, Leave, Return
from .syntax import ShellSyntaxError

_NOT_FOUND = 127
_MISUSE = 2


def run(script, streams):
    """Runs a script; returns its exit status. Directory and environment are the caller's again afterwards."""
    surroundings = Surroundings()
    shell = Shell()
    try:
        return run_inside(script, Streams(streams.input, streams.out, streams.err, shell), shell)
    except Stopped as error:
        streams.err.write(f"bash: {error.strerror}\n")
        return 1
    except RecursionError:
        streams.err.write("bash: commands are nested too deeply\n")
        return _MISUSE
    finally:
        surroundings.give_back()


def run_inside(script, streams, shell):
    """Runs a script in a shell that there is."""
    try:
        tree = syntax.parse(script)
    except ShellSyntaxError as error:
        streams.err.write(f"bash: {error}\n")
        return _MISUSE
    try:
        return shell.run(tree, streams)
    except (Exit, Return) as end:
        return end.status
    except Leave as end:
        return end.status
    except (Refused, ShellSyntaxError) as error:
        return shell.report("bash", error, streams)


def call(words, streams):
    """Runs one command with its arguments; returns its exit status. It may refuse."""
    from brumate_shell import table

    name, shell = words[0], streams.shell
    if shell is not None:
        if name in shell.state.functions:
            return shell.call_function(name, words[1:], streams)
        # Words that are expanded while the command runs read and write where the command does.
        shell.streams = streams
    function = table.find(name)
    if function is None:
        if "/" in name and os.path.isfile(name):
            return _script(name, words[1:], streams)
        raise Refused(table.refusal(name), _NOT_FOUND)
    arguments = words[1:]
    has_help = getattr(function, "has_help", name in ("echo", "printf", "test", "[", "python", "python3"))
    if arguments == ["--help"] and not has_help:
        streams.out.write((function.__doc__ or "") + "\n")
        return 0
    return function(arguments, streams) or 0


def _script(path, arguments, streams):
    """Runs a file that is a script: of the shell or of Python."""
    from brumate_shell import table
    from brumate_shell.tools.python import python

    with open(path, "rb") as file:
        first = file.readline(200)
    if first[:2] == b"#!" and b"python" in first or path.endswith(".py"):
        return python([path, *arguments], streams)
    if first[:2] != b"#!" and not path.endswith(".sh") or (first[:2] == b"#!" and b"sh" not in first):
        raise Refused(table.refusal(path), _NOT_FOUND)
    if not os.access(path, os.X_OK):
        raise Refused("Permission denied: it may not be run (chmod +x)", 126)
    return script_of_its_own(path, arguments, streams)


def script_of_its_own(path, arguments, streams, text=None):
    """Runs a script file, or `text`, in a shell of its own that sees the exported variables."""
    if text is None:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read()
    outer = streams.shell
    shell = Shell(outer.depth if outer is not None else 0)
    shell.deeper()
    shell.deadline = outer.deadline if outer is not None else None
    shell.state.name, shell.state.arguments = path, list(arguments)
    surroundings = Surroundings()
    try:
        return run_inside(text, Streams(streams.input, streams.out, streams.err, shell), shell)
    finally:
        surroundings.give_back()
