"""The functions of `jq` that take filters as arguments. Each one gets the machine, the nodes of its arguments, the path
and the value of its input, and the scope."""

from . import paths, texts
from .functions import need
from .values import JqError, dumped, short, truth

# Most numbers from one `range`, and most steps of one `while`.
MAX_TURNS = 100_000_000


def _empty(machine, arguments, path, value, scope):
    return iter(())


def _recurse(machine, arguments, path, value, scope):
    return paths.leaves(value, path)


def _path(machine, arguments, path, value, scope):
    from .run import NO_PATH

    for at, found in machine.each(arguments[0], (), value, scope):
        if at is NO_PATH:
            raise JqError(f"Invalid path expression with result {short(found)}")
        yield machine.made(path), list(at)


def _getpath(machine, arguments, path, value, scope):
    for one in machine.values(arguments[0], value, scope):
        need(one, "array", "is not a path")
        at = None if path is None else (*path, *one) if type(path) is tuple else path
        yield at, paths.get_path(value, one)


def _limit(machine, arguments, path, value, scope):
    for count in machine.values(arguments[0], value, scope):
        if count <= 0:
            continue
        for found in machine.each(arguments[1], path, value, scope):
            yield found
            count -= 1
            if count <= 0:
                break


def _skip(machine, arguments, path, value, scope):
    for count in machine.values(arguments[0], value, scope):
        for number, found in enumerate(machine.each(arguments[1], path, value, scope)):
            if number >= count:
                yield found


def _first(machine, arguments, path, value, scope):
    for found in machine.each(arguments[0], path, value, scope):
        yield found
        return


def _last(machine, arguments, path, value, scope):
    found = None
    for one in machine.each(arguments[0], path, value, scope):
        found = one
    if found is not None:
        yield found


def _isempty(machine, arguments, path, value, scope):
    yield machine.made(path), next(iter(machine.values(arguments[0], value, scope)), machine) is machine


def _any_or_all(wanted):
    def run(machine, arguments, path, value, scope):
        for one in machine.values(arguments[0], value, scope):
            if any([truth(found) == wanted for found in machine.values(arguments[1], one, scope)]):
                yield machine.made(path), wanted
                return
        yield machine.made(path), not wanted

    return run


def _range(machine, arguments, path, value, scope):
    if len(arguments) == 1:
        arguments = [("literal", 0), *arguments]
    for found in machine.combined(arguments, value, scope):
        start, end, step = (*found, 1)[:3]
        for one in (start, end, step):
            need(one, "number", "Range bounds must be numeric")
        turns = 0
        while (start < end if step > 0 else start > end) and step:
            yield machine.made(path), start
            start += step
            turns += 1
            if turns > MAX_TURNS:
                raise JqError("too many numbers")


def _while(machine, arguments, path, value, scope):
    turns, stack = 0, [iter([(path, value)])]
    while stack:
        for at, one in stack[-1]:
            if truth(next(iter(machine.values(arguments[0], one, scope)), False)):
                yield at, one
                stack.append(machine.each(arguments[1], at, one, scope))
                break
        else:
            stack.pop()
        turns += 1
        if turns > MAX_TURNS:
            raise JqError("too many turns")


def _until(machine, arguments, path, value, scope):
    stack = [iter([(path, value)])]
    while stack:
        for at, one in stack[-1]:
            if truth(next(iter(machine.values(arguments[0], one, scope)), False)):
                yield at, one
            else:
                stack.append(machine.each(arguments[1], at, one, scope))
                break
        else:
            stack.pop()


def _repeat(machine, arguments, path, value, scope):
    at, one = path, value
    while True:
        yield at, one
        following = next(iter(machine.each(arguments[0], at, one, scope)), None)
        if following is None:
            return
        at, one = following


def _input(machine, arguments, path, value, scope):
    for one in machine.inputs:
        yield machine.made(path), one
        return
    raise JqError("No more inputs")


def _inputs(machine, arguments, path, value, scope):
    for one in machine.inputs:
        yield machine.made(path), one


def _debug(machine, arguments, path, value, scope):
    machine.streams.err.write(dumped(["DEBUG:", value]) + "\n")
    yield path, value


def _stderr(machine, arguments, path, value, scope):
    machine.streams.err.write(dumped(value))
    yield path, value


def _input_filename(machine, arguments, path, value, scope):
    yield machine.made(path), machine.file


def _sub(machine, arguments, path, value, scope, everywhere):
    """Runs `sub`, or `gsub` with `everywhere`. The replacement is a filter whose input is an object with the named
    groups."""
    flags = machine.values(arguments[2], value, scope) if len(arguments) > 2 else (None,)
    for flag in flags:
        for expression in machine.values(arguments[0], value, scope):
            whole_flags = (flag or "") + ("g" if everywhere else "")
            found = texts.matches(value, expression, whole_flags)
            results = [("", 0)]
            for match in found:
                names = {one["name"]: one["string"] for one in match["captures"] if one["name"] is not None}
                start, end = match["offset"], match["offset"] + match["length"]
                results = [
                    (head + value[at:start] + need(new, "string", "cannot be added to a string"), end)
                    for new in machine.values(arguments[1], names, scope)
                    for head, at in results
                ]
            for head, at in results:
                yield machine.made(path), head + value[at:]


def _gsub(machine, arguments, path, value, scope):
    return _sub(machine, arguments, path, value, scope, True)


def _sub_once(machine, arguments, path, value, scope):
    return _sub(machine, arguments, path, value, scope, False)


def _match(machine, arguments, path, value, scope):
    for flags in machine.values(arguments[1], value, scope):
        for expression in machine.values(arguments[0], value, scope):
            if type(expression) is list:
                expression, flags = (*expression, None)[:2]
            for found in texts.matches(value, expression, flags):
                yield machine.made(path), found


def _test(machine, arguments, path, value, scope):
    for flags in machine.values(arguments[1], value, scope):
        for expression in machine.values(arguments[0], value, scope):
            if type(expression) is list:
                expression, flags = (*expression, None)[:2]
            yield machine.made(path), bool(texts.matches(value, expression, flags, first=True))


WITH_PATHS = {
    "empty/0": _empty,
    "recurse/0": _recurse,
    "path/1": _path,
    "getpath/1": _getpath,
    "limit/2": _limit,
    "skip/2": _skip,
    "first/1": _first,
    "last/1": _last,
    "isempty/1": _isempty,
    "any/2": _any_or_all(True),
    "all/2": _any_or_all(False),
    "range/1": _range,
    "range/2": _range,
    "range/3": _range,
    "while/2": _while,
    "until/2": _until,
    "repeat/1": _repeat,
    "input/0": _input,
    "inputs/0": _inputs,
    "debug/0": _debug,
    "stderr/0": _stderr,
    "input_filename/0": _input_filename,
    "sub/2": _sub_once,
    "sub/3": _sub_once,
    "gsub/2": _gsub,
    "gsub/3": _gsub,
    "match/2": _match,
    "test/2": _test,
}
