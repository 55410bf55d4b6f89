"""Values out of a figure's dictionaries, whatever stands there: numbers, texts, flags and lists.

[`plain`] goes over a figure once. The other functions read what it made, and give a default for what does not fit.
"""

import binascii
import math

import numpy

# Depth of a figure's dictionaries and lists.
_MAX_DEPTH = 24
# Elements of a list that are looked at to see whether it has dictionaries in it.
_LOOKED_AT = 1000
# How plotly names the types of arrays, and how numpy does.
_TYPES = {name: f"<{name}" for name in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")} | {"u1c": "<u1"}


class Unreadable(Exception):
    """What a trace lacks, so that it cannot be drawn."""


def plain(value, depth=0):
    """Returns dictionaries, lists and arrays for what a figure may have instead: plotly's objects, tuples, series, and
    arrays in base64."""
    if depth > _MAX_DEPTH:
        return None
    if isinstance(value, dict):
        if "bdata" in value:
            return _decoded(value)
        return {str(name): plain(entry, depth + 1) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        if any(_has_parts(entry) for entry in value[:_LOOKED_AT]):
            return [plain(entry, depth + 1) for entry in value]
        return list(value)
    if value is None or isinstance(value, (str, int, float, numpy.ndarray)):
        return value
    return _converted(value, depth)


def _has_parts(value):
    return isinstance(value, (dict, list, tuple)) or _has(value, "to_plotly_json") or _has(value, "__array__")


def _has(value, name):
    """Whether an object has an attribute; not, when asking for it fails."""
    try:
        return hasattr(value, name)
    except Exception:
        return False


def _converted(value, depth):
    """Returns what stands for an object of another library."""
    if _has(value, "to_plotly_json"):
        return plain(value.to_plotly_json(), depth + 1)
    if isinstance(value, numpy.generic) or not _has(value, "__array__"):
        if isinstance(value, (range, set, frozenset)):
            return list(value)
        return value
    array = numpy.asarray(value)
    return array if array.ndim else value


def _decoded(value):
    """Returns the array that plotly encodes as its type, its bytes in base64, and its shape."""
    try:
        data = value["bdata"]
        content = binascii.a2b_base64(data) if isinstance(data, str) else bytes(data)
        array = numpy.frombuffer(content, _TYPES[value["dtype"]])
        shape = value.get("shape")
        if shape is None:
            return array
        sides = shape.split(",") if isinstance(shape, str) else numpy.atleast_1d(shape)
        return array.reshape([int(side) for side in sides])
    except (KeyError, TypeError, ValueError, binascii.Error):
        return numpy.zeros(0)


def get(node, path, default=None):
    """Returns what stands under names separated by dots; the default for nothing and for None."""
    for name in path.split("."):
        if not isinstance(node, dict):
            return default
        node = node.get(name)
    return default if node is None else node


def child(node, path):
    """Returns a dictionary; an empty one for anything else."""
    value = get(node, path)
    return value if isinstance(value, dict) else {}


def as_number(value, default=None):
    """Returns a finite number for a number, or for a text that is one."""
    if isinstance(value, (bool, numpy.bool_)):
        return default
    try:
        value = float(value) if isinstance(value, (int, float, str, numpy.number)) else math.nan
    except (ValueError, OverflowError):
        return default
    return value if math.isfinite(value) else default


def num(node, path, default=None, low=-1e300, high=1e300):
    """Returns a number within bounds."""
    value = as_number(get(node, path))
    return default if value is None else min(max(value, low), high)


def flag(node, path, default=False):
    """Returns True or False."""
    value = get(node, path)
    return bool(value) if isinstance(value, (bool, numpy.bool_)) else default


def word(node, path, default=""):
    """Returns a text; a number as the text that JavaScript makes of it."""
    value = get(node, path)
    return default if value is None or isinstance(value, (dict, list, numpy.ndarray)) else shown(value)


def title_of(node):
    """Returns the text of a node's title, which may be the text itself."""
    title = get(node, "title")
    return title if isinstance(title, str) else word(node, "title.text")


def choice(node, path, options, default=None):
    """Returns one of the options; the first one, or the default, for anything else."""
    value = get(node, path)
    if isinstance(value, str) and value in options:
        return value
    return options[0] if default is None else default


def is_list(value):
    """Whether a value has elements."""
    return isinstance(value, list) or (isinstance(value, numpy.ndarray) and value.ndim > 0)


def listed(node, path):
    """Returns a list or an array; an empty list for anything else."""
    value = get(node, path)
    return value if is_list(value) else []


def nodes(node, path):
    """Returns the dictionaries of a list."""
    value = get(node, path)
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def pair(node, path):
    """Returns two numbers as `(a, b)`; None when there are not two."""
    value = get(node, path)
    if not is_list(value) or len(value) != 2:
        return None
    first, second = as_number(value[0]), as_number(value[1])
    return None if first is None or second is None else (first, second)


def shown(value):
    """Returns a value as the text that JavaScript makes of it."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, numpy.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, numpy.integer)):
        return str(int(value)) if abs(int(value)) < 10**21 else f"{min(max(value, -(10**300)), 10**300) / 1:.6g}"
    if isinstance(value, (float, numpy.floating)):
        return _shown_float(float(value))
    if isinstance(value, numpy.datetime64):
        return str(value).replace("T00:00:00.000000000", "").replace("T", " ")
    if value is None:
        return ""
    return str(value)


def _shown_float(value):
    if not math.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if value == int(value) and abs(value) < 1e21:
        return str(int(value))
    return repr(value)


def merged(base, over):
    """Returns a dictionary with the entries of both; where both have one, that of `over`."""
    if not isinstance(base, dict):
        return over if isinstance(over, dict) else {}
    if not isinstance(over, dict):
        return base
    result = dict(base)
    for name, value in over.items():
        if isinstance(value, dict) and isinstance(base.get(name), dict):
            result[name] = merged(base[name], value)
        elif value is not None:
            result[name] = value
    return result
