"""A Python value as JSON text, indent 2.

The table of types is that of `pydantic_core.to_json(value, indent=2, fallback=...)`, the fallback
being: numpy arrays as lists, numpy scalars as items, anything else its `repr()`. It is written out here because a
plain interpreter has no pydantic; `tests/test_values_pydantic.py` compares the two. Where pydantic gives up (cycles,
depth, bytes and texts that are not UTF-8, keys it refuses, files that cannot be read) the part in question becomes its
`repr()`.

Everything that can run guest code (`__repr__`, properties, iterators) may raise what it likes; the caller calls
[`to_json`] as guest code.
"""

from .pristine import __builtins__

from dataclasses import _FIELD
from enum import EnumMeta

from . import scalars
from .text import quote

# Characters of one result.
MAX_JSON_CHARS = 4 << 20
# Nesting below this is written as `repr()`.
MAX_DEPTH = 200
# Characters shown of a result that is too large.
PREVIEW_CHARS = 2000

_INDENTS = ["\n" + "  " * depth for depth in range(MAX_DEPTH + 2)]


class _TooLarge(Exception):
    pass


def to_json(value):
    """JSON text of `value`, no longer than [`MAX_JSON_CHARS`] (then: a JSON string that says so)."""
    kind = type(value)
    if kind is int:
        return scalars.integer(value)
    if kind is str and len(value) <= MAX_JSON_CHARS // 6:
        return quote(value)
    writer = _Writer()
    try:
        writer.write(value, 0)
        return "".join(writer.parts)
    except _TooLarge:
        begin = "".join(writer.parts[:PREVIEW_CHARS])[:PREVIEW_CHARS]
        return quote(
            f"<{kind.__name__} too large to return: over {MAX_JSON_CHARS} characters of JSON> It begins: {begin}"
        )


class _Writer:
    __slots__ = ("parts", "left", "path", "kinds")

    def __init__(self):
        self.parts = []
        self.left = MAX_JSON_CHARS
        self.path = set()  # ids of the containers being written: one of them again is a cycle
        self.kinds = {}

    def put(self, text):
        self.left -= len(text)
        if self.left < 0:
            self.parts.append(text[:PREVIEW_CHARS])
            raise _TooLarge
        self.parts.append(text)

    def write(self, value, depth):
        kind = type(value)
        plain = _PLAIN.get(kind)
        if plain is not None:
            self.put(plain(value))
            return
        write = _CONTAINERS.get(kind) or self.kinds.get(kind, self)
        if write is self:
            write = self.kinds[kind] = _other(kind)
        if write is None:
            self.put(_repr(value))
        elif depth >= MAX_DEPTH or id(value) in self.path:
            self.put(_repr(value))
        else:
            self.path.add(id(value))
            write(self, value, depth)
            self.path.discard(id(value))

    def array(self, items, depth):
        separator = "[" + _INDENTS[depth + 1]
        following = "," + _INDENTS[depth + 1]
        plain_of, put, empty = _PLAIN.get, self.put, True
        for item in items:
            plain = plain_of(type(item))
            put(separator)
            if plain is not None:
                put(plain(item))
            else:
                self.write(item, depth + 1)
            separator, empty = following, False
        put("[]" if empty else _INDENTS[depth] + "]")

    def object(self, pairs, depth):
        separator = "{" + _INDENTS[depth + 1]
        following = "," + _INDENTS[depth + 1]
        empty = True
        for key, item in pairs:
            self.put(separator + quote(key if type(key) is str else scalars.key(key)) + ": ")
            self.write(item, depth + 1)
            separator, empty = following, False
        self.put("{}" if empty else _INDENTS[depth] + "}")

    def list(self, value, depth):
        self.array(list.__iter__(value), depth)

    def tuple(self, value, depth):
        self.array(tuple.__iter__(value), depth)

    def lines(self, value, depth):
        # A file that was not opened for reading, or was closed, has no lines.
        if value.closed or not value.readable():
            self.put(_repr(value))
        else:
            self.array(value, depth)

    def mapping(self, value, depth):
        self.object(dict.items(value), depth)

    def enum(self, value, depth):
        self.write(value.value, depth)

    def dataclass(self, value, depth):
        fields = type(value).__dataclass_fields__
        names = [name for name, field in fields.items() if field._field_type is _FIELD]
        self.object([(name, getattr(value, name)) for name in names], depth)

    def pydantic(self, value, depth):
        serializer = type(value).__pydantic_serializer__
        try:
            plain = serializer.to_python(value, mode="json", fallback=_unknown)
        except ValueError:  # cannot be serialized, says pydantic
            self.put(_repr(value))
            return
        config = getattr(type(value), "model_config", None) or {}
        if config.get("ser_json_inf_nan") != "constants":
            plain = _finite(plain)
        self.write(plain, depth)

    def numpy_array(self, value, depth):
        if value.size > MAX_JSON_CHARS // 2:
            self.put(repr(value)[:PREVIEW_CHARS])
            raise _TooLarge
        self.write(value.tolist(), depth)

    def numpy_scalar(self, value, depth):
        self.write(scalars.numpy_item(value), depth)

    def text(self, value, depth):
        self.put(quote(scalars.text(value)))

    def number(self, value, depth):
        self.put(_PLAIN[int if isinstance(value, int) else float](value))


def _string(value):
    if len(value) > MAX_JSON_CHARS:
        return quote(value[: MAX_JSON_CHARS + 1])
    return quote(value)


def _unknown(value):
    """What stands for a value in a model whose type pydantic does not know."""
    write = _other(type(value))
    if write is _Writer.numpy_array:
        return value.tolist()
    if write is _Writer.numpy_scalar:
        return scalars.numpy_item(value)
    return repr(value)


def _finite(plain):
    """Plain data in which `None` stands for NaN and infinities: pydantic's models write them as `null`."""
    kind = type(plain)
    if kind is float:
        return plain if plain - plain == 0 else None
    if kind is list:
        return [_finite(item) for item in plain]
    if kind is dict:
        return {name: _finite(item) for name, item in plain.items()}
    return plain


def _repr(value):
    try:
        text = repr(value)
    except RecursionError:
        if type(value) not in _CONTAINERS:
            raise
        text = f"<{type(value).__name__} nested too deeply>"
    return _string(text)


_PLAIN = {
    type(None): lambda value: "null",
    bool: lambda value: "true" if value else "false",
    int: scalars.integer,
    float: scalars.floating,
    str: _string,
}

_CONTAINERS = {
    list: _Writer.list,
    tuple: _Writer.tuple,
    set: _Writer.array,
    frozenset: _Writer.array,
    dict: _Writer.mapping,
    bytes: _Writer.text,
    bytearray: _Writer.text,
    complex: _Writer.text,
}

_BY_NAME = {
    ("collections", "deque"): _Writer.array,
    ("numpy", "ndarray"): _Writer.numpy_array,
    ("numpy", "generic"): _Writer.numpy_scalar,
}


def _other(kind):
    """The writer for a type that is not in the tables by itself, or None: its `repr()`."""
    attributes = set()
    for base in kind.__mro__:
        attributes.update(base.__dict__)
    if "__pydantic_serializer__" in attributes:
        return _Writer.pydantic
    if "__dataclass_fields__" in attributes:
        return _Writer.dataclass
    if issubclass(type(kind), EnumMeta):
        return _Writer.enum
    module = kind.__module__
    for base in kind.__mro__:
        if base is object:
            break
        if base is int or base is float:
            return _Writer.number
        if base is str:
            return _Writer.text
        found = _CONTAINERS.get(base)
        if found is not None:
            return found
        name = (base.__module__, base.__name__)
        if type(name[0]) is not str:
            continue
        if name in scalars.TEXTS:
            return _Writer.text
        if name in _BY_NAME and (name[0] != "numpy" or module == "numpy"):
            return _BY_NAME[name]
    if "__next__" in attributes and "__iter__" in attributes:
        if {"readline", "readable", "closed"} <= attributes:
            return _Writer.lines
        return _Writer.array  # a generator or another iterator
    return None
