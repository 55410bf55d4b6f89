"""Contours: lines and bands of the same height."""

import math

import numpy
from contourpy import contour_generator

from brumate_plotly.drawing.markup import flat
from brumate_plotly.figure.colors import CLEAR, faded, rgba
from brumate_plotly.figure.reading import as_number, child, choice, flag, get, num, word
from brumate_plotly.figure.steps import nice
from brumate_plotly.layout.legend import Entry
from brumate_plotly.traces.points import font_of

from . import heatmaps

# Heights of one trace.
MAX_LEVELS = 200
# Pixels of a line that has a label.
_MIN_LABELLED = 60


class Contour(heatmaps.Heatmap):
    """A trace of type contour."""

    layer = 1

    def calculate(self):
        super().calculate()
        self._find_levels()

    def _find_levels(self):
        """Finds the heights of the lines, and the bounds of the colors."""
        good = self.z[numpy.isfinite(self.z)]
        low, high = (float(good.min()), float(good.max())) if len(good) else (0.0, 1.0)
        low, high = num(self.node, "zmin", low), num(self.node, "zmax", high)
        node = child(self.node, "contours")
        size = num(node, "size", 0.0, 0) or nice((high - low) / num(self.node, "ncontours", 15, 1, MAX_LEVELS))
        start = as_number(get(node, "start"), math.floor(low / size + 1 + 1e-9) * size)
        end = as_number(get(node, "end"), math.ceil(high / size - 1 - 1e-9) * size)
        if start > end:
            start = end = (low + high) / 2
        count = min(MAX_LEVELS, math.floor((end - start) / size + 1e-6) + 1)
        self.levels = start + numpy.arange(max(1, count)) * size
        self.coloring = choice(node, "coloring", ("fill", "heatmap", "lines", "none"))
        if word(node, "type") == "constraint":
            self.picture.notes.add("constraints of contours")
        self.mapping.has_bar &= self.coloring != "none"
        if self.coloring == "fill":
            self.mapping.extend(numpy.array([start - size / 2, self.levels[-1] + size / 2]))
            self.mapping.bands = self.levels
        self.size = size

    def need(self):
        self.sort()
        # Contours go from the middle of the first cell to that of the last one.
        self.x.need(self.middle_x, padded=False)
        self.y.need(self.middle_y, padded=False)

    def draw(self):
        if min(self.z.shape) < 2:
            return
        xs, ys = self.x.px(self.middle_x), self.y.px(self.middle_y)
        heights = numpy.ma.masked_invalid(self.z)
        generator = contour_generator(xs, ys, heights, fill_type="OuterOffset", line_type="Separate")
        if self.coloring == "fill":
            self._draw_bands(generator)
        elif self.coloring == "heatmap":
            self._paint_smooth()
        shows_lines = self.coloring in ("lines", "none") or flag(self.node, "contours.showlines", True)
        if shows_lines:
            self._draw_lines(generator)

    def _draw_bands(self, generator):
        edges = [-1e300, *self.levels.tolist(), 1e300]
        for low, high in zip(edges, edges[1:], strict=False):
            middle = low + self.size / 2 if low > -1e300 else high - self.size / 2
            color = tuple(self.mapping.colors(numpy.array([middle]))[0])
            rings = []
            for points, offsets in zip(*generator.filled(low, high), strict=True):
                rings += [points[start:end] for start, end in zip(offsets, offsets[1:], strict=False)]
            # An edge of the same color closes the seams between bands.
            self.canvas.area(rings, faded(color, self.opacity), faded(color, self.opacity), 0.3, clip=self.clip)

    def _draw_lines(self, generator):
        node = child(self.node, "line")
        width = num(node, "width", 0.5 if self.coloring == "fill" else 1.5, 0, 50)
        dash = word(node, "dash", "solid")
        for level in self.levels.tolist():
            color = self._line_color(level)
            lines = [line for line in generator.lines(level) if len(line) > 1]
            self.canvas.segments(lines, color, width, dash, clip=self.clip)
            if flag(self.node, "contours.showlabels"):
                self._label(level, lines)

    def _line_color(self, level):
        if self.coloring == "lines":
            return faded(tuple(self.mapping.colors(numpy.array([level]))[0]), self.opacity)
        default = self.color if self.coloring == "none" else rgba("#000")
        return faded(rgba(get(self.node, "line.color"), default), self.opacity)

    def _label(self, level, lines):
        """Writes a height on lines that are long enough."""
        size, color, bold = font_of(self, "contours.labelfont")
        text = flat(f"{level:.6g}")
        for line in lines:
            steps = numpy.hypot(*numpy.diff(line, axis=0).T)
            if steps.sum() < _MIN_LABELLED:
                continue
            at = int(numpy.searchsorted(numpy.cumsum(steps), steps.sum() / 2))
            start, end = line[max(0, at - 1)], line[min(len(line) - 1, at + 1)]
            angle = -math.degrees(math.atan2(end[1] - start[1], end[0] - start[0]))
            angle = (angle + 90) % 180 - 90
            self.canvas.text(*line[at], text, size, color, ("center", "middle"), angle, bold, clip=self.clip)

    def entries(self):
        if self.coloring in ("lines", "none"):
            return [Entry(self.name, line=(self._line_color(float(self.levels[0])), 2, "solid"))]
        return [Entry(self.name, box=(self.color, CLEAR, 0))]

    def shows_in_legend(self, alone):
        return flag(self.node, "showlegend", False)


class Histogram2dContour(Contour):
    """A trace of type histogram2dcontour."""

    def see(self):
        heatmaps.Histogram2d.see(self)

    def calculate(self):
        self.z, across, up = heatmaps.counted(self)
        # One empty cell around all of them closes the lines.
        self.z = numpy.pad(numpy.nan_to_num(self.z), 1)
        self.middle_x, self.middle_y = (_around((part[1:] + part[:-1]) / 2) for part in (across, up))
        self.across, self.up = heatmaps.edges(self.middle_x), heatmaps.edges(self.middle_y)
        self.mapping = self.picture.mappings.of(self.node, "z", has_bar=True)
        self.mapping.opacity = self.opacity
        self._find_levels()
        if self.coloring != "fill":
            self.mapping.extend(self.z.ravel())


def _around(middles):
    """Returns places with one more before and after."""
    step = middles[1] - middles[0] if len(middles) > 1 else 1.0
    return numpy.concatenate([[middles[0] - step], middles, [middles[-1] + step]])
