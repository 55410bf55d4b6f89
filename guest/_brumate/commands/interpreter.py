"""Runs shell lines: pipelines one command after the other, with what passes between them kept in memory."""

from ..pristine import __builtins__

import io
import os

from . import expansion, syntax
from .syntax import ShellSyntaxError

# Bytes that one command of a pipeline passes to the next, and of a substituted command.
MAX_PIPE_BYTES = 64 << 20
# Commands inside commands.
MAX_DEPTH = 20

_NOT_FOUND = 127
_MISUSE = 2


class Refused(Exception):
    """A command that cannot do what it was asked; the text says why. `status` is its exit status."""

    def __init__(self, message, status=1):
        super().__init__(message)
        self.status = status


class Streams:
    """What a command reads and writes: binary input, text output and errors."""

    __slots__ = ("input", "out", "err")

    def __init__(self, input, out, err):
        self.input = input
        self.out = out
        self.err = err


class _Pipe(io.StringIO):
    """Takes a command's output, up to a limit."""

    written = 0

    def write(self, text):
        self.written += len(text)
        if self.written > MAX_PIPE_BYTES:
            raise Refused("the output is too long to be passed on")
        return super().write(text)


class _File:
    """A redirection's target: text goes into the file as UTF-8, with lone surrogates as the bytes they stand for."""

    def __init__(self, path, append):
        self.file = open(path, "ab" if append else "wb")

    def write(self, text):
        return self.file.write(text.encode("utf-8", "surrogateescape"))

    def flush(self):
        self.file.flush()

    def close(self):
        self.file.close()


class Context:
    """What one script has: its last status, and how deep it is nested."""

    def __init__(self, depth, err):
        self.status = 0
        self.depth = depth
        self.err = err

    def substitute(self, script):
        """Output of a script, without newlines at its end."""
        out = _Pipe()
        self.status = run(script, out, self.err, depth=self.depth + 1)
        return out.getvalue().rstrip("\n")


class _Exit(Exception):
    pass


def run(script, out, err, input=b"", depth=0):
    """Runs a script; returns its exit status. Directory and environment are the caller's again afterwards.

    `out` and `err` are text streams.
    """
    if depth > MAX_DEPTH:
        err.write("sh: commands are nested too deeply\n")
        return _MISUSE
    try:
        entries = syntax.parse(script)
    except ShellSyntaxError as error:
        err.write(f"sh: {error}\n")
        return _MISUSE
    context = Context(depth, err)
    before, environment = _directory(), dict(os.environ)
    try:
        for connector, pipeline in entries:
            if connector == "&&" and context.status or connector == "||" and not context.status:
                continue
            context.status = _pipeline(pipeline, context, Streams(io.BytesIO(input), out, err))
    except _Exit as end:
        context.status = end.args[0]
    finally:
        if before is not None and _directory() != before:
            os.chdir(before)
        if dict(os.environ) != environment:
            os.environ.clear()
            os.environ.update(environment)
    return context.status


def _directory():
    try:
        return os.getcwd()
    except OSError:
        return None


def _pipeline(pipeline, context, streams):
    status, source = 0, streams.input
    for number, command in enumerate(pipeline):
        last = number == len(pipeline) - 1
        pipe = None if last else _Pipe()
        status = _command(command, context, Streams(source, streams.out if last else pipe, streams.err))
        if pipe is not None:
            source = io.BytesIO(pipe.getvalue().encode("utf-8", "surrogateescape"))
    return status


def _command(command, context, streams):
    opened = []
    name = "sh"
    try:
        words = expansion.arguments(command.words, context)
        streams = _redirect(command, context, streams, opened)
        words = _assign(words)
        if not words:
            return 0
        name = words[0]
        return _call(name, words[1:], context, streams)
    except (Refused, ShellSyntaxError) as error:
        streams.err.write(f"{name}: {error}\n")
        return getattr(error, "status", _MISUSE)
    except OSError as error:
        where = f"{error.filename}: " if isinstance(error.filename, str) else ""
        streams.err.write(f"{name}: {where}{error.strerror or error}\n")
        return 1
    except UnicodeError as error:
        streams.err.write(f"{name}: {error}\n")
        return 1
    finally:
        for file in opened:
            file.close()


def _redirect(command, context, streams, opened):
    source, out, err = streams.input, streams.out, streams.err

    def open_file(path, append):
        if path == "/dev/null":
            return io.StringIO()
        opened.append(_File(path, append))
        return opened[-1]

    for operator, target in command.redirections:
        if operator == "2>&1":
            err = out
        elif operator in ("1>&2", ">&2"):
            out = err
        elif operator == "<":
            opened.append(open(expansion.text(target, context), "rb"))
            source = opened[-1]
        elif operator in ("<<", "<<<"):
            text = expansion.text(target, context) + ("\n" if operator == "<<<" else "")
            source = io.BytesIO(text.encode("utf-8", "surrogateescape"))
        else:
            file = open_file(expansion.text(target, context), operator.endswith(">>"))
            if operator[0] != "2":
                out = file
            if operator[0] in "2&":
                err = file
    return Streams(source, out, err)


def _assign(words):
    """Takes `NAME=value` from the front of a command. They stay for the rest of the script."""
    while words:
        name, equals, value = words[0].partition("=")
        if not equals or not name.isidentifier():
            break
        os.environ[name] = value
        words = words[1:]
    return words


def _call(name, arguments, context, streams):
    from . import table

    if name == "exit":
        raise _Exit(int(arguments[0]) & 0xFF if arguments and arguments[0].isdigit() else context.status)
    if name in (".", "source", "bash", "sh") and arguments and not arguments[0].startswith("-"):
        with open(arguments[0], encoding="utf-8", errors="surrogateescape") as file:
            return run(file.read(), streams.out, streams.err, depth=context.depth + 1)
    if name in ("bash", "sh") and arguments[:1] and arguments[0] in ("-c", "-lc") and len(arguments) > 1:
        return run(arguments[1], streams.out, streams.err, streams.input.read(), depth=context.depth + 1)
    function = table.find(name)
    if function is None:
        raise Refused(table.refusal(name), _NOT_FOUND)
    return function(arguments, streams) or 0
