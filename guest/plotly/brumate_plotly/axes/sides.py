"""How an axis looks on its side of the plot: ticks, labels, title; and how much room that takes."""

import math

from brumate_plotly.drawing import markup
from brumate_plotly.drawing.fitting import cut
from brumate_plotly.drawing.writing import LINE
from brumate_plotly.figure.colors import rgba
from brumate_plotly.figure.reading import child, choice, flag, get, num, title_of, word

from . import ticks

# Pixels between a tick and its label, and between labels that stand side by side.
_GAP = 4.0
_BETWEEN = 6.0
# Share of the picture that labels may take.
_MOST = 0.4


class Side:
    """One axis as it is drawn. `font` is the figure's: size and color."""

    def __init__(self, axis, font, base_color):
        self.axis, self._font_size, self._font_color = axis, *font
        node = axis.node
        sides = ("left", "right") if axis.is_vertical else ("bottom", "top")
        self.side = choice(node, "side", sides)
        self.is_visible = flag(node, "visible", True)
        self.has_labels = self.is_visible and flag(node, "showticklabels", True)
        default = rgba(get(node, "color"), base_color)
        self.label_size = num(node, "tickfont.size", font[0], 1, 200)
        self.label_color = rgba(get(node, "tickfont.color"), rgba(get(node, "color"), font[1]))
        self.line_width = num(node, "linewidth", 1, 0, 50) if flag(node, "showline") and self.is_visible else 0
        self.line_color = rgba(get(node, "linecolor"), default)
        self.mirrors = word(node, "mirror") in ("true", "ticks", "all", "allticks")
        self.tick_place = word(node, "ticks") if self.is_visible else ""
        self.tick_length = num(node, "ticklen", 5, 0, 100) if self.tick_place in ("inside", "outside") else 0
        self.tick_width = num(node, "tickwidth", 1, 0, 50)
        self.tick_color = rgba(get(node, "tickcolor"), default)
        self._read_title(node)
        self.labels, self.angle, self.label_depth = [], 0.0, 0.0
        self._overhang = 0.0, 0.0

    def _read_title(self, node):
        self.title = title_of(node) if self.is_visible else ""
        font = get(node, "title.font", child(node, "titlefont"))
        self.title_size = num(font, "size", 1.2 * self._font_size, 1, 200)
        self.title_color = rgba(get(font, "color"), rgba(get(node, "color"), self._font_color))
        self.title_is_bold = word(font, "weight") in ("bold", "700", "800", "900")
        self._standoff = num(node, "title.standoff", 10, 0, 400)

    # What takes room.

    def lay_out(self, canvas):
        """Finds ticks and labels for the length that the axis has now."""
        axis = self.axis
        axis.ticks = ticks.ticks(axis)
        self.labels, self.angle, self.label_depth = [], 0.0, 0.0
        if not self.has_labels:
            return
        self.labels = [(at, label) for at, label in axis.ticks if label]
        sizes = [canvas.measure(label, self.label_size) for _, label in self.labels]
        turn = get(axis.node, "tickangle")
        if isinstance(turn, (int, float)) and math.isfinite(turn):
            self.angle = (float(turn) + 180) % 360 - 180
        elif not axis.is_vertical:
            self.angle = self._angle(sizes)
        self._drop_some(sizes)
        self._shorten(canvas)
        sizes = [canvas.measure(label, self.label_size) for _, label in self.labels]
        self.label_depth = max((self._depth(*size) for size in sizes), default=0.0)
        self._find_overhang(sizes)

    def _angle(self, sizes):
        """Returns the first of 0, 30 and 90 degrees at which labels do not touch."""
        gaps = self._distances()
        if all(
            gap >= (one[0] + other[0]) / 2 + _BETWEEN for gap, one, other in zip(gaps, sizes, sizes[1:], strict=False)
        ):
            return 0.0
        tallest = max((height for _, height in sizes), default=0.0)
        return 30.0 if min(gaps, default=1e9) >= 2.3 * tallest else 90.0

    def _distances(self):
        places = [float(self.axis.px(at)) for at, _ in self.labels]
        return [abs(b - a) for a, b in zip(places, places[1:], strict=False)]

    def _drop_some(self, sizes):
        """Leaves labels out where they would cover each other."""
        if len(self.labels) < 2 or get(self.axis.node, "tickangle") is not None and not self.axis.is_vertical:
            return
        kept, free = [], -1e9
        order = sorted(zip(self.labels, sizes, strict=True), key=lambda entry: float(self.axis.px(entry[0][0])))
        for tick, size in order:
            place, half = float(self.axis.px(tick[0])), 0.45 * self._extent(*size)
            if place - half >= free:
                kept.append(tick)
                free = place + half
        self.labels = kept

    def _extent(self, width, height):
        """Returns how much of the axis a label takes."""
        turn = math.radians(abs(self.angle))
        if self.axis.is_vertical:
            return abs(width * math.sin(turn)) + height * abs(math.cos(turn))
        return width if self.angle == 0 else height / max(0.3, abs(math.sin(turn)))

    def _depth(self, width, height):
        """Returns how far a label reaches away from the axis."""
        turn = math.radians(self.angle)
        across, along = abs(math.sin(turn)), abs(math.cos(turn))
        return width * along + height * across if self.axis.is_vertical else height * along + width * across

    def _shorten(self, canvas):
        """Cuts labels that would leave no room for the plot."""
        turned = self.axis.is_vertical == (abs(self.angle) < 45)
        most = _MOST * (canvas.width if self.axis.is_vertical else canvas.height)
        if not turned:
            return
        self.labels = [(at, cut(canvas, label, self.label_size, most)) for at, label in self.labels]

    def _find_overhang(self, sizes):
        """Finds how far the labels reach beyond the ends of the axis: to the left or downwards, and the other way."""
        before = after = 0.0
        for (at, _), (width, height) in zip(self.labels, sizes, strict=True):
            place = float(self.axis.px(at)) - self.axis.start
            if self.axis.is_vertical:
                first = last = height / 2
            else:
                first, last = self._reach(width)
            before, after = max(before, first - place), max(after, last - (self.axis.length - place))
        self._overhang = before, after

    def _reach(self, width):
        """Returns how far a label reaches to the left and to the right of its tick."""
        if self.angle == 0:
            return width / 2, width / 2
        along = width * math.cos(math.radians(self.angle))
        begins = (self.angle > 0) == (self.side == "bottom")
        return (5.0, along) if begins else (along, 5.0)

    def offset(self):
        """Returns the pixels between the axis and its labels."""
        outside = self.tick_length if self.tick_place == "outside" else 0.0
        return outside + _GAP + (1.0 if not self.axis.is_vertical else 0.0)

    def title_offset(self):
        """Returns the pixels between the axis and the near edge of its title."""
        labels = self.offset() + self.label_depth if self.labels else 5.0
        return labels + self._standoff

    def depth(self):
        """Returns the pixels that the axis takes outside of the plot."""
        if self.title:
            rows = len(markup.lines(self.title))
            return self.title_offset() + self.title_size * (1 + LINE * (rows - 1)) + 6
        return self.offset() + self.label_depth + 3 if self.labels else 0.0

    def ask(self, frame, place):
        """Asks for room; `place` is the share of the plot where the axis is."""
        side = {"left": "l", "right": "r", "bottom": "b", "top": "t"}[self.side]
        frame.ask(side, place, self.depth())
        low, high = self.axis.domain()
        before, after = self._overhang
        frame.ask("b" if self.axis.is_vertical else "l", low, before)
        frame.ask("t" if self.axis.is_vertical else "r", high, after)

    # Drawing. `place` is where the axis is, in pixels across it; `out` is 1 or -1, the direction away from the plot.

    def draw(self, canvas, place, opposite):
        """Draws line, ticks, labels and title of the axis."""
        out = -1 if self.side in ("left", "bottom") else 1
        self._draw_line(canvas, place, opposite)
        if self.tick_length:
            reach = self.tick_length * (out if self.tick_place == "outside" else -out)
            marks = [self._across(float(self.axis.px(at)), place, place + reach) for at, _ in self.axis.ticks]
            canvas.segments(marks, self.tick_color, self.tick_width)
        for at, label in self.labels:
            self._draw_label(canvas, float(self.axis.px(at)), place + out * self.offset(), label)
        if self.title:
            self._draw_title(canvas, place + out * self.title_offset(), out)

    def _across(self, at, first, last):
        return [(first, at), (last, at)] if self.axis.is_vertical else [(at, first), (at, last)]

    def _draw_line(self, canvas, place, opposite):
        if not self.line_width:
            return
        first, last = self.axis.start, self.axis.start + self.axis.length
        for where in (place, opposite) if self.mirrors else (place,):
            points = [(where, first), (where, last)] if self.axis.is_vertical else [(first, where), (last, where)]
            canvas.segments([points], self.line_color, self.line_width)

    def _draw_label(self, canvas, along, across, label):
        if self.axis.is_vertical:
            anchor = ("right" if self.side == "left" else "left") if abs(self.angle) < 60 else "center", "middle"
            canvas.text(across, along, label, self.label_size, self.label_color, anchor, self.angle)
            return
        down = "top" if self.side == "bottom" else "bottom"
        if self.angle == 0:
            canvas.text(along, across, label, self.label_size, self.label_color, ("center", down))
            return
        begins = (self.angle > 0) == (self.side == "bottom")
        anchor = "left" if begins else "right", "middle"
        if abs(self.angle) < 85:
            across += (-1 if down == "top" else 1) * 0.3 * self.label_size
        canvas.text(along, across, label, self.label_size, self.label_color, anchor, self.angle)

    def _draw_title(self, canvas, across, out):
        middle = self.axis.start + self.axis.length / 2
        style = {"bold": self.title_is_bold}
        if self.axis.is_vertical:
            # Turned by a quarter, the lower edge of the text is on the right.
            anchor = "center", "bottom" if out < 0 else "top"
            canvas.text(across, middle, self.title, self.title_size, self.title_color, anchor, -90, **style)
        else:
            anchor = "center", "top" if out < 0 else "bottom"
            canvas.text(middle, across, self.title, self.title_size, self.title_color, anchor, **style)
