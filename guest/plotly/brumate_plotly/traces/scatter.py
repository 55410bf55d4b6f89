"""Scatter traces: lines, markers, texts, areas and error bars."""

import numpy

from brumate_plotly.drawing import curves
from brumate_plotly.figure import columns
from brumate_plotly.figure.colors import faded, rgba
from brumate_plotly.figure.reading import child, choice, flag, get, is_list, num, word
from brumate_plotly.layout.legend import Entry

from . import errors, points, stacks
from .trace import CartesianTrace

# With fewer points than this, markers are drawn when nothing is said.
_FEW = 20


class Scatter(CartesianTrace):
    """A trace of type scatter or scattergl."""

    layer = 6

    def __init__(self, picture, number, node, color):
        super().__init__(picture, number, node, color)
        self.stack = word(node, "stackgroup")
        self.is_flat = word(node, "orientation", "v") == "h"
        # The trace before, for areas between both.
        self.before = None
        self.base = None

    def _values(self):
        xs, ys = self.values("x"), self.values("y")
        return self.values("x", len(ys)), self.values("y", len(xs))

    def see(self):
        for axis, values in zip((self.x, self.y), self._values(), strict=True):
            axis.see(values)

    def weights(self):
        xs, ys = self._values()
        return [(self.x, xs, columns.floats(ys)), (self.y, ys, columns.floats(xs))]

    def calculate(self):
        xs, ys = self._values()
        count = min(len(xs), len(ys))
        mode = get(self.node, "mode")
        default = "lines+markers" if count < _FEW and not self.stack else "lines"
        self.mode = mode if isinstance(mode, str) else default
        self.xs, self.ys = self.x.convert(xs[:count]), self.y.convert(ys[:count])
        self._thin_out(count)
        count = len(self.xs)
        line = child(self.node, "line")
        marker_color = get(self.node, "marker.color")
        base = self.color if is_list(marker_color) else rgba(marker_color, self.color)
        self.line_color = faded(rgba(get(line, "color"), base), self.opacity)
        self.points = points.Points(self, count, rgba(get(line, "color"), self.color))
        self.errors = errors.of(self, count)
        self.fill = choice(self.node, "fill", _FILLS, "tonexty" if self.stack else "none")

    def _thin_out(self, count):
        """Keeps as many points as there may be: for a line those that show its outline."""
        if "markers" in self.mode or "text" in self.mode:
            self.kept = columns.thinned(count, self.picture.budget)
            if self.kept is not None:
                self.picture.notes.add(f"{count - len(self.kept)} of {count} markers of a trace")
        else:
            self.kept = curves.outline(self.xs, self.ys, self.picture.budget)
        if self.kept is not None:
            self.xs, self.ys = self.xs[self.kept], self.ys[self.kept]

    @staticmethod
    def arrange(traces):
        """Stacks the traces that are to be stacked, and tells each which one was before it."""
        last = {}
        groups = {}
        for trace in traces:
            key = trace.x.name, trace.y.name
            trace.before = last.get(key)
            last[key] = trace
            if trace.stack:
                groups.setdefault((*key, trace.stack), []).append(trace)
        for group in groups.values():
            stacks.stack(group)

    @property
    def reverses_legend(self):
        """What is on top of another one is so in the legend."""
        return self.fill in ("tonexty", "tonextx")

    def need(self):
        has_markers = "markers" in self.mode
        pixels = self.points.sizes.max() / 2 + 1 if has_markers and len(self.xs) else 0.0
        is_area = self.fill != "none"
        both = numpy.isfinite(self.xs) & numpy.isfinite(self.ys)
        self.x.need(self.xs[both], has_markers or "text" in self.mode or self.is_flat, pixels)
        self.y.need(self.ys[both], not (is_area and self.is_flat), pixels)
        for name, values in self.errors.reach(self):
            (self.x if name == "x" else self.y).need(values)
        if self.fill == "tozeroy" or (self.stack and not self.is_flat):
            self.y.need_zero()
        if self.fill == "tozerox" or (self.stack and self.is_flat):
            self.x.need_zero()

    def draw(self):
        xs, ys = self.x.px(self.xs), self.y.px(self.ys)
        if self.fill != "none":
            self._draw_area(xs, ys)
        if "lines" in self.mode:
            width = num(self.node, "line.width", 2, 0, 100)
            outline = self._path(xs, ys)
            self.canvas.line(*outline, self.line_color, width, self._dash(), self.clip, round_ends=len(xs) > 2)
        self.errors.draw(self, xs, ys)
        if "markers" in self.mode:
            self.points.draw(self.canvas, xs, ys, clip=self._loose_clip())
        if "text" in self.mode:
            gaps = self.points.sizes / 2 if "markers" in self.mode else numpy.zeros(len(xs))
            values = {"x": self.pick(self._values()[0]), "y": self.pick(self._values()[1])}
            points.write(self, xs, ys, gaps, values, clip=None)

    def _dash(self):
        return word(self.node, "line.dash", "solid")

    def _loose_clip(self):
        """Returns the clip for markers, which may reach beyond the subplot."""
        if flag(self.node, "cliponaxis", True):
            return self.clip
        return None

    def _path(self, xs, ys):
        """Returns the line through the points, in its shape, with gaps where points are missing."""
        if flag(self.node, "connectgaps"):
            good = numpy.isfinite(xs) & numpy.isfinite(ys)
            xs, ys = xs[good], ys[good]
        shape = word(self.node, "line.shape", "linear")
        return curves.shaped(xs, ys, shape, num(self.node, "line.smoothing", 1.0, 0, 1.3))

    def _draw_area(self, xs, ys):
        base = self.points.fill if isinstance(self.points.fill, tuple) and len(self.points.fill) == 4 else self.color
        color = self.line_color if "lines" in self.mode else faded(base, self.opacity)
        color = faded(rgba(get(self.node, "fillcolor"), faded(color, 0.5)), self.opacity)
        xs, ys = self._path(xs, ys)
        rings = self._rings(xs, ys)
        self.canvas.area([ring for ring in rings if len(ring) > 2], color, clip=self.clip)

    def _rings(self, xs, ys):
        """Returns the outlines of the area."""
        if self.fill in ("toself", "tonext"):
            rings = curves.parts(xs, ys)
            if self.fill == "tonext" and self.before is not None:
                before = self.before
                rings += curves.parts(*before._path(before.x.px(before.xs), before.y.px(before.ys)))
            return rings
        other = self._lower_edge()
        good = numpy.isfinite(xs) & numpy.isfinite(ys)
        if other is not None:
            edge = numpy.column_stack([xs[good], ys[good]])
            return [numpy.concatenate([edge, other[::-1]])]
        return self._to_zero(xs, ys)

    def _lower_edge(self):
        """Returns the line that the area goes to: that of the trace before, or what the trace is stacked on."""
        if self.stack:
            if self.base is None:
                return None
            places = (self.base, self.ys) if self.is_flat else (self.xs, self.base)
            edge = self._path(self.x.px(places[0]), self.y.px(places[1]))
        elif self.fill in ("tonexty", "tonextx") and self.before is not None:
            edge = self.before._path(self.before.x.px(self.before.xs), self.before.y.px(self.before.ys))
        else:
            return None
        edge = numpy.column_stack(edge)
        return edge[numpy.isfinite(edge).all(axis=1)]

    def _to_zero(self, xs, ys):
        axis = self.x if self.fill in ("tozerox", "tonextx") else self.y
        low, high = axis.bounds()
        zero = float(axis.px(low if axis.kind == "log" else min(max(0.0, low - (high - low)), high + (high - low))))
        rings = []
        for ring in curves.parts(xs, ys):
            ends = ring[[-1, 0]].copy()
            ends[:, 0 if axis is self.x else 1] = zero
            rings.append(numpy.concatenate([ring, ends]))
        return rings

    def error_color(self):
        return self.line_color

    def entries(self):
        line = marker = area = None
        if "lines" in self.mode:
            line = self.line_color, num(self.node, "line.width", 2, 0, 100), self._dash()
        if "markers" in self.mode:
            marker = self.points.sample()
        if self.fill != "none":
            color = line[0] if line else self.line_color
            area = faded(rgba(get(self.node, "fillcolor"), faded(color, 0.5)), self.opacity)
        return [Entry(self.name, line=line, marker=marker, area=area)]


_FILLS = ("none", "tozeroy", "tozerox", "tonexty", "tonextx", "toself", "tonext")
