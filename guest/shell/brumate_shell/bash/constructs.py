"""Runs control flow: conditions, loops, `case`, functions."""

from brumate_shell import patterns
from brumate_shell.streams import Refused

from . import conditions, expansion
from .arithmetic import calculate
from .signals import Break, Continue, Exit, Return
from .state import Fatal
from .words import ShellSyntaxError

# Turns of all loops of one script.
MAX_LOOP_TURNS = 10_000_000

_MISUSE = 2


class Constructs:
    """Runs the parts of a tree that begin with a keyword. The shell is the subclass."""

    def group(self, node, streams):
        return self.run(node.body, streams)

    def subshell(self, node, streams):
        return self.in_subshell(node.body, streams)

    def if_(self, node, streams):
        for condition, body in node.branches:
            if not self.condition(condition, streams):
                return self.run(body, streams)
        return self.run(node.otherwise, streams) if node.otherwise is not None else 0

    def turn(self):
        """Counts one turn of a loop."""
        self.turns += 1
        if self.turns > MAX_LOOP_TURNS:
            raise Refused(f"a loop takes more than {MAX_LOOP_TURNS:,} turns", _MISUSE)
        self.check_time()

    def looped(self, turns, body, streams):
        """Runs a body once for each of `turns`, an iterator whose steps may run commands."""
        status = 0
        self.loops += 1
        try:
            for _ in turns:
                self.turn()
                try:
                    status = self.run(body, streams)
                except Continue as signal:
                    status = 0
                    if signal.count > 1 and self.loops > 1:
                        raise Continue(signal.count - 1) from None
        except Break as signal:
            status = 0
            if signal.count > 1 and self.loops > 1:
                raise Break(signal.count - 1) from None
        finally:
            self.loops -= 1
        return status

    def for_(self, node, streams):
        values = self.state.arguments
        if node.words is not None:
            values = self.evaluated(lambda: expansion.arguments(node.words, self), "for", streams)
        if values is None:
            return 1

        def turns():
            for value in values:
                self.state.set(node.name, value)
                yield

        return self.looped(turns(), node.body, streams)

    def counted_for(self, node, streams):
        def calculated(word, otherwise=0):
            return calculate(expansion.text(word, self), self.state) if word.parts else otherwise

        def turns():
            self.streams = streams
            calculated(node.first)
            while calculated(node.condition, 1):
                yield
                self.streams = streams
                calculated(node.next)

        found = self.evaluated(lambda: self.looped(turns(), node.body, streams), "((", streams)
        return 1 if found is None else found

    def while_(self, node, streams):
        def turns():
            while bool(self.condition(node.condition, streams)) == node.until:
                yield

        return self.looped(turns(), node.body, streams)

    def case(self, node, streams):
        word = self.evaluated(lambda: expansion.text(node.word, self), "case", streams)
        if word is None:
            return 1
        status, falls = 0, False
        ignore_case = "nocasematch" in self.state.extras
        for forms, body, end in node.branches:
            if not falls:
                found = self.evaluated(
                    lambda forms=forms: any(
                        [patterns.matches(word, expansion.pattern(form, self), ignore_case) for form in forms]
                    ),
                    "case",
                    streams,
                )
                if not found:
                    continue
            status = self.run(body, streams) if body.entries else 0
            falls = end == ";&"
            if end == ";;":
                break
        return status

    def conditional(self, node, streams):
        found = self.evaluated(lambda: conditions.holds(node.expression, self), "[[", streams, _MISUSE)
        self.trace(["[[ ... ]]"], streams)
        return found if type(found) is int else int(not found)

    def calculation(self, node, streams):
        found = self.evaluated(lambda: calculate(expansion.text(node.word, self), self.state), "((", streams)
        return int(not found)

    def function(self, node, streams):
        self.state.functions[node.name] = node.body
        return 0

    def evaluated(self, function, name, streams, failure=None):
        """What `function` returns; `failure` after an error, which is told."""
        self.streams = streams
        try:
            return function()
        except Fatal as error:
            raise Exit(status=self.report("bash", error, streams)) from None
        except (Refused, ShellSyntaxError) as error:
            self.report(name, error, streams)
            return failure

    def call_function(self, name, arguments, streams):
        """Runs a function with arguments of its own."""
        before, loops = self.state.arguments, self.loops
        self.deeper()
        self.state.arguments, self.loops = list(arguments), 0
        self.state.frames.append({})
        try:
            return self.run(self.state.functions[name], streams)
        except Return as end:
            return end.status
        finally:
            self.depth -= 1
            self.loops = loops
            self.state.arguments = before
            self.state.leave_function()
