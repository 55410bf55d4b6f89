"""Candlesticks, and bars of opening, highest, lowest and closing prices."""

import numpy

from brumate_plotly.figure import columns
from brumate_plotly.figure.colors import faded, rgba
from brumate_plotly.figure.reading import get, num
from brumate_plotly.layout.legend import Entry
from brumate_plotly.traces.trace import CartesianTrace

_NAMES = ("open", "high", "low", "close")


class _Prices(CartesianTrace):
    """Four prices at each position."""

    layer = 4

    def see(self):
        xs = self.values("x")
        self.x.see(xs if len(xs) else numpy.arange(2))
        self.y.kind = self.y.kind or "linear"

    def calculate(self):
        rows = [self.y.convert(columns.column(get(self.node, name))) for name in _NAMES]
        count = min(map(len, rows))
        xs = self.x.convert(self.values("x", count))
        count = min(count, len(xs))
        self.kept = columns.thinned(count, self.picture.budget // 4)
        if self.kept is not None:
            self.picture.notes.add(f"{count - len(self.kept)} of {count} prices of a trace")
        self.xs, self.opened, self.high, self.low, self.closed = (self.pick(row[:count]) for row in (xs, *rows))
        places = numpy.unique(self.xs[numpy.isfinite(self.xs)])
        step = float(numpy.diff(places).min()) if len(places) > 1 else 1.0
        self.half = step / 2 * (1 - num(self.picture.layout, "boxgap", 0.3, 0, 0.99))
        # A price that has not changed counts as one that rises after a lower one.
        self.rises = self.closed >= self.opened

    def need(self):
        self.x.need(numpy.concatenate([self.xs - self.half / 0.7, self.xs + self.half / 0.7]), padded=False)
        self.y.need(numpy.concatenate([self.high, self.low]))

    def line_color(self, name, default):
        """Returns the color of the lines of prices that rise or fall."""
        return faded(rgba(get(self.node, f"{name}.line.color"), default), self.opacity)

    def width(self, name):
        """Returns the width of those lines."""
        return num(self.node, f"{name}.line.width", num(self.node, "line.width", 2, 0, 50), 0, 50)

    def parts(self):
        """Yields the name, the color and the numbers of the prices that rise, and of those that fall."""
        for name, default, chosen in (("increasing", "#3D9970", self.rises), ("decreasing", "#FF4136", ~self.rises)):
            yield name, self.line_color(name, rgba(default)), chosen

    def entries(self):
        color = self.line_color("increasing", rgba("#3D9970"))
        return [Entry(self.name, box=(faded(color, 0.5), color, 2))]


class Candlestick(_Prices):
    """A trace of type candlestick."""

    def draw(self):
        for name, color, chosen in self.parts():
            xs, opened, closed = self.xs[chosen], self.opened[chosen], self.closed[chosen]
            left, right = self.x.px(xs - self.half), self.x.px(xs + self.half)
            low, high = (self.y.px(part(opened, closed)) for part in (numpy.minimum, numpy.maximum))
            middle = self.x.px(xs)
            for start, end in ((self.y.px(self.low[chosen]), low), (high, self.y.px(self.high[chosen]))):
                lines = numpy.stack([middle, start, middle, end], axis=1).reshape(-1, 2, 2)
                self.canvas.segments(
                    lines[numpy.isfinite(lines).all(axis=(1, 2))], color, self.width(name), clip=self.clip
                )
            fill = faded(rgba(get(self.node, f"{name}.fillcolor"), faded(color, 0.5)), self.opacity)
            good = numpy.isfinite(left + low + high)
            width = self.width(name) if self.half * abs(self.x.per_unit()) > 2 else 0.5
            self.canvas.rectangles(left[good], low[good], right[good], high[good], fill, color, width, clip=self.clip)


class Ohlc(_Prices):
    """A trace of type ohlc."""

    def draw(self):
        tick = self.half / 0.7 * 2 * num(self.node, "tickwidth", 0.3, 0, 0.5)
        for name, color, chosen in self.parts():
            xs = self.xs[chosen]
            lines = [
                (xs, self.low[chosen], xs, self.high[chosen]),
                (xs - tick, self.opened[chosen], xs, self.opened[chosen]),
                (xs, self.closed[chosen], xs + tick, self.closed[chosen]),
            ]
            for first, start, last, end in lines:
                parts = self.x.px(first), self.y.px(start), self.x.px(last), self.y.px(end)
                points = numpy.stack(parts, axis=1).reshape(-1, 2, 2)
                self.canvas.segments(
                    points[numpy.isfinite(points).all(axis=(1, 2))], color, self.width(name), clip=self.clip
                )

    def entries(self):
        return [Entry(self.name, line=(self.line_color("increasing", rgba("#3D9970")), 2, "solid"))]
