"""Values as bytes, in both directions between this program and a session.

This file runs in both places: here it is imported, and a session gets its source text. Nothing that is decoded can run
code: there is no pickle, and an array of objects travels as a list.

The bytes are a length of four bytes, a JSON text of that length, and the buffers that it refers to, one after the
other.
"""

import base64
import io
import json
import struct
import sys
from typing import Any

#: Levels of lists and mappings.
MAX_DEPTH = 100

_LENGTH = struct.Struct("<I")


def encode(value: object) -> bytes:
    """Returns a value as bytes.

    Raises:
        TypeError: a value of this type cannot cross; the text names it.
    """
    buffers: list[bytes] = []
    tree = _encode(value, buffers, 0)
    text = json.dumps({"value": tree, "sizes": [len(buffer) for buffer in buffers]}).encode()
    return b"".join([_LENGTH.pack(len(text)), text, *buffers])


def decode(data: bytes) -> Any:
    """Returns the value that `encode` made these bytes of.

    Raises:
        ValueError: they are something else.
        ImportError: the value is of a package that is not installed.
    """
    try:
        end = _LENGTH.size + _LENGTH.unpack_from(data)[0]
        head = json.loads(bytes(data[_LENGTH.size : end]))
        buffers = []
        for size in head["sizes"]:
            buffers.append(bytes(data[end : end + size]))
            end += size
        return _decode(head["value"], buffers)
    except (KeyError, IndexError, TypeError, struct.error) as error:
        raise ValueError(f"the bytes are no value: {error}") from None


def _encode(value, buffers, depth):
    if depth > MAX_DEPTH:
        raise TypeError(f"a value with more than {MAX_DEPTH} levels cannot cross")
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value

    def parts(values):
        return [_encode(part, buffers, depth + 1) for part in values]

    if kind is list:
        return parts(value)
    if kind is dict:
        return {"dict": [parts(pair) for pair in value.items()]}
    if kind in (tuple, set, frozenset):
        return {kind.__name__: parts(value)}
    if kind in (bytes, bytearray):
        buffers.append(bytes(value))
        return {kind.__name__: len(buffers) - 1}
    if kind is complex:
        return {"complex": [value.real, value.imag]}
    encoded = _encode_standard(value, kind)
    if encoded is None:
        encoded = _encode_arrays(value, kind, buffers, depth)
    if encoded is None:
        raise TypeError(
            f"a value of type {kind.__module__}.{kind.__qualname__} cannot cross; make one of Python's own types, "
            "an array or a DataFrame of it"
        )
    return encoded


def _encode_standard(value, kind):
    import datetime
    import decimal

    if kind in (datetime.datetime, datetime.date, datetime.time):
        return {kind.__name__: value.isoformat()}
    if kind is datetime.timedelta:
        return {"timedelta": [value.days, value.seconds, value.microseconds]}
    if kind is decimal.Decimal:
        return {"Decimal": str(value)}
    return None


def _encode_arrays(value, kind, buffers, depth):
    numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
    if numpy is not None and isinstance(value, numpy.generic) and value.dtype.kind != "O":
        value, kind = numpy.asarray(value), numpy.ndarray
        return {"scalar": _encode_array(numpy, value, buffers, depth)}
    if numpy is not None and kind is numpy.ndarray:
        return {"ndarray": _encode_array(numpy, value, buffers, depth)}
    if pandas is None:
        return None
    if kind is pandas.Timestamp:
        return {"Timestamp": value.isoformat()}
    if value is pandas.NA or value is pandas.NaT:
        return {"missing": str(value)}
    if isinstance(value, pandas.Index):
        return {"Index": _encode_index(value, buffers, depth)}
    if kind is pandas.Series:
        return {"Series": _encode_series(value, buffers, depth)}
    if kind is pandas.DataFrame:
        columns = [_encode_column(value.iloc[:, number], buffers, depth) for number in range(value.shape[1])]
        return {
            "DataFrame": [
                _encode_index(value.columns, buffers, depth),
                _encode_index(value.index, buffers, depth),
                columns,
            ]
        }
    return None


def _encode_array(numpy, array, buffers, depth):
    if array.dtype.hasobject:
        return {
            "shape": list(array.shape),
            "values": [_encode(part, buffers, depth + 1) for part in array.ravel().tolist()],
        }
    file = io.BytesIO()
    numpy.lib.format.write_array(file, array, allow_pickle=False)
    buffers.append(file.getvalue())
    return len(buffers) - 1


def _encode_column(series, buffers, depth):
    import numpy

    dtype = series.dtype
    if isinstance(dtype, numpy.dtype) and dtype.kind != "O":
        return {"array": _encode_array(numpy, series.to_numpy(), buffers, depth)}
    kind = type(dtype).__name__
    if kind == "CategoricalDtype":
        codes = _encode_array(numpy, series.cat.codes.to_numpy(), buffers, depth)
        return {
            "codes": codes,
            "categories": _encode_index(series.cat.categories, buffers, depth),
            "ordered": bool(dtype.ordered),
        }
    values = [
        _encode(None if missing else value, buffers, depth + 1)
        for value, missing in zip(series.tolist(), series.isna().tolist(), strict=True)
    ]
    return {"values": values, "dtype": str(dtype)}


def _encode_index(index, buffers, depth):
    if index.nlevels > 1:
        levels = [_encode_index(index.get_level_values(level), buffers, depth) for level in range(index.nlevels)]
        return {"levels": levels}
    if type(index).__name__ == "RangeIndex":
        return {"range": [index.start, index.stop, index.step], "name": _encode(index.name, buffers, depth)}
    return {**_encode_column(index.to_series(), buffers, depth), "name": _encode(index.name, buffers, depth)}


def _encode_series(series, buffers, depth):
    return [
        _encode_column(series, buffers, depth),
        _encode_index(series.index, buffers, depth),
        _encode(series.name, buffers, depth),
    ]


def _decode(tree, buffers):
    if isinstance(tree, list):
        return [_decode(part, buffers) for part in tree]
    if not isinstance(tree, dict):
        return tree
    ((kind, part),) = tree.items()
    if kind == "dict":
        return {_decode(key, buffers): _decode(value, buffers) for key, value in part}
    if kind in ("tuple", "set", "frozenset"):
        return {"tuple": tuple, "set": set, "frozenset": frozenset}[kind](_decode(part, buffers))
    if kind in ("bytes", "bytearray"):
        return buffers[part] if kind == "bytes" else bytearray(buffers[part])
    if kind == "complex":
        return complex(*part)
    if kind in ("datetime", "date", "time", "timedelta"):
        import datetime

        made = getattr(datetime, kind)
        return made(*part) if kind == "timedelta" else made.fromisoformat(part)
    if kind == "Decimal":
        import decimal

        return decimal.Decimal(part)
    return _decode_arrays(kind, part, buffers)


def _decode_arrays(kind, part, buffers):
    import numpy

    if kind == "ndarray":
        return _decode_array(numpy, part, buffers)
    if kind == "scalar":
        return _decode_array(numpy, part, buffers)[()]
    import pandas

    if kind == "Timestamp":
        return pandas.Timestamp(part)
    if kind == "missing":
        return pandas.NaT if part == "NaT" else pandas.NA
    if kind == "Index":
        return _decode_index(pandas, part, buffers)
    if kind == "Series":
        column, index, name = part
        return pandas.Series(
            _decode_column(pandas, column, buffers), _decode_index(pandas, index, buffers), name=_decode(name, buffers)
        )
    if kind == "DataFrame":
        names, index, columns = part
        made = {number: _decode_column(pandas, column, buffers) for number, column in enumerate(columns)}
        frame = pandas.DataFrame(made, index=_decode_index(pandas, index, buffers))
        frame.columns = _decode_index(pandas, names, buffers)
        return frame
    raise ValueError(f"the bytes are no value: {kind!r}")


def _decode_array(numpy, part, buffers):
    if isinstance(part, int):
        return numpy.lib.format.read_array(io.BytesIO(buffers[part]), allow_pickle=False)
    array = numpy.empty(len(part["values"]), dtype=object)
    array[:] = _decode(part["values"], buffers)
    return array.reshape(part["shape"])


def _decode_column(pandas, part, buffers):
    if "array" in part:
        import numpy

        return _decode_array(numpy, part["array"], buffers)
    if "codes" in part:
        import numpy

        codes = _decode_array(numpy, part["codes"], buffers)
        return pandas.Categorical.from_codes(
            codes, _decode_index(pandas, part["categories"], buffers), ordered=part["ordered"]
        )
    return (
        pandas.array(_decode(part["values"], buffers), dtype=part["dtype"])
        if part["dtype"] != "object"
        else _objects(part, buffers)
    )


def _objects(part, buffers):
    import numpy

    values = _decode(part["values"], buffers)
    array = numpy.empty(len(values), dtype=object)
    array[:] = values
    return array


def _decode_index(pandas, part, buffers):
    if "levels" in part:
        return pandas.MultiIndex.from_arrays([_decode_index(pandas, level, buffers) for level in part["levels"]])
    name = _decode(part["name"], buffers)
    if "range" in part:
        return pandas.RangeIndex(*part["range"], name=name)
    return pandas.Index(_decode_column(pandas, part, buffers), name=name)


def give(namespace, name, path, inline):
    """Returns a variable, encoded: as base64 if it is short, else in a file at `path`. Runs in a session."""
    data = encode(namespace[name])
    if len(data) <= inline:
        return base64.b64encode(data).decode("ascii")
    with open(path, "wb") as file:
        file.write(data)
    return len(data)


def take(namespace, name, data, path):
    """Sets a variable from what `encode` made, in base64 or in a file, which is removed. Runs in a session."""
    if data is None:
        import os

        with open(path, "rb") as file:
            encoded = file.read()
        os.remove(path)
    else:
        encoded = base64.b64decode(data)
    namespace[name] = decode(encoded)
