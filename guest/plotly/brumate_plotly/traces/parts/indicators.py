"""Indicators: a number, how it differs from another one, and a gauge."""

import math

from brumate_plotly.axes import ticks
from brumate_plotly.axes.axis import Axis
from brumate_plotly.drawing import markup
from brumate_plotly.drawing.writing import LINE
from brumate_plotly.figure import formats
from brumate_plotly.figure.colors import rgba
from brumate_plotly.figure.reading import as_number, child, choice, get, listed, nodes, num, pair, title_of, word
from brumate_plotly.layout.domains import DomainTrace, sector


class Indicator(DomainTrace):
    """A trace of type indicator."""

    def calculate(self):
        self.value = num(self.node, "value")
        mode = word(self.node, "mode", "number")
        self.parts = [part for part in ("gauge", "number", "delta") if part in mode]
        given = listed(self.node, "gauge.axis.range")
        low, high = (as_number(end) for end in given) if len(given) == 2 else (None, None)
        self.span = low or 0.0, (1.5 * self.value if self.value else 1.0) if high is None else high
        if self.span[0] == self.span[1]:
            self.span = self.span[0], self.span[0] + 1

    def draw(self):
        left, bottom, right, top = self.rectangle()
        is_bullet = word(self.node, "gauge.shape") == "bullet"
        top = self._draw_title(left, right, top, is_bullet)
        if "gauge" not in self.parts:
            self._draw_numbers(
                (left + right) / 2, (bottom + top) / 2, min(80.0, (top - bottom) * 0.5, (right - left) / 4)
            )
        elif is_bullet:
            self._draw_bullet(left, bottom, right, top)
        else:
            self._draw_gauge(left, bottom, right, top)

    def _draw_title(self, left, right, top, is_bullet):
        """Draws the title. Returns what is left of the height."""
        title = title_of(self.node)
        if not title:
            return top
        has_gauge = "gauge" in self.parts
        size = num(self.node, "title.font.size", 16 if has_gauge else 20, 1, 100)
        color = rgba(get(self.node, "title.font.color"), self.picture.font[1])
        height = LINE * size * len(markup.lines(title)) + 6
        across = choice(self.node, "title.align", ("center", "left", "right"))
        x = {"left": left, "center": (left + right) / 2, "right": right}[across]
        self.canvas.text(x, top, title, size, color, (across, "top"))
        return top - height

    def _number(self):
        value = word(self.node, "number.prefix") + self._format("number.valueformat", self.value)
        return value + word(self.node, "number.suffix")

    def _format(self, path, value):
        if value is None:
            return "-"
        spec = word(self.node, path)
        return formats.number(value, spec) if spec else formats.compact(value)

    def _delta(self):
        """Returns text and color of how the number differs from another one."""
        value = self.value or 0.0
        reference = num(self.node, "delta.reference", value)
        change = value - reference
        relative = get(self.node, "delta.relative") is True
        if relative:
            change = change / reference if reference else 0.0
        spec = word(self.node, "delta.valueformat", "2%" if relative else "")
        text = (
            formats.number(change, spec.replace("2%", ".2~%") if spec == "2%" else spec)
            if spec
            else formats.compact(change)
        )
        name, mark = ("increasing", "▲") if change >= 0 else ("decreasing", "▼")
        color = rgba(get(self.node, f"delta.{name}.color"), "#3D9970" if change >= 0 else "#FF4136")
        text = word(self.node, "delta.prefix") + text + word(self.node, "delta.suffix")
        return word(self.node, f"delta.{name}.symbol", mark) + text, color

    def _draw_numbers(self, x, y, size):
        """Draws the number and, below or beside it, the difference."""
        number = self._number() if "number" in self.parts else ""
        size = num(self.node, "number.font.size", size, 4, 300)
        color = rgba(get(self.node, "number.font.color"), self.picture.font[1])
        small = num(self.node, "delta.font.size", size * (0.5 if number else 1.0), 4, 300)
        place = choice(self.node, "delta.position", ("bottom", "top", "left", "right"))
        if "delta" not in self.parts:
            self.canvas.text(x, y, number, size, color, ("center", "middle"))
            return
        text, ink = self._delta()
        if not number:
            self.canvas.text(x, y, text, small, ink, ("center", "middle"))
        elif place in ("left", "right"):
            half = self.canvas.measure(number, size)[0] / 2 + 10
            self.canvas.text(x, y, number, size, color, ("center", "middle"))
            at = x - half if place == "left" else x + half
            self.canvas.text(at, y, text, small, ink, ("right" if place == "left" else "left", "middle"))
        else:
            gap = 0.5 * (size + small)
            self.canvas.text(
                x, y + (0.3 * small if place == "bottom" else -0.3 * small), number, size, color, ("center", "middle")
            )
            at = y - gap if place == "bottom" else y + gap
            self.canvas.text(x, at, text, small, ink, ("center", "middle"))

    # Gauges.

    def _axis(self, length):
        axis = Axis("gauge", child(self.node, "gauge.axis"), False)
        axis.kind, axis.range = "linear", self.span
        axis.place(0.0, length)
        return axis, ticks.ticks(axis)

    def _share(self, value):
        low, high = self.span
        return min(1.0, max(0.0, (value - low) / (high - low)))

    def _bands(self):
        """Yields from, to, color and thickness of what a gauge shows."""
        for step in nodes(self.node, "gauge.steps"):
            ends = pair(step, "range")
            if ends is not None:
                yield *map(self._share, ends), rgba(get(step, "color"), rgba("#eee")), num(step, "thickness", 1, 0, 1)
        color = rgba(get(self.node, "gauge.bar.color"), rgba("green"))
        if self.value is not None:
            yield (
                0.0,
                self._share(self.value),
                color,
                num(self.node, "gauge.bar.thickness", 0.5 if self._is_bullet() else 0.72, 0, 1),
            )

    def _is_bullet(self):
        return word(self.node, "gauge.shape") == "bullet"

    def _draw_gauge(self, left, bottom, right, top):
        size, ink = self.picture.font
        radius = max(5.0, min((right - left) / 2 - 30, top - bottom - 30))
        x, y = (left + right) / 2, bottom + max(0.0, (top - bottom - radius - 20) / 2)
        inner, width = radius * 0.7, radius * 0.3
        edge, line = rgba(get(self.node, "gauge.bordercolor"), "#444"), num(self.node, "gauge.borderwidth", 1, 0, 20)
        ground = rgba(get(self.node, "gauge.bgcolor"), self.picture.paper)
        self.canvas.polygons([sector(x, y, inner, radius, math.pi, 0.0)], ground)
        for start, end, color, thick in self._bands():
            gap = (1 - thick) * width / 2
            ends = math.pi * (1 - start), math.pi * (1 - end)
            self.canvas.polygons([sector(x, y, inner + gap, radius - gap, *ends)], color)
        self.canvas.polygons([sector(x, y, inner, radius, math.pi, 0.0)], (0, 0, 0, 0), edge, line)
        limit = num(self.node, "gauge.threshold.value")
        if limit is not None:
            turn = math.pi * (1 - self._share(limit))
            far = [inner, radius]
            style = (
                rgba(get(self.node, "gauge.threshold.line.color"), "#444"),
                num(self.node, "gauge.threshold.line.width", 1, 0, 20),
            )
            self.canvas.line([x + at * math.cos(turn) for at in far], [y + at * math.sin(turn) for at in far], *style)
        size = num(self.node, "gauge.axis.tickfont.size", size, 1, 60)
        for at, label in self._axis(math.pi * radius)[1]:
            turn = math.pi * (1 - self._share(at))
            across = "center" if abs(math.cos(turn)) < 0.1 else "left" if math.cos(turn) > 0 else "right"
            far = radius + 6
            self.canvas.text(
                x + far * math.cos(turn),
                y + far * math.sin(turn) + 2,
                label,
                size,
                ink,
                (across, "bottom" if across == "center" else "middle"),
            )
        self._draw_numbers(x, y + radius * 0.2, radius * 0.36)

    def _draw_bullet(self, left, bottom, right, top):
        size, ink = self.picture.font
        split = left + (right - left) * (0.75 if "number" in self.parts or "delta" in self.parts else 1.0)
        low, high = bottom + (top - bottom) * 0.3, top - (top - bottom) * 0.1
        high = min(high, low + 100)
        ground = rgba(get(self.node, "gauge.bgcolor"), self.picture.paper)
        edge, line = rgba(get(self.node, "gauge.bordercolor"), "#444"), num(self.node, "gauge.borderwidth", 1, 0, 20)
        self.canvas.rectangles(left, low, split, high, ground, edge, line)
        for start, end, color, thick in self._bands():
            gap = (1 - thick) * (high - low) / 2
            xs = (left + share * (split - left) for share in (start, end))
            first, last = xs
            self.canvas.rectangles(first, low + gap, last, high - gap, color)
        limit = num(self.node, "gauge.threshold.value")
        if limit is not None:
            x = left + self._share(limit) * (split - left)
            style = (
                rgba(get(self.node, "gauge.threshold.line.color"), "#444"),
                num(self.node, "gauge.threshold.line.width", 1, 0, 20),
            )
            self.canvas.line([x, x], [low, high], *style)
        axis, found = self._axis(split - left)
        for at, label in found:
            self.canvas.text(left + float(axis.px(at)), low - 4, label, size, ink, ("center", "top"))
        if split < right:
            self._draw_numbers((split + right) / 2, (low + high) / 2, min(40.0, (right - split) / 4))
