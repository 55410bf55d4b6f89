"""Columns of a trace as arrays of floats: numbers, and dates as milliseconds since 1970."""

import datetime
import re

import numpy

from .reading import as_number, is_list, shown

# Values of a column that are looked at to see what they are.
_LOOKED_AT = 1000
_DATE = re.compile(
    r"\s*(-?\d{4})-(\d{1,2})(?:-(\d{1,2})(?:[ Tt](\d{1,2})(?::(\d{2})(?::(\d{2}(?:\.\d*)?))?)?)?)?"
    r"\s*(?:[Zz]|[+-]\d{2}(?::?\d{2})?)?\s*\Z"
)
_EPOCH = datetime.datetime(1970, 1, 1)
DAY = 86_400_000.0


def column(value):
    """Returns a list or a one-dimensional array for the values of an axis; pairs of categories become single ones."""
    if not is_list(value):
        return []
    if isinstance(value, numpy.ndarray):
        return _joined(value.tolist()) if value.ndim == 2 else value.ravel()
    if value and all(is_list(entry) for entry in value[:_LOOKED_AT]):
        return _joined(value)
    return value


def _joined(levels):
    """Returns one list for the levels of categories."""
    return [" / ".join(shown(part) for part in parts) for parts in zip(*levels, strict=False)]


def floats(values):
    """Returns floats; NaN for what is no finite number."""
    array = _array(values)
    if array is None:
        array = numpy.array([as_number(value, numpy.nan) for value in values], dtype=float)
    array = array.astype(float, copy=True).ravel()
    array[~numpy.isfinite(array)] = numpy.nan
    return array


def _array(values):
    """Returns an array of numbers when that can be had at once."""
    if isinstance(values, numpy.ndarray) and values.dtype.kind in "biuf":
        return values
    if isinstance(values, numpy.ndarray) and values.dtype.kind == "M":
        return instants(values)
    try:
        array = numpy.array(list(values), dtype=float)
    except (TypeError, ValueError, OverflowError):
        return None
    return array if array.ndim == 1 else None


def matrix(value):
    """Returns a two-dimensional array of floats; rows that are too short end in NaN."""
    if isinstance(value, numpy.ndarray):
        if value.ndim == 2 and value.dtype.kind in "biuf":
            return floats(value.ravel()).reshape(value.shape)
        value = value.tolist() if value.ndim else []
    rows = [floats(column_of(row)) for row in value] if is_list(value) else []
    width = max(map(len, rows), default=0)
    result = numpy.full((len(rows), width), numpy.nan)
    for number, row in enumerate(rows):
        result[number, : len(row)] = row
    return result


def column_of(value):
    """Returns a list or an array; a list of one for a single value."""
    return value.ravel() if isinstance(value, numpy.ndarray) else value if isinstance(value, list) else [value]


def instants(values):
    """Returns milliseconds since 1970; NaN for what is no date. Zones are left out, as plotly does."""
    if isinstance(values, numpy.ndarray) and values.dtype.kind == "M":
        whole = values.astype("datetime64[us]")
        return numpy.where(numpy.isnat(whole), numpy.nan, whole.astype("int64") / 1000.0)
    if isinstance(values, numpy.ndarray) and values.dtype.kind in "iuf":
        return floats(values)
    return numpy.array([instant(value) for value in values], dtype=float)


def instant(value):
    """Returns one date in milliseconds; NaN for anything else."""
    if isinstance(value, str):
        return _parsed(value)
    if isinstance(value, datetime.datetime):
        try:
            return (value.replace(tzinfo=None) - _EPOCH) / datetime.timedelta(milliseconds=1)
        except (TypeError, ValueError, OverflowError):
            return numpy.nan  # pandas' NaT
    if isinstance(value, datetime.date):
        return (value - _EPOCH.date()).days * DAY
    if isinstance(value, numpy.datetime64):
        return float(instants(numpy.array([value]))[0])
    return as_number(value, numpy.nan)


def _parsed(text):
    match = _DATE.match(text)
    if match is None:
        return as_number(text, numpy.nan)
    year, month, day, hour, minute = (int(match[number] or least) for number, least in enumerate((1, 1, 1, 0, 0), 1))
    second = float(match[6] or 0)
    try:
        days = (datetime.date(year, month, day) - _EPOCH.date()).days
    except (ValueError, OverflowError):
        return numpy.nan
    return days * DAY + hour * 3_600_000 + minute * 60_000 + second * 1000


def moment(milliseconds):
    """Returns the `datetime` of milliseconds since 1970, within the years that there are."""
    least, most = -62_135_596_800_000, 253_402_300_799_999
    return _EPOCH + datetime.timedelta(milliseconds=min(max(float(milliseconds), least), most))


def is_date(value):
    """Whether a value is a date, or a text that says one."""
    if isinstance(value, str):
        return _DATE.match(value) is not None
    return isinstance(value, (datetime.date, numpy.datetime64))


def sample(values, count=_LOOKED_AT):
    """Returns some of the values, evenly spread, as a list."""
    picked = values[:: max(1, len(values) // count)]
    return picked.tolist() if isinstance(picked, numpy.ndarray) and picked.dtype.kind != "M" else list(picked)


def kind(values, is_strict=False):
    """Returns the type of axis that suits values: "linear", "date" or "category"; None when they do not tell.

    When it is strict, texts are no numbers.
    """
    if isinstance(values, numpy.ndarray) and values.dtype.kind in "iufM":
        return ("date" if values.dtype.kind == "M" else "linear") if len(values) else None
    dates = numbers = others = 0
    for value in sample(values):
        if value is None or value == "":
            continue
        if isinstance(value, (bool, numpy.bool_)):
            others += 1
        elif isinstance(value, float) and value != value:
            continue
        elif as_number(value) is not None and not (is_strict and isinstance(value, str)):
            numbers += 1
        elif is_date(value):
            dates += 1
        else:
            others += 1
    if dates > 2 * numbers and dates >= others:
        return "date"
    if others > 2 * numbers:
        return "category"
    return "linear" if numbers else "category" if others else None


def thinned(count, limit):
    """Returns the numbers of at most `limit` of `count` points, evenly spread; None when all of them fit."""
    return None if count <= limit else numpy.linspace(0, count - 1, max(1, limit)).astype(int)
