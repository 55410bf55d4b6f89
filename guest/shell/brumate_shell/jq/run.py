"""Runs a `jq` program: every part gives any number of values, each with the path it was found at.

A path is None where nobody asks for it, a tuple of keys otherwise, and [`NO_PATH`] for a value that was calculated.
"""

from . import (
    filters,
    functions,
    paths,
    prelude,
    texts,
)
from .scopes import Bindings, Break, Closure, Scope, find
from .values import JqError, calculated, compared, kind, short, truth

NO_PATH = object()


class Machine(Bindings):
    """What a program can reach besides its input: further inputs, named arguments, messages."""

    def __init__(self, inputs, arguments, streams):
        self.inputs = inputs
        self.streams = streams
        self.file = None
        self.scope = None
        for name, value in arguments.items():
            self.scope = Scope(self.scope, "$" + name, value)

    def run(self, tree, value):
        """The values of a program."""
        for _, found in self.each(tree, None, value, self.scope):
            yield found

    def values(self, node, value, scope):
        """The values of a part, without paths."""
        for _, found in self.each(node, None, value, scope):
            yield found

    def each(self, node, path, value, scope):
        """`(path, value)` for each value of a part."""
        return getattr(self, "on_" + node[0])(node, path, value, scope)

    def made(self, path):
        """The path of a value that was calculated."""
        return None if path is None else NO_PATH

    # Values.

    def on_self(self, node, path, value, scope):
        yield path, value

    def on_literal(self, node, path, value, scope):
        yield self.made(path), node[1]

    def on_variable(self, node, path, value, scope):
        if node[1] == "ENV":
            import os

            yield self.made(path), dict(os.environ)
            return
        found = find(scope, "$" + node[1])
        if found is None:
            from brumate_shell.streams import Refused

            raise Refused(f"${node[1]} is not defined", 3)
        yield self.made(path), found.value

    def on_text(self, node, path, value, scope):
        yield from ((self.made(path), text) for text in self.joined(node[1], node[2], len(node[2]), value, scope))

    def joined(self, form, parts, count, value, scope):
        """Texts of the first `count` parts; the last of several values changes slowest."""
        if not count:
            yield ""
            return
        last = parts[count - 1]
        if type(last) is str:
            for head in self.joined(form, parts, count - 1, value, scope):
                yield head + last
            return
        for found in self.values(last, value, scope):
            said = texts.formatted(form or "@text", found)
            for head in self.joined(form, parts, count - 1, value, scope):
                yield head + said

    def on_format(self, node, path, value, scope):
        yield self.made(path), texts.formatted(node[1], value)

    def on_array(self, node, path, value, scope):
        yield self.made(path), [] if node[1] is None else list(self.values(node[1], value, scope))

    def on_object(self, node, path, value, scope):
        for found in self.objects(node[1], 0, value, scope):
            yield self.made(path), found

    def objects(self, pairs, at, value, scope):
        if at == len(pairs):
            yield {}
            return
        # Later pairs vary faster; an object keeps the order in which its keys were written.
        name_node, value_node = pairs[at]
        for name in self.values(name_node, value, scope):
            if type(name) is not str:
                raise JqError(f"Object keys must be strings, not {kind(name)} ({short(name)})")
            for one in self.values(value_node, value, scope):
                for rest in self.objects(pairs, at + 1, value, scope):
                    yield {name: one, **rest}

    def on_negative(self, node, path, value, scope):
        for found in self.values(node[1], value, scope):
            if type(found) not in (int, float):
                raise JqError(f"{kind(found)} ({short(found)}) cannot be negated")
            yield self.made(path), -found

    # Paths.

    def on_index(self, node, path, value, scope):
        for at, container in self.each(node[1], path, value, scope):
            for index in self.values(node[2], value, scope):
                yield self.step(at, container, index), paths.get(container, index)

    def step(self, path, container, key):
        if path is None:
            return None
        if path is NO_PATH:
            raise JqError(f"Invalid path expression with result {short(container)}")
        return (*path, key)

    def on_slice(self, node, path, value, scope):
        for at, container in self.each(node[1], path, value, scope):
            for end in self.values(node[3], value, scope) if node[3] is not None else (None,):
                for start in self.values(node[2], value, scope) if node[2] is not None else (None,):
                    key = {"start": start, "end": end}
                    yield self.step(at, container, key), paths.get(container, key)

    def on_each(self, node, path, value, scope):
        for at, container in self.each(node[1], path, value, scope):
            if type(container) is list:
                for index, one in enumerate(container):
                    yield self.step(at, container, index), one
            elif type(container) is dict:
                for index, one in list(container.items()):
                    yield self.step(at, container, index), one
            else:
                raise JqError(
                    f"Cannot iterate over {kind(container)}" + ("" if container is None else f" ({short(container)})")
                )

    # Control.

    def on_pipe(self, node, path, value, scope):
        for at, found in self.each(node[1], path, value, scope):
            yield from self.each(node[2], at, found, scope)

    def on_comma(self, node, path, value, scope):
        yield from self.each(node[1], path, value, scope)
        yield from self.each(node[2], path, value, scope)

    def on_either(self, node, path, value, scope):
        found = False
        try:
            for at, one in self.each(node[1], path, value, scope):
                if truth(one):
                    found = True
                    yield at, one
        except JqError:
            pass
        if not found:
            yield from self.each(node[2], path, value, scope)

    def on_and(self, node, path, value, scope):
        for first in self.values(node[1], value, scope):
            if not truth(first):
                yield self.made(path), False
                continue
            for second in self.values(node[2], value, scope):
                yield self.made(path), truth(second)

    def on_or(self, node, path, value, scope):
        for first in self.values(node[1], value, scope):
            if truth(first):
                yield self.made(path), True
                continue
            for second in self.values(node[2], value, scope):
                yield self.made(path), truth(second)

    def on_compare(self, node, path, value, scope):
        for second in self.values(node[3], value, scope):
            for first in self.values(node[2], value, scope):
                yield self.made(path), compared(node[1], first, second)

    def on_calculate(self, node, path, value, scope):
        for second in self.values(node[3], value, scope):
            for first in self.values(node[2], value, scope):
                yield self.made(path), calculated(node[1], first, second)

    def on_if(self, node, path, value, scope):
        for condition in self.values(node[1], value, scope):
            yield from self.each(node[2] if truth(condition) else node[3], path, value, scope)

    def on_try(self, node, path, value, scope):
        try:
            yield from self.each(node[1], path, value, scope)
        except JqError as error:
            if type(error.value) is dict and error.value.get("__jq") is not None:
                raise
            if node[2] is not None:
                yield from self.each(node[2], self.made(path), error.value, scope)

    def on_label(self, node, path, value, scope):
        label = object()
        try:
            yield from self.each(node[2], path, value, Scope(scope, "*" + node[1], label))
        except Break as end:
            if end.label is not label:
                raise

    def on_break(self, node, path, value, scope):
        found = find(scope, "*" + node[1])
        if found is None:
            raise JqError(f"$*label-{node[1]} is not defined")
        raise Break(found.value)
        yield  # it is a generator like the others

    def on_reduce(self, node, path, value, scope):
        _, source, pattern, first, step = node
        for at, state in self.each(first, path, value, scope):
            for one in self.values(source, value, scope):
                for inner in self.bound(pattern, one, value, scope):
                    last = None
                    for found in self.each(step, at, state, inner):
                        last = found
                    at, state = last if last is not None else (at, None)
            yield at, state

    def on_foreach(self, node, path, value, scope):
        _, source, pattern, first, step, out = node
        for at, state in self.each(first, path, value, scope):
            for one in self.values(source, value, scope):
                for inner in self.bound(pattern, one, value, scope):
                    steps = self.each(step, at, state, inner)
                    for at, state in steps:
                        yield from self.each(out, at, state, inner)

    # Assignments.

    def on_assign(self, node, path, value, scope):
        _, operator, target, source = node
        if operator == "|=":
            yield self.made(path), self.updated(target, source, value, scope)
            return
        for one in self.values(source, value, scope):
            result = value
            for at, _ in list(self.each(target, (), value, scope)):
                if operator == "=":
                    new = one
                else:
                    old = paths.get_path(result, at)
                    new = (old if truth(old) else one) if operator == "//=" else calculated(operator[:-1], old, one)
                result = paths.set_path(result, at, new)
            yield self.made(path), result

    def updated(self, target, source, value, scope):
        """`|=`: what a filter gives nothing for is deleted."""
        result, gone = value, []
        for at, _ in list(self.each(target, (), value, scope)):
            if at is NO_PATH:
                raise JqError("Invalid path expression")
            for new in self.values(source, paths.get_path(result, at), scope):
                result = paths.set_path(result, at, new)
                break
            else:
                gone.append(at)
        return paths.delete_paths(result, gone)

    # Functions.

    def on_where(self, node, path, value, scope):
        _, name, parameters, body, rest = node
        inner = Scope(scope, f"{name}/{len(parameters)}", None)
        inner.value = Closure(parameters, body, inner, True)
        return self.each(rest, path, value, inner)

    def on_call(self, node, path, value, scope):
        name, arguments = node[1], node[2]
        full = f"{name}/{len(arguments)}"
        found = find(scope, full)
        if found is not None:
            return self.called(found.value, arguments, path, value, scope)
        native = filters.WITH_PATHS.get(full)
        if native is not None:
            return native(self, arguments, path, value, scope)
        plain = functions.PLAIN.get(full)
        if plain is not None:
            return self.applied(plain, arguments, path, value, scope)
        closure = prelude.find(full)
        if closure is None:
            from brumate_shell.streams import Refused

            raise Refused(f"{full} is not defined", 3)
        return self.called(closure, arguments, path, value, scope)

    def called(self, closure, arguments, path, value, scope):
        inner = closure.scope
        by_value = []
        for parameter, argument in zip(closure.parameters, arguments, strict=True):
            if parameter[0] == "$":
                by_value.append((parameter, argument))
                parameter = parameter[1:]
            if argument[0] == "call" and not argument[2]:
                # An argument that is itself an argument is passed on as it is.
                passed = find(scope, argument[1] + "/0")
                if passed is not None:
                    inner = Scope(inner, parameter + "/0", passed.value)
                    continue
            inner = Scope(inner, parameter + "/0", Closure((), argument, scope, False))
        if not by_value:
            return self.each(closure.body, path, value, inner)
        return self.with_values(closure.body, by_value, 0, path, value, scope, inner)

    def with_values(self, body, by_value, at, path, value, scope, inner):
        if at == len(by_value):
            yield from self.each(body, path, value, inner)
            return
        for one in self.values(by_value[at][1], value, scope):
            found = Scope(inner, by_value[at][0], one)
            yield from self.with_values(body, by_value, at + 1, path, value, scope, found)

    def applied(self, function, arguments, path, value, scope):
        """A function of values: called for every combination of its arguments."""
        for found in self.combined(arguments, value, scope):
            try:
                result = function(value, *found)
            except (TypeError, ValueError, AttributeError, LookupError):
                given = ", ".join([f"{kind(one)} ({short(one)})" for one in (value, *found)])
                raise JqError(f"the function cannot be used with {given}") from None
            yield self.made(path), result

    def combined(self, arguments, value, scope):
        if not arguments:
            yield ()
            return
        for last in self.values(arguments[-1], value, scope):
            for rest in self.combined(arguments[:-1], value, scope):
                yield (*rest, last)
