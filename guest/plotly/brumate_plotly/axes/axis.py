"""Axes: what type they are, the range that their traces need, and where a value is in pixels.

Every value is converted once to the axis' own numbers: logarithms, milliseconds, numbers of categories. From there to
pixels is a straight line.
"""

import math

import numpy

from brumate_plotly.figure import columns
from brumate_plotly.figure.reading import as_number, choice, get, listed, num, pair, shown, word

KINDS = ("linear", "log", "date", "category")
# Share of an axis that stays free beyond its points.
_FREE = 0.05
# Categories of one axis.
MAX_CATEGORIES = 50_000


class Axis:
    """One axis. `name` is what traces call it, like `x2`; `node` is what the layout says of it."""

    def __init__(self, name, node, is_vertical, is_strict=False):
        self.name, self.is_vertical, self._is_strict = name, is_vertical, is_strict
        self.node = node if isinstance(node, dict) else {}
        kind = word(node, "type")
        self.kind = "category" if kind == "multicategory" else kind if kind in KINDS else None
        self.categories, self._numbers = [], {}
        # What traces need to be seen: pixels beyond a value, by value.
        self._low, self._high = {}, {}
        self.range = None
        self.start, self.length = 0.0, 100.0
        self.ticks = []

    def domain(self):
        """Returns the share of the plot that the axis takes, as `(from, to)`."""
        low, high = pair(self.node, "domain") or (0.0, 1.0)
        low, high = min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)
        return (low, high) if high > low else (0.0, 1.0)

    def tick_size(self):
        """Returns the size of the labels' font."""
        return num(self.node, "tickfont.size", 12.0, 1, 200)

    # Types and values.

    def see(self, values):
        """Takes the type of the first values that tell one, and their categories."""
        if self.kind is None:
            self.kind = columns.kind(values, self._is_strict)
        if self.kind == "category":
            self.add_categories(values)

    def add_categories(self, values):
        """Numbers the categories that are new."""
        for value in values.tolist() if isinstance(values, numpy.ndarray) and values.dtype.kind != "M" else values:
            if value is None or (isinstance(value, float) and value != value):
                continue
            key = shown(value)
            if key not in self._numbers and len(self.categories) < MAX_CATEGORIES:
                self._numbers[key] = len(self.categories)
                self.categories.append(key)

    def reorder(self, order):
        """Puts the categories in an order that has all of them."""
        self.categories = list(order)
        self._numbers = {category: number for number, category in enumerate(self.categories)}

    def category(self, number):
        """Returns the category with a number; an empty text when there is none."""
        return self.categories[round(number)] if -0.5 <= number < len(self.categories) - 0.5 else ""

    def convert(self, values):
        """Returns values as numbers of this axis; NaN for what has no place on it."""
        if self.kind == "category":
            return numpy.array([self._numbers.get(shown(value), numpy.nan) for value in values], dtype=float)
        if self.kind == "date":
            return columns.instants(values)
        return self.scaled(columns.floats(values))

    def scaled(self, numbers):
        """Returns the logarithms of numbers on a logarithmic axis, and elsewhere the numbers."""
        if self.kind != "log":
            return numbers
        with numpy.errstate(all="ignore"):
            return numpy.where(numbers > 0, numpy.log10(numbers), numpy.nan)

    def convert_one(self, value, logarithms=False):
        """Returns one value of an annotation, a shape or a tick: a category may be named or numbered; `logarithms` are
        taken as they are."""
        if self.kind == "category" and isinstance(value, str) and value in self._numbers:
            return float(self._numbers[value])
        if self.kind == "date":
            return columns.instant(value)
        number = as_number(value, math.nan)
        if self.kind != "log" or logarithms:
            return number
        return math.log10(number) if number > 0 else math.nan

    def base(self):
        """Returns where bars begin: at 0, or below everything on a logarithmic axis."""
        return -400.0 if self.kind == "log" else 0.0

    # Ranges.

    def need(self, values, padded=True, pixels=0.0):
        """Extends the range to values; `padded` leaves room beyond them, `pixels` a fixed one."""
        values = numpy.atleast_1d(values)
        values = values[numpy.isfinite(values) & (values > -399 if self.kind == "log" else True)]
        if len(values):
            key = pixels, padded
            low, high = float(values.min()), float(values.max())
            self._low[key] = min(low, self._low.get(key, low))
            self._high[key] = max(high, self._high.get(key, high))

    def need_zero(self):
        """Extends the range to 0, without room beyond it."""
        if self.kind != "log":
            self.need(0.0, padded=False)

    def need_from_zero(self, values):
        """Extends the range to bars from 0 to values, with room beyond the values only."""
        values = values[numpy.isfinite(values)]
        if self.kind == "log":
            self.need(values)
            return
        self.need_zero()
        key = 0.0, True
        for ends, better, end in (
            (self._low, min, values.min(initial=0.0)),
            (self._high, max, values.max(initial=0.0)),
        ):
            if end:
                ends[key] = better(float(end), ends.get(key, float(end)))

    def share_needs(self, other):
        """Takes over what another axis needs; its categories as well."""
        if self.kind == "category":
            self.add_categories(other.categories)
        for mine, theirs, better in ((self._low, other._low, min), (self._high, other._high, max)):
            for key, value in theirs.items():
                mine[key] = better(value, mine.get(key, value))

    def given_range(self):
        """Returns the ends that the layout gives, each None where it gives none."""
        entries = listed(self.node, "range")
        if len(entries) != 2 or get(self.node, "autorange") is True:
            return None, None
        ends = [None if entry is None else self.convert_one(entry, logarithms=True) for entry in entries]
        return tuple(None if end is None or not math.isfinite(end) else end for end in ends)

    def settle_range(self):
        """Finds the range: what the layout gives, or what the traces need."""
        first, last = self.given_range()
        low, high = self._needed() if first is None or last is None else (first, last)
        autorange = word(self.node, "autorange")
        if first is None and last is None and "reversed" in autorange:
            low, high = high, low
        first, last = low if first is None else first, high if last is None else last
        if first == last:
            reach = max(1.0, abs(first) * 1e-9)
            first, last = first - reach, last + reach
        self.range = first, last

    def _needed(self):
        if not self._low:
            return (0.0, 3.0) if self.kind == "log" else self._nothing()
        mode = choice(self.node, "rangemode", ("normal", "tozero", "nonnegative"))
        if mode == "tozero":
            self.need_zero()
        length = max(self.length, 1.0)
        lows = [(value, self._room(key, length)) for key, value in self._low.items()]
        highs = [(value, self._room(key, length)) for key, value in self._high.items()]
        scale, ends = 0.0, None
        for low, below in lows:
            for high, above in highs:
                per_pixel = (high - low) / max(length - below - above, length / 10)
                if per_pixel > scale:
                    scale, ends = per_pixel, (low - per_pixel * below, high + per_pixel * above)
        if ends is None:
            value = lows[0][0]
            return self._around(value)
        if mode == "nonnegative":
            ends = max(0.0, ends[0]), max(0.0, ends[1])
        return ends

    @staticmethod
    def _room(key, length):
        pixels, padded = key
        return min(pixels + (_FREE * length if padded else 0.0), 0.45 * length)

    def _nothing(self):
        if self.kind == "date":
            return columns.instant("2000-01-01"), columns.instant("2001-01-01")
        if self.kind == "category" and self.categories:
            return -0.5, len(self.categories) - 0.5
        return (-1.0, 6.0) if not self.is_vertical else (-1.0, 4.0)

    def _around(self, value):
        """Returns a range around the only value there is."""
        if self.kind == "date":
            return value - columns.DAY, value + columns.DAY
        if word(self.node, "rangemode") == "tozero" and value:
            return min(0.0, value), max(0.0, value)
        return value - 1, value + 1

    def bounds(self):
        """Returns the ends of the range, the smaller one first."""
        return min(self.range), max(self.range)

    # Pixels.

    def place(self, start, length):
        """Puts the axis in its place, in pixels."""
        self.start, self.length = start, length

    def px(self, numbers):
        """Returns where numbers of this axis are, in pixels."""
        first, last = self.range
        return self.start + (numbers - first) * (self.length / (last - first))

    def per_unit(self):
        """Returns the pixels of one unit, negative on a reversed axis."""
        return self.length / (self.range[1] - self.range[0])


_STATISTICS = {
    "total": numpy.sum,
    "sum": numpy.sum,
    "min": numpy.min,
    "max": numpy.max,
    "mean": numpy.mean,
    "geometric mean": lambda values: float(numpy.exp(numpy.mean(numpy.log(numpy.maximum(values, 1e-300))))),
    "median": numpy.median,
}


def order_categories(axis, weighted):
    """Puts the categories of an axis in the order that its layout wants.

    `weighted` has pairs of values of this axis and numbers, for orders by their sums and the like.
    """
    order = word(axis.node, "categoryorder", "array" if get(axis.node, "categoryarray") is not None else "trace")
    if order == "array":
        wanted = [shown(value) for value in listed(axis.node, "categoryarray")]
        axis.reorder(dict.fromkeys([*wanted, *axis.categories]))
        return
    what, _, direction = order.rpartition(" ")
    if direction not in ("ascending", "descending"):
        return
    if what == "category":
        known = sorted(axis.categories, key=_sorting_key)
    elif what in _STATISTICS:
        known = _by_weight(axis, weighted, _STATISTICS[what])
    else:
        return
    axis.reorder(known if direction == "ascending" else known[::-1])


def _sorting_key(category):
    number = as_number(category)
    return (0, number, "") if number is not None else (1, 0.0, category)


def _by_weight(axis, weighted, statistic):
    found = {category: [] for category in axis.categories}
    for values, weights in weighted:
        for value, weight in zip(values, weights, strict=False):
            if shown(value) in found and math.isfinite(weight):
                found[shown(value)].append(weight)
    totals = {category: float(statistic(numbers)) if numbers else 0.0 for category, numbers in found.items()}
    return sorted(axis.categories, key=totals.__getitem__)
