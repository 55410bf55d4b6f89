"""Ternary subplots: the place of a point shows its shares of three parts."""

import math

import numpy

from brumate_plotly.drawing import curves
from brumate_plotly.figure import columns, steps
from brumate_plotly.figure.colors import faded, rgba
from brumate_plotly.figure.reading import Unreadable, child, flag, get, num, title_of, word
from brumate_plotly.layout.domains import place
from brumate_plotly.layout.legend import Entry
from brumate_plotly.traces import points
from brumate_plotly.traces.trace import Trace

# Height of a triangle whose sides are 1.
_HEIGHT = math.sqrt(3) / 2
# Pixels around the triangle, for labels.
_AROUND = 34.0
_AXES = ("aaxis", "baxis", "caxis")


class Ternary:
    """One ternary subplot. `a` is at the top, `b` on the left, `c` on the right."""

    def __init__(self, picture, name):
        self.picture = picture
        self.node = get(picture.layout, name, child(picture.layout, "ternary"))
        self.total = num(self.node, "sum", 1.0, 1e-12)
        self.least = [num(self.node, f"{axis}.min", 0.0, 0, self.total) for axis in _AXES]
        self.is_drawn = False

    def settle(self):
        """Finds the place of the triangle."""
        left, bottom, right, top = self.picture.frame.rectangle(*place(self.picture.layout, child(self.node, "domain")))
        self.side = max(10.0, min(right - left - 2 * _AROUND, (top - bottom - 2 * _AROUND) / _HEIGHT))
        self.x, self.y = (left + right - self.side) / 2, (bottom + top - self.side * _HEIGHT) / 2

    def pixels(self, a, b, c):
        """Returns the coordinates of points in pixels. Only the ratios of the three numbers matter."""
        with numpy.errstate(all="ignore"):
            scale = self.total / (a + b + c)
        room = max(self.total - sum(self.least), 1e-9)
        up = (a * scale - self.least[0]) / room
        right = (c * scale - self.least[2]) / room
        return self.x + self.side * (right + up / 2), self.y + self.side * _HEIGHT * up

    def draw(self):
        """Draws background, grid, labels and titles, once."""
        if self.is_drawn:
            return
        self.is_drawn = True
        canvas = self.picture.canvas
        corners = [(0.0, 0.0), (self.side, 0.0), (self.side / 2, self.side * _HEIGHT)]
        corners = [(self.x + x, self.y + y) for x, y in corners]
        canvas.polygons([corners], rgba(get(self.node, "bgcolor"), rgba("#fff")))
        room = self.total - sum(self.least)
        step = steps.nice(room / 5)
        for number, name in enumerate(_AXES):
            self._draw_axis(number, child(self.node, name), room, step)
        edge = rgba(get(self.node, "aaxis.linecolor"), "#444")
        canvas.line(*zip(*corners, corners[0], strict=True), edge, 1)

    def _point(self, shares):
        return (float(part) for part in self.pixels(*(numpy.float64(share) for share in shares)))

    def _draw_axis(self, number, node, room, step):
        canvas, (size, color) = self.picture.canvas, self.picture.font
        low = self.least[number]
        grid = rgba(get(node, "gridcolor"), "#eee")
        for at in steps.multiples(low, low + room, step).tolist():
            first, last = self._ends(number, at, room)
            (x0, y0), (x1, y1) = self._point(first), self._point(last)
            if flag(node, "showgrid", True) and low < at < low + room:
                canvas.line([x0, x1], [y0, y1], grid, num(node, "gridwidth", 1, 0, 20))
            if flag(node, "showticklabels", True):
                label = f"{at:.{steps.decimals(step)}f}"
                x, y, anchor = (
                    (x0 + 5, y0, ("left", "middle")),
                    (x0 - 5, y0 + 2, ("right", "middle")),
                    (x0, y0 - 5, ("center", "top")),
                )[number]
                canvas.text(x, y, label, size, color, anchor)
        title = title_of(node)
        large = num(node, "title.font.size", 1.2 * size, 1, 100)
        x, y, anchor = (
            (self.x + self.side / 2, self.y + self.side * _HEIGHT + 16, ("center", "bottom")),
            (self.x - 8, self.y - 18, ("right", "top")),
            (self.x + self.side + 8, self.y - 18, ("left", "top")),
        )[number]
        canvas.text(x, y, title, large, color, anchor)

    def _ends(self, number, at, room):
        """Returns both ends of the line on which a part has the value `at`. Its labels stand at the first end."""
        rest = [self.least[one] for one in range(3)]
        rest[number] = at
        missing = self.total - sum(rest)
        ends = []
        for other in ((number + 2) % 3, (number + 1) % 3):
            end = list(rest)
            end[other] += missing
            ends.append(end)
        return ends


class ScatterTernary(Trace):
    """A trace of type scatterternary."""

    layer = 6

    def __init__(self, picture, number, node, color):
        super().__init__(picture, number, node, color)
        self.subplot = picture.subplot(word(node, "subplot", "ternary"), Ternary)

    def calculate(self):
        parts = {name: columns.floats(columns.column(get(self.node, name))) for name in "abc"}
        count = min((len(part) for part in parts.values() if len(part)), default=0)
        missing = [name for name in "abc" if not len(parts[name])]
        if len(missing) > 1:
            raise Unreadable("two of three parts are missing")
        for name in missing:
            others = sum(parts[other][:count] for other in "abc" if other != name)
            parts[name] = self.subplot.total - others
        self.parts = [parts[name][:count] for name in "abc"]
        self.mode = word(self.node, "mode", "markers")
        self.line_color = faded(rgba(get(self.node, "line.color"), self.color), self.opacity)
        self.points = points.Points(self, count, self.color)

    def draw(self):
        self.subplot.draw()
        xs, ys = self.subplot.pixels(*self.parts)
        if word(self.node, "fill") == "toself":
            fill = faded(rgba(get(self.node, "fillcolor"), faded(self.line_color, 0.5)), self.opacity)
            self.canvas.area([ring for ring in curves.parts(xs, ys) if len(ring) > 2], fill)
        if "lines" in self.mode:
            style = num(self.node, "line.width", 2, 0, 50), word(self.node, "line.dash", "solid")
            self.canvas.line(xs, ys, self.line_color, *style)
        if "markers" in self.mode:
            self.points.draw(self.canvas, xs, ys)
        if "text" in self.mode:
            points.write(self, xs, ys, self.points.sizes / 2, dict(zip("abc", self.parts, strict=True)))

    def entries(self):
        line = (self.line_color, 2, word(self.node, "line.dash", "solid")) if "lines" in self.mode else None
        return [Entry(self.name, line=line, marker=self.points.sample() if "markers" in self.mode else None)]
