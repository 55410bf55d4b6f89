"""Names in `jq`: variables, functions, and the patterns behind `as`."""

from . import paths
from .values import JqError, kind


class Scope:
    """Names that are known: variables by name, functions by name and number of parameters."""

    __slots__ = ("parent", "name", "value")

    def __init__(self, parent, name, value):
        self.parent = parent
        self.name = name
        self.value = value


class Closure:
    """A function or argument with the scope it was written in. `own`: it may call itself."""

    __slots__ = ("parameters", "body", "scope", "own")

    def __init__(self, parameters, body, scope, own):
        self.parameters = parameters
        self.body = body
        self.scope = scope
        self.own = own


class Break(Exception):
    def __init__(self, label):
        super().__init__()
        self.label = label


def find(scope, name):
    while scope is not None:
        if scope.name == name:
            return scope
        scope = scope.parent
    return None


class Bindings:
    """What sets variables. The machine is the subclass."""

    def on_bind(self, node, path, value, scope):
        _, source, patterns, body = node
        for one in self.values(source, value, scope):
            for number, pattern in enumerate(patterns):
                names = {name for other in patterns if other is not pattern for name in _names(other)}
                outer = scope
                for name in sorted(names):
                    outer = Scope(outer, "$" + name, None)
                try:
                    for inner in self.bound(pattern, one, value, outer):
                        yield from self.each(body, path, value, inner)
                    break
                except JqError:
                    if number == len(patterns) - 1:
                        raise

    def bound(self, pattern, one, value, scope):
        """Scopes in which the variables of a pattern are set."""
        if pattern[0] == "name":
            yield Scope(scope, "$" + pattern[1], one)
        elif pattern[0] == "list":
            yield from self.bound_list(pattern[1], 0, one, value, scope)
        else:
            yield from self.bound_fields(pattern[1], 0, one, value, scope)

    def bound_list(self, parts, at, one, value, scope):
        if at == len(parts):
            yield scope
            return
        if type(one) not in (list, type(None)):
            raise JqError(f"Cannot index {kind(one)} with number")
        for inner in self.bound(parts[at], paths.get(one, at), value, scope):
            yield from self.bound_list(parts, at + 1, one, value, inner)

    def bound_fields(self, parts, at, one, value, scope):
        if at == len(parts):
            yield scope
            return
        key_node, name, pattern = parts[at]
        for key in self.values(key_node, value, scope):
            found = paths.get(one, key)
            inner = Scope(scope, "$" + name, found) if name is not None else scope
            for last in self.bound(pattern, found, value, inner) if pattern is not None else (inner,):
                yield from self.bound_fields(parts, at + 1, one, value, last)


def _names(pattern):
    if pattern[0] == "name":
        return [pattern[1]]
    if pattern[0] == "list":
        return [name for part in pattern[1] for name in _names(part)]
    found = []
    for _, name, inner in pattern[1]:
        found += [name] if name is not None else []
        found += _names(inner) if inner is not None else []
    return found
