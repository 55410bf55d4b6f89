"""Bars that say which color stands for which number."""

import numpy

from brumate_plotly.axes import ticks
from brumate_plotly.axes.axis import Axis
from brumate_plotly.drawing import markup
from brumate_plotly.drawing.writing import LINE
from brumate_plotly.figure.colors import faded, rgba
from brumate_plotly.figure.reading import choice, get, num, title_of, word

_PAD = 10.0
_SHARE = {"left": 0.0, "center": 0.5, "right": 1.0, "bottom": 0.0, "middle": 0.5, "top": 1.0}


class Colorbar:
    """The bar of one mapping."""

    def __init__(self, picture, mapping):
        self._picture, self._mapping, self._canvas = picture, mapping, picture.canvas
        self._node = node = mapping.bar
        self._is_flat = word(node, "orientation", "v") == "h"
        self._thickness = num(node, "thickness", 30, 1, 500)
        if word(node, "thicknessmode") == "fraction":
            self._thickness *= picture.width
        self._size, self._color = picture.font
        self._size = num(node, "tickfont.size", self._size, 1, 100)
        self._color = rgba(get(node, "tickfont.color"), self._color)
        self._read_title(node)
        self._axis = Axis("colorbar", {**node, "type": "linear"}, not self._is_flat)
        self._labels, self._extent, self._shift = [], 0.0, 0.0

    def _read_title(self, node):
        self._title = title_of(node)
        self._title_size = num(node, "title.font.size", self._size, 1, 100)
        side = choice(node, "title.side", ("top", "right", "bottom"))
        self._title_is_beside = bool(self._title) and side == "right" and not self._is_flat

    def ask(self, frame, shift):
        """Finds ticks for the length of the bar, and asks for room. Returns how much it takes on the right."""
        self._shift = shift
        length, whole = self._length(frame)
        self._axis.range = self._mapping.bounds()
        self._axis.place(0.0, length)
        found = ticks.ticks(self._axis)
        low, high = self._axis.bounds()
        self._labels = [(at, label) for at, label in found if low - 1e-9 <= at <= high + 1e-9]
        sizes = [self._canvas.measure(label, self._size) for _, label in self._labels]
        self._extent = max((size[1 if self._is_flat else 0] for size in sizes), default=0.0)
        width, height = self._measure(whole)
        x, y, across, down = self._anchor()
        before, above = width * _SHARE[across], height * (1 - _SHARE[down])
        frame.ask("l", x, before - shift)
        frame.ask("r", x, width - before + shift)
        frame.ask("t", y, above)
        frame.ask("b", y, height - above)
        is_outside = not self._is_flat and x >= 1 and across == "left"
        return width + (x - 1) * frame.plot_width if is_outside else 0.0

    def _measure(self, whole):
        """Returns width and height of all that belongs to the bar."""
        depth = self._thickness + 6 + self._extent
        title = self._canvas.measure(self._title, self._title_size)[0] if self._title else 0.0
        if self._is_flat:
            return whole, depth + 2 * _PAD + self._title_height()
        if self._title_is_beside:
            return depth + 2 * _PAD + LINE * self._title_size, whole
        return max(depth, title) + 2 * _PAD, whole

    def _title_height(self):
        if not self._title or self._title_is_beside:
            return 0.0
        return LINE * self._title_size * len(markup.lines(self._title))

    def _length(self, frame):
        """Returns the pixels of the bar, and those with what stands at its ends."""
        whole = frame.plot_width if self._is_flat else frame.plot_height
        whole = num(self._node, "len", 1.0, 0, 5) * (1.0 if word(self._node, "lenmode") == "pixels" else whole)
        used = 2 * _PAD + (0.0 if self._is_flat else self._title_height())
        return max(20.0, whole - used), max(whole, 20.0 + used)

    def _anchor(self):
        x = num(self._node, "x", 0.5 if self._is_flat else 1.02, -2, 3)
        y = num(self._node, "y", 1.02 if self._is_flat else 0.5, -2, 3)
        across = choice(self._node, "xanchor", ("left", "center", "right"), "center" if self._is_flat else "left")
        down = choice(self._node, "yanchor", ("top", "middle", "bottom"), "bottom" if self._is_flat else "middle")
        return x, y, across, down

    def draw(self, frame):
        """Draws the bar."""
        length, whole = self._length(frame)
        width, height = self._measure(whole)
        x, y, across, down = self._anchor()
        left = frame.x(x) - width * _SHARE[across] + self._shift
        bottom = frame.y(y) - height * _SHARE[down]
        left, bottom = min(left, frame.width - width), max(0.0, min(bottom, frame.height - height))
        if self._is_flat:
            self._draw_flat(left, bottom, length, height)
        else:
            self._draw_upright(left, bottom, length)

    def _draw_upright(self, left, bottom, length):
        left, bottom = left + _PAD, bottom + _PAD
        self._axis.place(bottom, length)
        self._draw_colors(left, bottom, length)
        right = left + self._thickness
        for at, label in self._labels:
            self._canvas.text(right + 5, float(self._axis.px(at)), label, self._size, self._color)
        if not self._title:
            return
        if self._title_is_beside:
            x = right + 8 + self._extent
            self._write_title(x, bottom + length / 2, ("center", "bottom"), 90)
        else:
            self._write_title(left, bottom + length + 6, ("left", "bottom"))

    def _draw_flat(self, left, bottom, length, height):
        left, base = left + _PAD, bottom + _PAD + self._extent + 6
        self._axis.place(left, length)
        self._draw_colors(left, base, length)
        for at, label in self._labels:
            self._canvas.text(float(self._axis.px(at)), base - 3, label, self._size, self._color, ("center", "top"))
        if self._title:
            self._write_title(left, base + self._thickness + 4, ("left", "bottom"))

    def _write_title(self, x, y, anchor, angle=0):
        bold = word(self._node, "title.font.weight") == "bold"
        color = rgba(get(self._node, "title.font.color"), self._picture.font[1])
        self._canvas.text(x, y, self._title, self._title_size, color, anchor, angle, bold=bold)

    def _draw_colors(self, left, bottom, length):
        mapping = self._mapping
        count = max(1, round(length))
        low, high = mapping.bounds()
        values = low + (numpy.arange(count) + 0.5) / count * (high - low)
        if mapping.bands is not None and len(mapping.bands):
            values = banded(values, mapping.bands)
        colors = mapping.colors(values)
        colors[:, 3] *= mapping.opacity
        wide = max(1, round(self._thickness))
        rows = numpy.repeat(
            colors[:, None] if not self._is_flat else colors[None], wide, axis=0 if self._is_flat else 1
        )
        self._canvas.picture(rows, round(left), round(bottom))
        width = num(self._node, "outlinewidth", 1, 0, 20)
        if width:
            edge = rgba(get(self._node, "outlinecolor"), rgba("#444"))
            ends = (length, self._thickness) if self._is_flat else (self._thickness, length)
            self._canvas.rectangles(left, bottom, left + ends[0], bottom + ends[1], faded(edge, 0), edge, width)


def banded(values, levels):
    """Returns for each value the middle of the band between two levels that it is in."""
    levels = numpy.asarray(levels, dtype=float)
    step = levels[1] - levels[0] if len(levels) > 1 else 1.0
    index = numpy.searchsorted(levels, values, side="right")
    return levels[0] + (index - 0.5) * step
