"""Bins of histograms: where they begin and end, and what is in them."""

import math

import numpy

from brumate_plotly.axes import dates
from brumate_plotly.figure.columns import DAY, instant
from brumate_plotly.figure.reading import as_number, get, num, word
from brumate_plotly.figure.steps import nice

# Bins of one axis.
MAX_BINS = 5000
_STEPS = [step * unit for unit in (1000.0, 60_000.0) for step in (1, 2, 5, 10, 15, 30)]
_STEPS += [step * 3_600_000.0 for step in (1, 2, 3, 6, 12)] + [step * DAY for step in (1, 2, 3, 7, 14)]
_MONTH = DAY * 30.4375


class Bins:
    """Bins along an axis: `edges` has one more than there are bins; numbers of categories have bins around them."""

    def __init__(self, edges):
        self.edges = numpy.asarray(edges, dtype=float)
        self.count = len(self.edges) - 1
        self.middles = (self.edges[1:] + self.edges[:-1]) / 2

    def numbers(self, values):
        """Returns the number of the bin of each value; -1 outside of all of them."""
        found = numpy.searchsorted(self.edges, values, side="right") - 1
        # The last edge belongs to the last bin when a value is exactly there.
        found[values == self.edges[-1]] = self.count - 1
        found[(found < 0) | (found >= self.count) | ~numpy.isfinite(values)] = -1
        return found

    def statistic(self, values, weights, function):
        """Returns for each bin how many values are in it, or what a function makes of their weights."""
        numbers = self.numbers(values)
        return statistic(numbers, self.count, weights, function)


def statistic(numbers, count, weights, function):
    """Returns for each of `count` bins the number of entries that name it, or a function of their weights."""
    good = numbers >= 0
    if weights is None or function == "count":
        return numpy.bincount(numbers[good], minlength=count).astype(float)
    good &= numpy.isfinite(weights)
    numbers, weights = numbers[good], weights[good]
    sums = numpy.bincount(numbers, weights, minlength=count)
    if function == "avg":
        counts = numpy.bincount(numbers, minlength=count)
        return numpy.where(counts > 0, sums / numpy.maximum(counts, 1), numpy.nan)
    if function in ("min", "max"):
        result = numpy.full(count, numpy.inf if function == "min" else -numpy.inf)
        (numpy.minimum if function == "min" else numpy.maximum).at(result, numbers, weights)
        return numpy.where(numpy.isfinite(result), result, numpy.nan)
    return sums


def find(axis, values, nodes, letter, spread=0.4):
    """Returns the bins for values, as the first of the traces that says how, or as many as suit them."""
    values = values[numpy.isfinite(values)]
    if axis.kind == "category":
        return Bins(numpy.arange(max(1, len(axis.categories)) + 1) - 0.5)
    if not len(values):
        return Bins([0.0, 1.0])
    low, high = float(values.min()), float(values.max())
    node = next((node for node in nodes if get(node, f"{letter}bins.size") is not None), {})
    size = get(node, f"{letter}bins.size")
    start, end = (_end(axis, get(node, f"{letter}bins.{name}")) for name in ("start", "end"))
    if isinstance(size, str) and size[:1] == "M" and as_number(size[1:]):
        return _months(low, high, max(1, round(as_number(size[1:]))))
    size = as_number(size)
    if size is None or size <= 0:
        wanted = max((num(node, f"nbins{letter}", 0, 0, MAX_BINS) for node in nodes), default=0)
        rough = (high - low) / wanted if wanted else _rough(values, spread)
        if axis.kind == "date":
            return _dates(low, high, rough)
        size = nice(rough)
        start = math.floor(low / size + 1e-9) * size
        start -= _shift(values, size)
    elif start is None:
        start = math.floor(low / size + 1e-9) * size - (_shift(values, size) if axis.kind == "linear" else 0)
    return _even(start, high if end is None else max(end - size * 1e-6, start), size)


def _end(axis, value):
    if value is None:
        return None
    found = instant(value) if axis.kind == "date" else as_number(value)
    return found if found is not None and math.isfinite(found) else None


def _even(start, high, size):
    count = int(min(max(math.floor((high - start) / size + 1e-9) + 1, 1), MAX_BINS))
    return Bins(start + numpy.arange(count + 1) * size)


def _rough(values, spread):
    """Returns the size of bins that suits how far values are spread and how many there are."""
    distinct = numpy.unique(values[:: max(1, len(values) // 20_000)])
    least = float(numpy.diff(distinct).min()) if len(distinct) > 1 else 1.0
    return max(2 * float(values.std()) / len(values) ** spread, least if _are_whole(distinct) else 0.0, 1e-12)


def _are_whole(values):
    return bool((values == numpy.round(values)).all())


def _shift(values, size):
    """Returns how far bins move so that whole numbers are not on their edges."""
    return 0.5 if size >= 1 and _are_whole(values[:5000]) else 0.0


def _dates(low, high, rough):
    for step in _STEPS:
        if step >= rough * 0.999:
            start = 3 * DAY if step >= 7 * DAY else 0.0
            return _even(start + math.floor((low - start) / step) * step, high, step)
    for months in (1, 2, 3, 6):
        if months * _MONTH >= rough:
            return _months(low, high, months)
    return _months(low, high, 12 * max(1, round(nice(rough / (12 * _MONTH)))))


def _months(low, high, months):
    # A little more than a whole span each time reaches the next one.
    edges = [float(dates.floor([low], months)[0])]
    while edges[-1] <= high and len(edges) <= MAX_BINS:
        following = float(dates.floor([edges[-1] + (months + 0.6) * _MONTH], months)[0])
        if following <= edges[-1]:
            break
        edges.append(following)
    return Bins(edges if len(edges) > 1 else [low, low + months * _MONTH])


def names_cumulative(node):
    """Whether bins are to be added up, and whether from the end."""
    return get(node, "cumulative.enabled") is True, word(node, "cumulative.direction") == "decreasing"
