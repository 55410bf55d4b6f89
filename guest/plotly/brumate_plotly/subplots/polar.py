"""Polar subplots: points, lines and bars by angle and distance."""

import math

import numpy

from brumate_plotly.axes import ticks
from brumate_plotly.axes.axis import Axis, order_categories
from brumate_plotly.drawing import curves
from brumate_plotly.figure import columns
from brumate_plotly.figure.colors import CLEAR, faded, rgba
from brumate_plotly.figure.reading import as_number, child, choice, flag, get, is_list, num, shown, word
from brumate_plotly.layout.domains import place, sector
from brumate_plotly.layout.legend import Entry
from brumate_plotly.traces import points
from brumate_plotly.traces.trace import Trace

# Pixels around a polar subplot, for labels of angles.
_AROUND = 24.0


class Polar:
    """One polar subplot."""

    def __init__(self, picture, name):
        self.picture = picture
        self.node = get(picture.layout, name, child(picture.layout, "polar"))
        self.radial = Axis("r", get(self.node, "radialaxis"), False)
        self.angular_node = child(self.node, "angularaxis")
        self.angles = Axis("theta", self.angular_node, False)
        self.is_drawn = False
        self.x = self.y = self.radius = 0.0

    def settle(self):
        """Finds the place of the circle and the range of distances."""
        span, up = place(self.picture.layout, child(self.node, "domain"))
        left, bottom, right, top = self.picture.frame.rectangle(span, up)
        self.radius = max(5.0, min(right - left, top - bottom) / 2 - _AROUND)
        self.x, self.y = (left + right) / 2, (bottom + top) / 2
        self.inner = self.radius * num(self.node, "hole", 0, 0, 0.95)
        self.radial.place(0.0, self.radius)
        if self.radial.kind != "category":
            self.radial.need_zero()
        self.radial.settle_range()
        self.radial.place(self.inner, self.radius - self.inner)
        turns = word(self.angular_node, "direction", "counterclockwise") == "clockwise"
        self._sign = -1 if turns else 1
        self._start = math.radians(num(self.angular_node, "rotation", 90 if turns else 0))

    def turn(self, degrees):
        """Returns angles in radians. Angle 0 points to the right, and angles grow counterclockwise."""
        return self._start + self._sign * numpy.radians(degrees)

    def degrees(self, values, unit="degrees"):
        """Returns angles in degrees. Categories divide the circle into equal parts."""
        if self.angles.kind == "category":
            period = num(self.angular_node, "period", 0, 0) or max(1, len(self.angles.categories))
            return self.angles.convert(values) * 360 / period
        numbers = columns.floats(values)
        return numpy.degrees(numbers) if unit == "radians" else numbers

    def pixels(self, degrees, distances):
        """Returns the coordinates of points in pixels."""
        far = self.radial.px(distances)
        turn = self.turn(degrees)
        return self.x + far * numpy.cos(turn), self.y + far * numpy.sin(turn)

    def outline(self, distance):
        """Returns the points of a circle with this radius in pixels. A linear grid of categories has a polygon."""
        if word(self.node, "gridshape") == "linear" and self.angles.kind == "category":
            degrees = numpy.arange(len(self.angles.categories)) * 360 / max(1, len(self.angles.categories))
        else:
            degrees = numpy.arange(0, 360, 2)
        turn = self.turn(degrees)
        return numpy.column_stack([self.x + distance * numpy.cos(turn), self.y + distance * numpy.sin(turn)])

    def clip(self):
        """Returns the rectangle around the circle."""
        return self.x - self.radius, self.y - self.radius, self.x + self.radius, self.y + self.radius

    def draw(self):
        """Draws background, grid and labels, once."""
        if self.is_drawn:
            return
        self.is_drawn = True
        canvas = self.picture.canvas
        canvas.area([self.outline(self.radius)], rgba(get(self.node, "bgcolor"), rgba("#fff")))
        self._draw_rings(canvas)
        self._draw_spokes(canvas)

    def _draw_rings(self, canvas):
        node = self.radial.node
        low, high = self.radial.bounds()
        self.radial.ticks = [(at, label) for at, label in ticks.ticks(self.radial) if low <= at <= high]
        color, width = rgba(get(node, "gridcolor"), rgba("#eee")), num(node, "gridwidth", 1, 0, 20)
        visible = flag(node, "visible", True)
        if visible and flag(node, "showgrid", True):
            for at, _ in self.radial.ticks:
                ring = self.outline(float(self.radial.px(at)))
                canvas.line(*numpy.concatenate([ring, ring[:1]]).T, color, width)

    def draw_labels(self):
        """Draws the labels of distances over the traces of the subplot."""
        canvas, node = self.picture.canvas, self.radial.node
        if not flag(node, "visible", True) or not flag(node, "showticklabels", True):
            return
        size, color = self.picture.font
        size, color = num(node, "tickfont.size", size, 1, 100), rgba(get(node, "tickfont.color"), color)
        turn = math.radians(num(node, "angle", 0.0))
        if get(node, "angle") is None and self._sign < 0:
            turn = self._start if flag(node, "autoangle", True) else 0.0
        across = math.cos(turn - math.pi / 2), math.sin(turn - math.pi / 2)
        for at, label in self.radial.ticks:
            far = float(self.radial.px(at))
            x, y = self.x + far * math.cos(turn), self.y + far * math.sin(turn)
            anchor = ("center", "top") if abs(across[1]) > 0.7 else ("left", "middle")
            canvas.text(x + 4 * across[0], y + 2 * across[1], label, size, color, anchor)

    def _draw_spokes(self, canvas):
        node = self.angular_node
        if not flag(node, "visible", True):
            return
        color, width = rgba(get(node, "gridcolor"), rgba("#eee")), num(node, "gridwidth", 1, 0, 20)
        size, ink = self.picture.font
        size, ink = num(node, "tickfont.size", size, 1, 100), rgba(get(node, "tickfont.color"), ink)
        for degrees, label in self._angles():
            turn = float(self.turn(degrees))
            cosine, sine = math.cos(turn), math.sin(turn)
            if flag(node, "showgrid", True):
                ends = [self.x + self.inner * cosine, self.x + self.radius * cosine]
                canvas.line(ends, [self.y + self.inner * sine, self.y + self.radius * sine], color, width)
            if flag(node, "showticklabels", True):
                across = "center" if abs(cosine) < 0.2 else "left" if cosine > 0 else "right"
                down = "bottom" if sine > 0.8 else "top" if sine < -0.8 else "middle"
                at = self.radius + 6
                canvas.text(self.x + at * cosine, self.y + at * sine, label, size, ink, (across, down))
        edge = rgba(get(node, "linecolor"), rgba("#444"))
        if flag(node, "showline", True):
            ring = self.outline(self.radius)
            canvas.line(*numpy.concatenate([ring, ring[:1]]).T, edge, num(node, "linewidth", 1, 0, 20))

    def _angles(self):
        """Returns the angles that have a label."""
        names = self.angles.categories
        if self.angles.kind == "category":
            step = max(1, len(names) // 36)
            return [(number * 360 / len(names), names[number]) for number in range(0, len(names), step)]
        values, texts = get(self.angular_node, "tickvals"), get(self.angular_node, "ticktext")
        if is_list(values):
            found = columns.floats(values).tolist()
            labels = [shown(text) for text in texts] if is_list(texts) else []
            return [(at, labels[n] if n < len(labels) else f"{at:g}°") for n, at in enumerate(found) if at == at]
        step = max(5.0, as_number(get(self.angular_node, "dtick"), 45.0))
        suffix = word(self.angular_node, "ticksuffix", "°")
        return [(float(at), f"{at:g}{suffix}") for at in numpy.arange(0, 360, step)]


class PolarTrace(Trace):
    """A trace of a polar subplot."""

    def __init__(self, picture, number, node, color):
        super().__init__(picture, number, node, color)
        self.subplot = picture.subplot(word(node, "subplot", "polar"), Polar)

    def _columns(self):
        distances, angles = (columns.column(get(self.node, name)) for name in ("r", "theta"))
        if not len(angles):
            angles = numpy.arange(len(distances)) * (360 / max(1, len(distances)))
        if not len(distances):
            distances = numpy.arange(len(angles))
        return distances, angles

    def see(self):
        distances, angles = self._columns()
        self.subplot.radial.see(distances)
        self.subplot.radial.kind = self.subplot.radial.kind or "linear"
        self.subplot.angles.see(angles)

    def calculate(self):
        order_categories(self.subplot.angles, [])
        distances, angles = self._columns()
        count = min(len(distances), len(angles))
        self.kept = columns.thinned(count, self.picture.budget)
        self.distances = self.pick(self.subplot.radial.convert(distances[:count]))
        self.degrees = self.pick(self.subplot.degrees(angles[:count], word(self.node, "thetaunit")))

    def need(self):
        self.subplot.radial.need(self.distances)

    def draw(self):
        self.subplot.draw()
        self.draw_inside()
        last = [trace for trace in self.picture.traces if getattr(trace, "subplot", None) is self.subplot]
        if last and last[-1] is self:
            self.subplot.draw_labels()

    def draw_inside(self):
        """Draws the trace over the background of its subplot."""


class ScatterPolar(PolarTrace):
    """A trace of type scatterpolar."""

    layer = 6

    def calculate(self):
        super().calculate()
        count = len(self.distances)
        default = "lines+markers" if count < 20 else "lines"
        self.mode = word(self.node, "mode", default)
        base = get(self.node, "marker.color")
        base = rgba(base if isinstance(base, str) else None, self.color)
        self.line_color = faded(rgba(get(self.node, "line.color"), base), self.opacity)
        self.points = points.Points(self, count, rgba(get(self.node, "line.color"), self.color))

    def draw_inside(self):
        xs, ys = self.subplot.pixels(self.degrees, self.distances)
        fill = word(self.node, "fill", "none")
        shape = word(self.node, "line.shape", "linear")
        outline = curves.shaped(xs, ys, shape if shape == "spline" else "linear")
        if fill in ("toself", "tonext"):
            self.canvas.area([ring for ring in curves.parts(*outline) if len(ring) > 2], self._area_color())
        if "lines" in self.mode:
            self.canvas.line(*outline, self.line_color, num(self.node, "line.width", 2, 0, 50), self._dash())
        if "markers" in self.mode:
            self.points.draw(self.canvas, xs, ys)
        if "text" in self.mode:
            gaps = self.points.sizes / 2 if "markers" in self.mode else numpy.zeros(len(xs))
            points.write(self, xs, ys, gaps, {"r": self.distances, "theta": self.degrees})

    def _dash(self):
        return word(self.node, "line.dash", "solid")

    def _area_color(self):
        return faded(rgba(get(self.node, "fillcolor"), faded(self.line_color, 0.5)), self.opacity)

    def entries(self):
        line = (self.line_color, num(self.node, "line.width", 2, 0, 50), self._dash()) if "lines" in self.mode else None
        marker = self.points.sample() if "markers" in self.mode else None
        area = self._area_color() if word(self.node, "fill", "none") != "none" else None
        return [Entry(self.name, line=line, marker=marker, area=area)]


class BarPolar(PolarTrace):
    """A trace of type barpolar."""

    layer = 3

    @staticmethod
    def arrange(traces):
        """Places the bars of each subplot. They are stacked unless `barmode` is `overlay`."""
        for subplot in dict.fromkeys(trace.subplot for trace in traces):
            group = [trace for trace in traces if trace.subplot is subplot]
            stacked = choice(subplot.node, "barmode", ("stack", "overlay")) == "stack"
            ends = {}
            step = _least_step(group)
            for trace in group:
                trace.stack(ends if stacked else {}, step * (1 - num(subplot.node, "bargap", 0.1, 0, 0.99)))

    def stack(self, ends, width):
        """Sets the starts, ends and widths of the bars."""
        self.points = points.Points(self, len(self.distances), self.color)
        self.widths = self.numbers(get(self.node, "width"), len(self.distances), width)
        self.starts = self.numbers(get(self.node, "base"), len(self.distances), 0.0)
        for number, (at, size) in enumerate(zip(self.degrees.tolist(), self.distances.tolist(), strict=True)):
            if get(self.node, "base") is None:
                self.starts[number] = ends.get(at, 0.0)
            ends[at] = self.starts[number] + (size if size == size else 0.0)
        self.ends = self.starts + self.distances

    def need(self):
        self.subplot.radial.need(self.ends)

    def draw_inside(self):
        rings, chosen = [], []
        turn = self.subplot.turn
        for number, (at, width) in enumerate(zip(self.degrees.tolist(), self.widths.tolist(), strict=True)):
            inner, outer = (float(self.subplot.radial.px(values[number])) for values in (self.starts, self.ends))
            if math.isfinite(at + inner + outer):
                ends = float(turn(at - width / 2)), float(turn(at + width / 2))
                rings.append(sector(self.subplot.x, self.subplot.y, max(inner, 0.0), max(outer, 0.0), *ends))
                chosen.append(number)
        fill, edge = self.points.fill_colors(), self.points.edge_colors()
        fill, edge = (color if color.ndim == 1 else color[chosen] for color in (fill, edge))
        self.canvas.polygons(rings, fill, edge, self.points.width[chosen] if chosen else 0.0)

    def entries(self):
        sample = self.points.sample()
        return [Entry(self.name, box=(sample[2] if sample else self.color, CLEAR, 0))]


def _least_step(traces):
    places = numpy.unique(numpy.concatenate([trace.degrees[numpy.isfinite(trace.degrees)] for trace in traces]))
    return float(numpy.diff(places).min()) if len(places) > 1 else 360.0
