"""Boxes: quartiles, whiskers and the points beyond them."""

import numpy

from brumate_plotly.figure import columns
from brumate_plotly.figure.reading import get, is_list, num, word

from .distribution import Distribution

_POINTS = ("all", "outliers", "suspectedoutliers")


class Summary:
    """What a box shows of sorted values: quartiles and ends of whiskers."""

    def __init__(self, values, method="linear"):
        self.values = values
        self.first, self.median, self.third = _quartiles(values, method)
        reach = 1.5 * (self.third - self.first)
        inner = values[(values >= self.first - reach) & (values <= self.third + reach)]
        self.low = min(float(inner[0]), self.first) if len(inner) else self.first
        self.high = max(float(inner[-1]), self.third) if len(inner) else self.third
        self.mean, self.deviation = float(values.mean()), float(values.std())
        spread = 1.57 * (self.third - self.first) / len(values) ** 0.5
        self.notch = self.median - spread, self.median + spread

    def outliers(self):
        """Returns the values beyond the whiskers."""
        return self.values[(self.values < self.low) | (self.values > self.high)]


def _quartiles(values, method):
    if method == "linear" or len(values) < 2:
        at = numpy.array([0.25, 0.5, 0.75]) * len(values) - 0.5
        return (float(part) for part in numpy.interp(at, numpy.arange(len(values)), values))
    half, odd = divmod(len(values), 2)
    extra = odd if method == "inclusive" else 0
    lower, upper = values[: half + extra], values[len(values) - half - extra :]
    return (float(numpy.median(part)) for part in (lower, values, upper))


class Box(Distribution):
    """A trace of type box; a strip is a box whose box is clear and whose points are all drawn."""

    def calculate(self):
        if is_list(get(self.node, "median")) or is_list(get(self.node, "q1")):
            self._take_given()
            return
        super().calculate()
        method = word(self.node, "quartilemethod", "linear")
        self.summaries = [(place, Summary(values, method)) for place, values in self.groups]

    def _take_given(self):
        """Takes quartiles that the figure lists."""
        names = {"first": "q1", "median": "median", "third": "q3"}
        rows = {name: self.across.convert(columns.column(get(self.node, path))) for name, path in names.items()}
        count = min(len(row) for row in rows.values())
        ends = {"low": ("lowerfence", "first"), "high": ("upperfence", "third"), "mean": ("mean", "median")}
        for name, (path, other) in ends.items():
            given = self.across.convert(columns.column(get(self.node, path)))
            rows[name] = given if len(given) >= count else rows[other]
        listed = self.values(self.letters[0])
        places = self.along.convert(listed) if len(listed) else numpy.arange(count, dtype=float)
        self.summaries, self.groups = [], []
        for number in range(min(count, len(places))):
            summary = object.__new__(Summary)
            vars(summary).update({name: float(row[number]) for name, row in rows.items()})
            summary.values, summary.deviation = numpy.zeros(0), 0.0
            summary.notch = summary.first, summary.third
            self.summaries.append((float(places[number]), summary))
            self.groups.append((float(places[number]), numpy.zeros(0)))
        self.all_values = numpy.concatenate([rows[name][:count] for name in ("low", "high", "first", "third")])

    def draw(self):
        for place, summary in self.summaries:
            if self.line_color[3] or self.fill_color[3]:
                self._draw_box(place, summary)
            self._draw_points(place, summary)

    def _draw_box(self, place, summary):
        middle, half = self.ends(place)
        corners = self._outline(middle, half, summary)
        pixels = numpy.column_stack(self.point(*(numpy.array(part) for part in zip(*corners, strict=True))))
        self.canvas.polygons([pixels], self.fill_color, self.line_color, self.line_width, clip=self.clip)
        waist = half * 0.5 if self._has_notch() else half
        self._stroke([middle - waist, middle + waist], [summary.median] * 2)
        cap = half * num(self.node, "whiskerwidth", 0.5, 0, 1)
        for start, end in ((summary.first, summary.low), (summary.third, summary.high)):
            self._stroke([middle] * 2, [start, end])
            self._stroke([middle - cap, middle + cap], [end] * 2)
        wanted = word(self.node, "boxmean")
        if wanted in ("true", "sd"):
            self._stroke([middle - half, middle + half], [summary.mean] * 2, "dash")
        if wanted == "sd":
            sides = [0, -half, 0, half, 0]
            ends = [summary.deviation, 0, -summary.deviation, 0, summary.deviation]
            self._stroke([middle + side for side in sides], [summary.mean + end for end in ends], "dash")

    def _has_notch(self):
        return get(self.node, "notched") is True

    def _outline(self, middle, half, summary):
        """Returns the corners of a box, with a waist when it has a notch."""
        left, right, first, third = middle - half, middle + half, summary.first, summary.third
        if not self._has_notch():
            return [(left, first), (left, third), (right, third), (right, first)]
        low, high = summary.notch
        waist = middle - half * 0.5, middle + half * 0.5
        side = [(first, left), (low, left), (summary.median, waist[0]), (high, left), (third, left)]
        other = [(third, right), (high, right), (summary.median, waist[1]), (low, right), (first, right)]
        return [(place, value) for value, place in side + other]

    def _stroke(self, places, values, dash="solid"):
        xs, ys = self.point(numpy.array(places, dtype=float), numpy.array(values, dtype=float))
        self.canvas.line(xs, ys, self.line_color, self.line_width, dash, self.clip)

    def _draw_points(self, place, summary):
        wanted = get(self.node, "boxpoints", "outliers")
        if not isinstance(wanted, str) or wanted not in _POINTS:
            return
        everything = wanted == "all"
        values = summary.values if everything else summary.outliers()
        position = num(self.node, "pointpos", -1.5 if everything else 0.0, -2, 2)
        jitter = num(self.node, "jitter", 0.3 if everything else 0.0, 0, 1)
        self.draw_points(place, values, position, jitter)
