"""Parallel axes: lines over numbers (parcoords), and bands over categories (parcats)."""

import numpy

from brumate_plotly.axes import ticks
from brumate_plotly.axes.axis import Axis
from brumate_plotly.figure import columns
from brumate_plotly.figure.colors import faded, is_color, rgba
from brumate_plotly.figure.reading import Unreadable, child, flag, get, is_list, listed, nodes, num, pair, shown, word
from brumate_plotly.layout.domains import DomainTrace

# Lines and bands of one trace.
MAX_LINES = 5000
# Pixels above and below the axes, for names and ends.
_ABOVE = 40.0
_BELOW = 12.0
_BENDS = 24


class LineColors:
    """The colors of lines: one, or those of a mapping."""

    def __init__(self, trace, count, default):
        self.node = child(trace.node, "line")
        value = get(self.node, "color")
        self._color, self._mapping = rgba(value if isinstance(value, str) else None, default), None
        self._own = None
        if is_list(value) and len(value) and is_color(value[0]):
            self._own = numpy.array([rgba(entry, default) for entry in trace.pick(value)])
        elif is_list(value):
            self._values = trace.numbers(value, count, numpy.nan)
            self._mapping = trace.picture.mappings.of(self.node)
            self._mapping.extend(self._values)

    def colors(self, count):
        """Returns a row for each line."""
        if self._mapping is not None:
            return self._mapping.colors(self._values)
        return self._own if self._own is not None and len(self._own) == count else numpy.tile(self._color, (count, 1))


class Parcoords(DomainTrace):
    """A trace of type parcoords."""

    def calculate(self):
        self.axes = []
        for node in nodes(self.node, "dimensions"):
            values = columns.column(get(node, "values"))
            if flag(node, "visible", True) and len(values):
                self.axes.append((node, values))
        if len(self.axes) < 1:
            raise Unreadable("no dimensions")
        count = min(len(values) for _, values in self.axes)
        self.kept = columns.thinned(count, MAX_LINES)
        if self.kept is not None:
            self.picture.notes.add(f"{count - len(self.kept)} of {count} lines of a trace")
        self.axes = [self._dimension(node, self.pick(values[:count])) for node, values in self.axes]
        self.count = count if self.kept is None else len(self.kept)
        self.line = LineColors(self, self.count, self.color)

    def _dimension(self, node, values):
        axis = Axis("dimension", {"dtick": None, **node}, True)
        axis.kind = columns.kind(values) or "linear"
        axis.see(values)
        found = axis.convert(values)
        axis.need(found, padded=False)
        axis.settle_range()
        return axis, found

    def draw(self):
        left, bottom, right, top = self.rectangle()
        bottom, top = bottom + _BELOW, top - _ABOVE
        # The name of the last axis stands over it, and there may be something on its right.
        name = word(self.axes[-1][0].node, "label")
        right -= min(60.0, self.canvas.measure(name, self.picture.font[0])[0] / 2)
        places = numpy.linspace(left, right, len(self.axes)) if len(self.axes) > 1 else numpy.array([left])
        rows = []
        for axis, values in self.axes:
            axis.place(bottom, max(1.0, top - bottom))
            rows.append(axis.px(values))
        lines = numpy.stack([numpy.tile(places, (self.count, 1)), numpy.stack(rows, axis=1)], axis=2)
        colors = self.line.colors(self.count)
        chosen = self._chosen()
        for part, fade in ((~chosen, 0.1), (chosen, 1.0)):
            shades = colors[part].copy()
            shades[:, 3] *= fade * (0.8 if self.count > 100 else 1.0)
            good = numpy.isfinite(lines[part]).all(axis=(1, 2))
            self.canvas.segments(lines[part][good], shades[good], 1.0 if self.count > 50 else 1.5)
        for place, (axis, _) in zip(places.tolist(), self.axes, strict=True):
            self._draw_axis(axis, place, bottom, top)

    def _chosen(self):
        """Returns which lines are within what is selected on the axes."""
        chosen = numpy.ones(self.count, dtype=bool)
        for axis, values in self.axes:
            span = pair(axis.node, "constraintrange")
            if span is not None:
                chosen &= (values >= min(span)) & (values <= max(span))
        return chosen

    def _draw_axis(self, axis, place, bottom, top):
        size, color = self.picture.font
        self.canvas.segments([[(place, bottom), (place, top)]], rgba("#444"), 1.5)
        small = num(self.node, "tickfont.size", min(size, 11), 1, 60)
        for at, label in ticks.ticks(axis):
            y = float(axis.px(at))
            if bottom - 1 <= y <= top + 1:
                self.canvas.segments([[(place - 3, y), (place, y)]], rgba("#444"), 1)
                # A pale edge keeps the text readable above the lines.
                width, _ = self.canvas.measure(label, small)
                pale = faded(self.picture.paper, 0.7)
                self.canvas.rectangles(place - 8 - width, y - small / 2, place - 4, y + small / 2, pale)
                self.canvas.text(place - 6, y, label, small, color, ("right", "middle"))
        name = word(axis.node, "label")
        self.canvas.text(
            place, top + 14, name, num(self.node, "labelfont.size", size, 1, 60), color, ("center", "bottom")
        )


class Parcats(DomainTrace):
    """A trace of type parcats."""

    def calculate(self):
        self.dimensions = []
        for node in nodes(self.node, "dimensions"):
            values = listed(node, "values")
            if flag(node, "visible", True) and len(values):
                self.dimensions.append((node, [shown(value) for value in values]))
        if not self.dimensions:
            raise Unreadable("no dimensions")
        count = min(len(values) for _, values in self.dimensions)
        weights = (
            self.numbers(get(self.node, "counts"), count, 1.0)
            if is_list(get(self.node, "counts"))
            else numpy.ones(count)
        )
        self.line = LineColors(self, count, self.color)
        self._find_bands(count, weights)
        self.orders = [self._order(node, values[:count]) for node, values in self.dimensions]
        self.total = sum(self.bands.values()) or 1.0

    def _find_bands(self, count, weights):
        """Counts lines that go through the same categories with the same color."""
        colors = [tuple(color) for color in self.line.colors(count).tolist()]
        rows = zip(*(values[:count] for _, values in self.dimensions), strict=True)
        self.bands = {}
        for row, color, weight in zip(rows, colors, weights.tolist(), strict=True):
            key = row, color
            self.bands[key] = self.bands.get(key, 0.0) + weight
        if len(self.bands) > MAX_LINES:
            self.picture.notes.add(f"{len(self.bands) - MAX_LINES} bands of a trace")
            largest = sorted(self.bands, key=self.bands.get, reverse=True)[:MAX_LINES]
            self.bands = {key: self.bands[key] for key in largest}

    @staticmethod
    def _order(node, values):
        """Returns the categories of a dimension from above to below."""
        found = list(dict.fromkeys(values))
        order = word(node, "categoryorder", "array" if get(node, "categoryarray") is not None else "trace")
        if order == "array":
            return list(dict.fromkeys([*(shown(value) for value in listed(node, "categoryarray")), *found]))
        return sorted(found, reverse="descending" in order) if order.startswith("category") else found

    def draw(self):
        left, bottom, right, top = self.rectangle()
        top -= 24
        count = len(self.dimensions)
        places = numpy.linspace(left + 8, right - 8, count).tolist() if count > 1 else [left]
        spans = [self._spans(number, bottom, top) for number in range(count)]
        self._draw_bands(places, spans)
        size, color = self.picture.font
        for number, (place, blocks) in enumerate(zip(places, spans, strict=True)):
            node = self.dimensions[number][0]
            self.canvas.text(place, top + 6, word(node, "label"), size, color, ("center", "bottom"))
            self._draw_blocks(node, place, blocks, is_last=number == count - 1)

    def _spans(self, number, bottom, top):
        """Returns top and bottom of each category's block."""
        sizes = dict.fromkeys(self.orders[number], 0.0)
        for (row, _), weight in self.bands.items():
            sizes[row[number]] = sizes.get(row[number], 0.0) + weight
        used = {category: size for category, size in sizes.items() if size}
        gap = min(12.0, (top - bottom) * 0.3 / max(1, len(used)))
        scale = (top - bottom - gap * (len(used) - 1)) / self.total
        at, found = top, {}
        for category, size in used.items():
            found[category] = at, at - size * scale
            at -= size * scale + gap
        return found

    def _draw_blocks(self, node, place, blocks, is_last):
        size, color = self.picture.font
        names = [shown(text) for text in listed(node, "ticktext")]
        values = [shown(value) for value in listed(node, "categoryarray")]
        labels = dict(zip(values, names, strict=False))
        for category, (high, low) in blocks.items():
            self.canvas.rectangles(place - 8, low, place + 8, high, rgba("#ddd"), rgba("#444"), 1)
            at, across = (place - 12, "right") if is_last else (place + 12, "left")
            self.canvas.text(at, (low + high) / 2, labels.get(category, category), size, color, (across, "middle"))

    def _draw_bands(self, places, spans):
        free = [{category: high for category, (high, _) in blocks.items()} for blocks in spans]
        order = {category: at for names in self.orders for at, category in enumerate(names)}
        keys = sorted(self.bands, key=lambda key: (key[1], [order.get(category, 0) for category in key[0]]))
        for row, color in keys:
            ends = []
            for number, category in enumerate(row):
                height = self.bands[row, color] / self.total * self._height(spans[number])
                start = free[number][category]
                ends.append((start, start - height))
                free[number][category] = start - height
            for at in range(len(row) - 1):
                ring = band(places[at] + 8, places[at + 1] - 8, ends[at], ends[at + 1])
                self.canvas.polygons([ring], faded(color, 0.6))

    @staticmethod
    def _height(blocks):
        return sum(high - low for high, low in blocks.values())


def band(left, right, first, last):
    """Returns the outline of a band between two heights on the left and two on the right."""
    share = numpy.linspace(0, 1, _BENDS)
    bend = share * share * (3 - 2 * share)
    xs = left + (right - left) * share
    upper = first[0] + (last[0] - first[0]) * bend
    lower = first[1] + (last[1] - first[1]) * bend
    return numpy.concatenate([numpy.column_stack([xs, upper]), numpy.column_stack([xs, lower])[::-1]])
