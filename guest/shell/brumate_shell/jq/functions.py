"""The functions of `jq` that are written in Python."""

import math

from . import paths, texts
from .values import JqError, compared, dumped, key, kind, short, truth, whole


def need(value, wanted, what):
    if kind(value) != wanted:
        raise JqError(f"{kind(value)} ({short(value)}) {what}")
    return value


def _length(value):
    if value is None:
        return 0
    if type(value) in (str, list, dict):
        return len(value)
    if type(value) in (int, float):
        return abs(value)
    raise JqError(f"boolean ({short(value)}) has no length")


def _keys(value):
    if type(value) is dict:
        return sorted(value)
    if type(value) is list:
        return list(range(len(value)))
    raise JqError(f"{kind(value)} ({short(value)}) has no keys")


def _has(value, name):
    if type(value) is dict and type(name) is str:
        return name in value
    if type(value) is list and type(name) in (int, float):
        return 0 <= name < len(value)
    raise JqError(f"Cannot check whether {kind(value)} has a {kind(name)} key")


def _contains(a, b):
    if type(a) is dict and type(b) is dict:
        return all([name in a and _contains(a[name], one) for name, one in b.items()])
    if type(a) is list and type(b) is list:
        return all([any([kind(x) == kind(y) and _contains(x, y) for x in a]) for y in b])
    if type(a) is str and type(b) is str:
        return b in a
    if kind(a) == kind(b):
        return compared("==", a, b)
    raise JqError(f"{kind(a)} ({short(a)}) and {kind(b)} ({short(b)}) cannot have their containment checked")


def _add(value):
    items = list(value.values()) if type(value) is dict else need(value, "array", "cannot be iterated over")
    if items and all([type(one) is str for one in items]):
        return "".join(items)
    if items and all([type(one) is list for one in items]):
        return [inner for one in items for inner in one]
    from .values import calculated

    total = None
    for one in items:
        total = calculated("+", total, one)
    return total


def _from_entries(value):
    found = {}
    for one in value if type(value) is list else value.values():
        name = None
        for field in ("key", "k", "name", "Name", "Key", "K"):
            if type(one) is dict and one.get(field) is not None and one.get(field) is not False:
                name = one[field]
                break
        else:
            name = one.get("key") if type(one) is dict else paths.get(one, "key")
        if type(name) is not str:
            name = "null" if name is None else texts.text(name)
        content = None
        for field in ("value", "v", "Value", "V"):
            if field in one and one[field] is not None:
                content = one[field]
                break
        found[name] = content
    return found


def _by(value, keys, what):
    """Sorting and grouping by the values of a filter, which are in `keys`."""
    need(value, "array", "cannot be sorted, as it is not an array")
    pairs = [(key(order), one) for order, one in zip(keys, value, strict=True)]
    if what == "min" or what == "max":
        if not pairs:
            return None
        best = pairs[0]
        for pair in pairs[1:]:
            if (what == "min" and pair[0] < best[0]) or (what == "max" and pair[0] >= best[0]):
                best = pair
        return best[1]
    pairs.sort(key=lambda pair: pair[0])
    if what == "sort":
        return [one for _, one in pairs]
    groups, before = [], None
    for order, one in pairs:
        if groups and order == before:
            groups[-1].append(one)
        else:
            groups.append([one])
        before = order
    return groups if what == "group" else [group[0] for group in groups]


def _sort(value):
    return sorted(need(value, "array", "cannot be sorted, as it is not an array"), key=key)


def _unique(value):
    return _by(value, value, "unique")


def _flatten(value, depth=1 << 30):
    if type(value) is dict:
        value = list(value.values())
    if depth < 0:
        raise JqError("flatten depth must not be negative")
    found = []
    for one in need(value, "array", "cannot be iterated over"):
        found += _flatten(one, depth - 1) if type(one) is list and depth > 0 else [one]
    return found


def _indices(value, part):
    if value is None:
        return None
    if type(value) is str and type(part) is str:
        found, at = [], value.find(part)
        while at >= 0 and part:
            found.append(at)
            at = value.find(part, at + 1)
        return found
    if type(part) is list:
        return paths.get(value, part)
    return [at for at, one in enumerate(value) if compared("==", one, part)]


def _transpose(value):
    size = max([len(row) for row in value], default=0)
    return [[row[at] if at < len(row) else None for row in value] for at in range(size)]


def _tonumber(value):
    if type(value) in (int, float):
        return value
    if type(value) is not str:
        raise JqError(f"{kind(value)} ({short(value)}) cannot be parsed as a number")
    try:
        return int(value) if value.strip().lstrip("-").isdigit() else whole(float(value))
    except ValueError:
        raise JqError(
            f"Invalid numeric literal at EOF at line 1, column {len(value)} (while parsing '{value}')"
        ) from None


def _min(value, most=False):
    return _by(value, value, "max" if most else "min")


def _error(value, message):
    raise JqError(message)


def _of_number(function):
    def run(value):
        need(value, "number", "number required")
        try:
            return whole(float(function(value)))
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan

    return run


def _of_two(function):
    def run(value, a, b):
        try:
            return whole(float(function(a, b)))
        except (OverflowError, ZeroDivisionError):
            return math.inf
        except ValueError:
            return math.nan

    return run


def _log(value):
    return -math.inf if value == 0 else math.log(value)


def _env(value):
    import os

    return dict(os.environ)


PLAIN = {
    "not/0": lambda v: not truth(v),
    "length/0": _length,
    "utf8bytelength/0": lambda v: len(need(v, "string", "only strings have UTF-8 byte length").encode()),
    "keys/0": _keys,
    "keys_unsorted/0": lambda v: list(v) if type(v) is dict else _keys(v),
    "has/1": _has,
    "contains/1": _contains,
    "add/0": _add,
    "any/0": lambda v: any([truth(one) for one in (v.values() if type(v) is dict else v)]),
    "all/0": lambda v: all([truth(one) for one in (v.values() if type(v) is dict else v)]),
    "from_entries/0": _from_entries,
    "_by/2": _by,
    "sort/0": _sort,
    "unique/0": _unique,
    "min/0": _min,
    "max/0": lambda v: _min(v, True),
    "reverse/0": lambda v: (
        v[::-1]
        if type(v) in (list, str)
        else []
        if v is None
        else need(v, "array", "cannot be reversed, as it is not an array")
    ),
    "flatten/0": _flatten,
    "flatten/1": _flatten,
    "indices/1": _indices,
    "index/1": lambda v, part: next(iter(_indices(v, part) or ()), None),
    "rindex/1": lambda v, part: ([None] + (_indices(v, part) or []))[-1],
    "transpose/0": _transpose,
    "tonumber/0": _tonumber,
    "tostring/0": lambda v: texts.text(v),
    "tojson/0": dumped,
    "type/0": kind,
    "infinite/0": lambda v: math.inf,
    "nan/0": lambda v: math.nan,
    "isinfinite/0": lambda v: math.isinf(v),
    "isnan/0": lambda v: v != v,
    "isnormal/0": lambda v: math.isfinite(v) and v != 0,
    "null/0": lambda v: None,
    "error/0": lambda v: _error(v, v),
    "error/1": _error,
    "floor/0": _of_number(math.floor),
    "ceil/0": _of_number(math.ceil),
    "round/0": _of_number(lambda v: math.floor(abs(v) + 0.5) * (1 if v >= 0 else -1)),
    "trunc/0": _of_number(math.trunc),
    "sqrt/0": _of_number(math.sqrt),
    "fabs/0": _of_number(abs),
    "abs/0": lambda v: -v if need(v, "number", "has no absolute value") < 0 else v,
    "exp/0": _of_number(math.exp),
    "exp2/0": _of_number(lambda v: 2.0**v),
    "exp10/0": _of_number(lambda v: 10.0**v),
    "log/0": _of_number(_log),
    "log2/0": _of_number(lambda v: math.log2(v) if v else -math.inf),
    "log10/0": _of_number(lambda v: math.log10(v) if v else -math.inf),
    "sin/0": _of_number(math.sin),
    "cos/0": _of_number(math.cos),
    "tan/0": _of_number(math.tan),
    "atan/0": _of_number(math.atan),
    "pow/2": _of_two(lambda a, b: a**b),
    "atan2/2": _of_two(math.atan2),
    "fmod/2": _of_two(math.fmod),
    "env/0": _env,
    "setpath/2": lambda v, path, new: paths.set_path(v, path, new),
    "delpaths/1": lambda v, gone: paths.delete_paths(v, gone),
    "toarray/0": lambda v: v if type(v) is list else [v],
    "halt/0": lambda v: _halt(v, 0),
    "halt_error/0": lambda v: _halt(v, 5),
    "halt_error/1": lambda v, status: _halt(v, status),
    "builtins/0": lambda v: sorted([name for name in PLAIN if name[0] != "_"]),
    "input_line_number/0": lambda v: 0,
    **texts.FUNCTIONS,
}


class Halt(Exception):
    def __init__(self, value, status):
        super().__init__()
        self.value = value
        self.status = status


def _halt(value, status):
    raise Halt(value, status)
