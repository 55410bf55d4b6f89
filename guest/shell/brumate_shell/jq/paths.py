"""Reading, setting and deleting parts of JSON values by their paths."""

import math

from .values import JqError, key, kind, short

# Longest array that is made by setting an element behind its end.
MAX_ELEMENTS = 10_000_000


def get(value, index):
    """`value[index]`; a slice is an object with `start` and `end`."""
    of, by = type(value), type(index)
    if by is str:
        if of is dict:
            return value.get(index)
        if value is None:
            return None
        raise JqError(f'Cannot index {kind(value)} with "{index}"')
    if by in (int, float):
        if of is list:
            if index != index:
                return None
            place = math.floor(index)
            place += len(value) if place < 0 else 0
            return value[place] if 0 <= place < len(value) else None
        if value is None:
            return None
        raise JqError(f"Cannot index {kind(value)} with number")
    if by is dict and of in (list, str, type(None)):
        if value is None:
            return None
        start, end = bounds(value, index)
        return value[start:end]
    if by is list and of is list:
        return [at for at in range(len(value) - len(index) + 1) if index and value[at : at + len(index)] == index]
    if by is dict:
        raise JqError(f"Cannot index {kind(value)} with object")
    raise JqError(f"Cannot index {kind(value)} with {kind(index)}")


def bounds(value, index):
    """Where a slice begins and ends."""
    size = len(value)
    start, end = index.get("start"), index.get("end")
    for one in (start, end):
        if one is not None and type(one) not in (int, float):
            raise JqError("Start and end indices of an array slice must be numbers")
    start = 0 if start is None else math.floor(start)
    end = size if end is None else math.ceil(end)
    start, end = [max(one + size, 0) if one < 0 else min(one, size) for one in (start, end)]
    return start, max(start, end)


def get_path(value, path):
    for index in path:
        if value is None:
            return None
        value = get(value, index)
    return value


def set_path(value, path, new):
    """The value with a part replaced; what leads there is made."""
    if path is None or type(path) not in (tuple, list):
        raise JqError("Invalid path expression")
    if not path:
        return new
    index, rest = path[0], path[1:]
    if type(index) is dict:
        if value is not None and type(value) is not list:
            raise JqError(f"Cannot update field at object index of {kind(value)}")
        before = value or []
        start, end = bounds(before, index)
        inner = set_path(before[start:end] if value is not None else None, rest, new)
        if type(inner) is not list:
            raise JqError("A slice of an array can only be assigned another array")
        return before[:start] + inner + before[end:]
    inner = set_path(get(value, index), rest, new)
    if type(index) is str:
        return {**(value or {}), index: inner}
    found = list(value or [])
    place = math.floor(index)
    if place < 0:
        place += len(found)
        if place < 0:
            raise JqError("Out of bounds negative array index")
    if place >= MAX_ELEMENTS:
        raise JqError("Array index too large")
    found += [None] * (place + 1 - len(found))
    found[place] = inner
    return found


def delete_paths(value, paths):
    for path in sorted(paths, key=lambda path: key(list(path)), reverse=True):
        value = _deleted(value, list(path))
    return value


def _deleted(value, path):
    if not path:
        return None
    if value is None:
        return None
    index, rest = path[0], path[1:]
    if rest:
        inner = get(value, index)
        return value if inner is None else set_path(value, [index], _deleted(inner, rest))
    if type(value) is dict and type(index) is str:
        return {name: one for name, one in value.items() if name != index}
    if type(value) is list and type(index) is dict:
        start, end = bounds(value, index)
        return value[:start] + value[end:]
    if type(value) is list and type(index) in (int, float):
        place = math.floor(index)
        place += len(value) if place < 0 else 0
        return value[:place] + value[place + 1 :] if 0 <= place < len(value) else value
    raise JqError(f"Cannot delete field at {kind(index)} index of {kind(value)} ({short(value)})")


def leaves(value, path=()):
    """`(path, value)` for a value and everything in it."""
    stack = [(path, value)]
    while stack:
        at, one = stack.pop()
        yield at, one
        if type(one) is list:
            stack += [
                (None if at is None else (*at, number), inner) for number, inner in reversed(list(enumerate(one)))
            ]
        elif type(one) is dict:
            stack += [(None if at is None else (*at, name), inner) for name, inner in reversed(list(one.items()))]
