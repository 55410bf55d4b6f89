"""Runs the tree of a script: control flow, pipelines, redirections."""

import time

from brumate_shell.streams import Pipe, Refused, Stopped, Streams, decode

from . import conditions, expansion
from .constructs import MAX_LOOP_TURNS, Constructs
from .nodes import (
    AndOr,
    Calculation,
    Case,
    Conditional,
    CountedFor,
    For,
    Function,
    Group,
    If,
    Pipeline,
    Sequence,
    Simple,
    Subshell,
    While,
)  # fmt: skip
from .redirections import Redirections
from .signals import TIMED_OUT, Break, Continue, Exit, Return, TimedOut
from .state import Array, Fatal, State
from .words import ShellSyntaxError

# Substituted commands, scripts and functions inside each other.
MAX_DEPTH = 40

_MISUSE = 2
_STOPPED = 141
# Characters for which `set -x` shows a word in quotes.
_QUOTED = frozenset(" \t\n'\"$&|;<>()*?[]`\\")


class Shell(Constructs, Redirections):
    """One shell: its state, and what it is in the middle of."""

    def __init__(self, depth=0):
        self.state = State()
        self.depth = depth
        self.guard = 0  # in conditions, where `set -e` does not count
        self.loops = 0
        self.turns = 0
        self.streams = None
        self.deadline = None
        self.substituted = None  # status of the last `$(...)` of a command

    def run(self, node, streams):
        """Runs a part of the tree; returns its exit status."""
        return _RUNNERS[type(node)](self, node, streams)

    def deeper(self):
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.depth -= 1
            raise ShellSyntaxError("commands are nested too deeply")

    def check_time(self):
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise TimedOut(status=TIMED_OUT)

    def substitute(self, body):
        """Output of a `$(...)`, without newlines at its end."""
        out, streams = Pipe(), self.streams
        path = _only_input(body)
        if path is not None:
            return self.contents(path).rstrip("\n")
        self.deeper()
        try:
            status = self.in_subshell(body, Streams(streams.input, out, streams.err, self))
        except Stopped:
            if not out.is_full:
                raise
        finally:
            self.depth -= 1
            self.streams = streams
        if out.is_full:
            raise Refused("the output is too long to be passed on")
        self.state.status = self.substituted = status
        return out.text().rstrip("\n").replace("\0", "")

    def contents(self, path):
        """The text of `$(<file)`."""
        try:
            with open(expansion.text(path, self), "rb") as file:
                self.state.status = self.substituted = 0
                return decode(file.read())
        except OSError as error:
            self.state.status = self.substituted = self.report("bash", error, self.streams)
            return ""

    def in_subshell(self, node, streams):
        """Runs a part with a copy of the state; the original is back afterwards."""
        saved, loops = self.state.saved(), self.loops
        self.loops = 0
        try:
            return self.run(node, streams)
        except (Exit, Return) as end:
            return end.status
        except (Break, Continue):
            return 0
        except Fatal as error:
            return self.report("bash", error, streams)
        finally:
            self.loops = loops
            self.state.restore(saved)

    def report(self, name, error, streams):
        """Tells an error of a command; returns its exit status."""
        if isinstance(error, OSError):
            where = f"{error.filename}: " if isinstance(error.filename, str) else ""
            streams.err.write(f"{name}: {where}{error.strerror or error}\n")
            return 1
        streams.err.write(f"{name}: {error}\n")
        return getattr(error, "status", _MISUSE if isinstance(error, ShellSyntaxError) else 1)

    def failed(self, status):
        """Ends the script after a failed command under `set -e`."""
        if status and "errexit" in self.state.options and not self.guard:
            raise Exit(status=status)

    # Lists.

    def sequence(self, node, streams):
        status = 0
        for entry in node.entries:
            status = self.state.status = self.run(entry, streams)
        return status

    def and_or(self, node, streams):
        last = len(node.rest)
        self.guard += 1
        try:
            status = self.state.status = self.run(node.first, streams)
        finally:
            self.guard -= 1
        for number, (operator, pipeline) in enumerate(node.rest, 1):
            if (operator == "&&") == bool(status):
                continue
            if number == last:
                return self.run(pipeline, streams)
            self.guard += 1
            try:
                status = self.state.status = self.run(pipeline, streams)
            finally:
                self.guard -= 1
        return status

    def condition(self, node, streams):
        self.guard += 1
        try:
            return self.run(node, streams)
        finally:
            self.guard -= 1

    def pipeline(self, node, streams):
        began = (time.time(), time.process_time()) if node.timed else None
        self.guard += node.negated
        try:
            if len(node.commands) == 1:
                status = self.run(node.commands[0], streams)
                checked = isinstance(node.commands[0], (Simple, Subshell, Conditional, Calculation))
            else:
                status = self.piped(node.commands, streams)
                checked = True
        finally:
            self.guard -= node.negated
        if began:
            streams.err.write(times(time.time() - began[0], time.process_time() - began[1]))
        if node.negated:
            return int(not status)
        if checked:
            self.failed(status)
        return status

    def piped(self, commands, streams):
        source, statuses = streams.input, []
        last = len(commands) - 1
        for number, command in enumerate(commands):
            pipe = None if number == last else Pipe(_lines_wanted(commands[number + 1]))
            inner = Streams(source, pipe or streams.out, streams.err, self)
            try:
                status = self.in_subshell(command, inner)
            except Stopped:
                if pipe is None or not pipe.is_full:
                    raise
                status = _STOPPED
            statuses.append(status)
            if pipe is not None:
                source = pipe.reader()
        self.state.own["PIPESTATUS"] = Array(enumerate(map(str, statuses)))
        if "pipefail" in self.state.options:
            return next((status for status in reversed(statuses) if status), 0)
        return statuses[-1]

    # Commands.

    def simple(self, node, streams):
        from . import interpreter

        self.check_time()
        self.streams, opened, name = streams, [], "bash"
        self.substituted = None
        try:
            words = expansion.arguments(node.words, self)
            if words:
                name = words[0]
            streams = self.redirected(node.redirections, streams, opened)
            if not words:
                try:
                    for assignment in node.assignments:
                        self.assign(assignment)
                except Refused as error:
                    raise Fatal(str(error)) from None
                self.trace([_shown(assignment, self) for assignment in node.assignments], streams)
                return self.substituted or 0
            self.trace(words, streams)
            if node.assignments:
                return self.with_environment(node.assignments, words, streams)
            return interpreter.call(words, streams)
        except Fatal as error:
            raise Exit(status=self.report("bash", error, streams)) from None
        except Stopped:
            raise
        except (Refused, ShellSyntaxError, OSError, ValueError, OverflowError) as error:
            return self.report(name, error, streams)
        finally:
            for file in opened:
                file.close()

    def with_environment(self, assignments, words, streams):
        """Runs a command with variables of its own."""
        from . import interpreter

        if any([type(one.value) is list or one.index is not None for one in assignments]):
            raise Refused("an array cannot be set for one command", _MISUSE)
        self.state.frames.append({})
        try:
            values = [(one.name, expansion.text(one.value, self, assigned=True)) for one in assignments]
            for name, value in values:
                self.state.make_local(name)
                self.state.set(name, value)
                self.state.export(name)
            return interpreter.call(words, streams)
        finally:
            self.state.leave_function()

    def trace(self, words, streams):
        if "xtrace" in self.state.options and words:
            shown = [word if word and not set(word) & _QUOTED else conditions.quoted(word) for word in map(str, words)]
            streams.err.write("+ " + " ".join(shown) + "\n")


def _with_redirections(method):
    def run(shell, node, streams):
        return shell.compound(node, streams, lambda node, streams: method(shell, node, streams))

    return run


_RUNNERS = {
    Sequence: Shell.sequence,
    AndOr: Shell.and_or,
    Pipeline: Shell.pipeline,
    Simple: Shell.simple,
    Function: Shell.function,
    **{
        kind: _with_redirections(method)
        for kind, method in (
            (Group, Shell.group),
            (Subshell, Shell.subshell),
            (If, Shell.if_),
            (For, Shell.for_),
            (CountedFor, Shell.counted_for),
            (While, Shell.while_),
            (Case, Shell.case),
            (Conditional, Shell.conditional),
            (Calculation, Shell.calculation),
        )
    },
}


def _only_input(body):
    """The word of a `$(<file)`, None of any other command."""
    if len(body.entries) != 1 or type(body.entries[0]) is not Pipeline or len(body.entries[0].commands) != 1:
        return None
    (command,) = body.entries[0].commands
    if type(command) is not Simple or command.words or command.assignments or len(command.redirections) != 1:
        return None
    return command.redirections[0].target if command.redirections[0].operator == "<" else None


def _lines_wanted(command):
    """How many lines `head` takes of its input: what comes before it may be endless. None for all of them."""
    if not isinstance(command, Simple) or not command.words or command.words[0].plain() != "head":
        return None
    words = [word.literal() for word in command.words[1:]]
    if not words:
        return 10
    text = " ".join([word or "" for word in words])
    for prefix in ("-n", "--lines=", "-"):
        digits = text.removeprefix(prefix).strip()
        if text.startswith(prefix) and digits.isdigit():
            return max(int(digits), 1)
    return None


def _shown(assignment, shell):
    value = shell.state.text(assignment.name)
    return f"{assignment.name}={value or ''}"


def times(real, used):
    def shown(seconds):
        return f"{int(seconds // 60)}m{seconds % 60:.3f}s"

    return f"\nreal\t{shown(real)}\nuser\t{shown(used)}\nsys\t{shown(0)}\n"
