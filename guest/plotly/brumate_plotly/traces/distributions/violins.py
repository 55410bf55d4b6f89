"""Violins: how dense values are, as an outline."""

import numpy

from brumate_plotly.figure.colors import CLEAR, faded, rgba
from brumate_plotly.figure.reading import choice, flag, get, num, word

from .boxes import Summary
from .distribution import Distribution

# Points of an outline, and values that it is made from.
_POINTS = 100
_VALUES = 5000


class Violin(Distribution):
    """A trace of type violin."""

    family = "violin"

    def calculate(self):
        super().calculate()
        self.outlines = [(place, values, *_density(self.node, values)) for place, values in self.groups]

    def need(self):
        super().need()
        for _, _, at, _ in self.outlines:
            self.across.need(at)

    def draw(self):
        by_count = word(self.node, "scalemode") == "count"
        most = max((len(values) for _, values, _, _ in self.outlines), default=1)
        for place, values, at, density in self.outlines:
            scale = len(values) / most if by_count else 1.0
            self._draw_outline(place, at, density / max(density.max(), 1e-300) * scale)
            self._draw_inside(place, values)
            self._draw_points(place, values)

    def _draw_outline(self, place, at, density):
        middle, half = self.ends(place)
        side = choice(self.node, "side", ("both", "positive", "negative"))
        after = middle + density * half * (side != "negative")
        before = middle - density * half * (side != "positive")
        places, values = numpy.concatenate([after, before[::-1]]), numpy.concatenate([at, at[::-1]])
        pixels = numpy.column_stack(self.point(places, values))
        self.canvas.polygons([pixels], self.fill_color, self.line_color, self.line_width, clip=self.clip)

    def _draw_inside(self, place, values):
        """Draws the small box and the line at the mean."""
        summary = Summary(values)
        middle, half = self.ends(place)
        line = self.line_color
        if flag(
            self.node, "box.visible", get(self.node, "box.line") is not None or get(self.node, "box.width") is not None
        ):
            width = half * num(self.node, "box.width", 0.25, 0, 1)
            fill = faded(rgba(get(self.node, "box.fillcolor"), self.fill_color), self.opacity)
            line = faded(rgba(get(self.node, "box.line.color"), line), self.opacity)
            corners = [(-1, summary.first), (-1, summary.third), (1, summary.third), (1, summary.first)]
            self._polygon([(middle + side * width, value) for side, value in corners], fill, line)
            for start, end in ((summary.first, summary.low), (summary.third, summary.high)):
                self._polygon([(middle, start), (middle, end)], CLEAR, line)
            self._polygon([(middle - width, summary.median), (middle + width, summary.median)], CLEAR, line)
        if flag(self.node, "meanline.visible"):
            color = rgba(get(self.node, "meanline.color"), line)
            xs, ys = self.point(numpy.array([middle - half / 2, middle + half / 2]), numpy.full(2, summary.mean))
            self.canvas.line(xs, ys, color, num(self.node, "meanline.width", self.line_width, 0, 50), "dash", self.clip)

    def _polygon(self, corners, fill, line):
        places, values = (numpy.array(part, dtype=float) for part in zip(*corners, strict=True))
        pixels = numpy.column_stack(self.point(places, values))
        self.canvas.polygons([pixels], fill, line, self.line_width, clip=self.clip)

    def _draw_points(self, place, values):
        wanted = get(self.node, "points", "outliers")
        if not isinstance(wanted, str) or wanted not in ("all", "outliers", "suspectedoutliers"):
            return
        everything = wanted == "all"
        values = values if everything else Summary(values).outliers()
        position = num(self.node, "pointpos", -1.5 if everything else 0.0, -2, 2)
        jitter = num(self.node, "jitter", 0.3 if everything else 0.0, 0, 1)
        self.draw_points(place, values, position, jitter)


def _density(node, values):
    """Returns values and how dense the given ones are there, by a normal kernel."""
    picked = values[:: max(1, len(values) // _VALUES)]
    summary = Summary(values)
    deviation = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    spread = min(deviation, (summary.third - summary.first) / 1.349) or deviation
    width = num(node, "bandwidth", 1.059 * spread * len(values) ** -0.2, 0) or (abs(summary.median) * 0.01 or 1.0)
    low, high = float(values[0]), float(values[-1])
    if word(node, "spanmode", "soft") != "hard":
        low, high = low - 2 * width, high + 2 * width
    at = numpy.linspace(low, high, _POINTS)
    distances = (at[:, None] - picked[None, :]) / width
    return at, numpy.exp(-0.5 * distances**2).sum(axis=1) / len(picked)
