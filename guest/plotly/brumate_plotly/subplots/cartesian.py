"""The axes of a figure and the subplots between them: which there are, where they are, and their grids."""

import re

import numpy

from brumate_plotly.axes.axis import Axis, order_categories
from brumate_plotly.axes.sides import Side
from brumate_plotly.figure.colors import rgba
from brumate_plotly.figure.reading import child, flag, get, num, word

_NAME = re.compile(r"([xy])axis(\d*)\Z")
_GRID = "#eee"
_LINE = "#444"


def node_name(name):
    """Returns what the layout calls an axis: `xaxis2` for `x2`."""
    return f"{name[:1]}axis{name[1:]}"


class Cartesian:
    """All axes of a picture, by name, and the subplots: pairs of names."""

    def __init__(self, picture):
        self._picture = picture
        self.axes = {}
        self.sides = {}
        self.subplots = []
        # Axes along which bars, boxes and the like stand: they have no grid.
        self.without_grid = set()

    def axis(self, name):
        """Returns the axis with a name; makes it when it is new."""
        if name not in self.axes:
            node = get(self._picture.layout, node_name(name), self._picture.template_axis(name[:1]))
            numbers = word(node, "autotypenumbers", word(self._picture.layout, "autotypenumbers"))
            self.axes[name] = Axis(name, node, name[:1] == "y", numbers == "strict")
        return self.axes[name]

    def pair(self, node):
        """Returns the two axes of a trace, and makes a subplot of them."""
        names = []
        for letter in "xy":
            name = word(node, f"{letter}axis", letter)
            names.append(name if re.fullmatch(rf"{letter}\d*", name) else letter)
        return self.subplot(*names)

    def subplot(self, x, y):
        """Returns two axes, and makes a subplot of them."""
        if (x, y) not in self.subplots:
            self.subplots.append((x, y))
        return self.axis(x), self.axis(y)

    def add_empty(self):
        """Makes subplots of the axes that the layout names and no trace uses."""
        if not self.subplots:
            return
        for name in sorted(self._picture.own_names):
            match = _NAME.match(name)
            if match and match[1] == "x" and f"x{match[2]}" not in self.axes:
                node = get(self._picture.layout, name)
                other = word(node, "anchor", "y" + match[2])
                if get(node, "overlaying") is None and re.fullmatch(r"y\d*", other):
                    self.subplot("x" + match[2], other)

    # Types, categories and ranges.

    def settle_kinds(self, weighted):
        """Gives each axis a type and its categories an order; axes that match each other share both."""
        for group in self._groups():
            kinds = [axis.kind for axis in group if axis.kind]
            for axis in group:
                axis.kind = kinds[0] if kinds else "linear"
                group[0].share_needs(axis)
            for axis in group if group[0].kind == "category" else ():
                axis.reorder(group[0].categories)
                order_categories(axis, [entry[1:] for entry in weighted if entry[0] in group])

    def _groups(self):
        """Returns lists of axes that match each other."""
        groups = {}
        for axis in list(self.axes.values()):
            root, seen = axis, set()
            while root.name not in seen:
                seen.add(root.name)
                other = word(root.node, "matches")
                if other in self.axes and other[:1] == axis.name[:1]:
                    root = self.axes[other]
            groups.setdefault(root.name, []).append(axis)
        return list(groups.values())

    def settle_ranges(self):
        """Finds ranges for the lengths that the axes have now."""
        for group in self._groups():
            for axis in group[1:]:
                group[0].share_needs(axis)
            leader = next((axis for axis in group if axis.given_range() != (None, None)), group[0])
            if leader is not group[0]:
                leader.share_needs(group[0])
            leader.settle_range()
            for axis in group:
                axis.range = leader.range

    # Places.

    def place(self, frame):
        """Puts the axes where the margins leave room for them."""
        for axis in self.axes.values():
            low, high = self._shown(axis).domain()
            if axis.is_vertical:
                axis.place(frame.y(low), max(1.0, (high - low) * frame.plot_height))
            else:
                axis.place(frame.x(low), max(1.0, (high - low) * frame.plot_width))

    def _shown(self, axis):
        """Returns the axis whose place an axis takes: that which it overlays."""
        other = self.axes.get(word(axis.node, "overlaying"))
        return other if other is not None and other is not axis and other.is_vertical == axis.is_vertical else axis

    def keep_scales(self):
        """Makes units equally long on axes that are to have the same scale."""
        for axis in self.axes.values():
            name = word(axis.node, "scaleanchor")
            other = self.axes.get(name)
            if other is None or other.is_vertical == axis.is_vertical:
                continue
            ratio = num(axis.node, "scaleratio", 1.0, 1e-6, 1e6)
            mine, theirs = abs(axis.per_unit()), abs(other.per_unit()) * ratio
            shorter, scale = (axis, theirs / mine) if mine > theirs else (other, mine / theirs)
            self._fit(shorter, scale)

    def _fit(self, axis, scale):
        """Shortens an axis, or lets it show more, so that a unit takes a share of the pixels that it took."""
        if word(axis.node, "constrain") == "domain" or self._is_matrix(axis):
            length = axis.length * scale
            shares = {"left": 0.0, "bottom": 0.0, "right": 1.0, "top": 1.0}
            share = shares.get(word(axis.node, "constraintoward"), 0.5)
            axis.place(axis.start + (axis.length - length) * share, length)
            return
        first, last = axis.range
        middle, half = (first + last) / 2, (last - first) / 2 / scale
        axis.range = middle - half, middle + half

    def _is_matrix(self, axis):
        return word(axis.node, "autorange") == "reversed"

    def lay_out(self, canvas, frame):
        """Finds ticks and labels, and asks for the room that they take."""
        for name, axis in self.axes.items():
            if name not in self.sides:
                self.sides[name] = Side(axis, self._picture.font, rgba(_LINE))
            self.sides[name].lay_out(canvas)
            self.sides[name].ask(frame, self._share(axis))

    def _anchor(self, axis):
        """Returns the axis that an axis stands at; None for a free one."""
        name = word(axis.node, "anchor")
        if name == "free":
            return None
        letter = "x" if axis.is_vertical else "y"
        if name not in self.axes or name[:1] != letter:
            pairs = [pair for pair in self.subplots if axis.name in pair]
            name = pairs[0][0 if axis.is_vertical else 1] if pairs else letter
        return self.axes.get(name)

    def _share(self, axis):
        """Returns where an axis stands, as a share of the plot across it."""
        anchor = self._anchor(axis)
        if anchor is None:
            return num(axis.node, "position", 0.0, 0, 1)
        low, high = self._shown(anchor).domain()
        return high if self.sides[axis.name].side in ("right", "top") else low

    def _places(self, axis, frame):
        """Returns where an axis stands in pixels, and where the other end of its subplot is."""
        anchor = self._anchor(axis)
        shift = num(axis.node, "shift", 0.0, -1000, 1000)
        if anchor is None:
            share = self._share(axis)
            place = (frame.x(share) if axis.is_vertical else frame.y(share)) + shift
            return place, place
        ends = anchor.start, anchor.start + anchor.length
        if self.sides[axis.name].side in ("right", "top"):
            ends = ends[::-1]
        return ends[0] + shift, ends[1]

    # Drawing.

    def rectangle(self, x, y):
        """Returns the rectangle of the subplot of two axes, for clips."""
        return x.start, y.start, x.start + x.length, y.start + y.length

    def draw_backgrounds(self, canvas, color):
        """Draws what is below everything: backgrounds, grids and lines at zero."""
        pairs = [(self.axes[x], self.axes[y]) for x, y in self.subplots]
        for x, y in pairs:
            if self._shown(x) is x and self._shown(y) is y:
                canvas.rectangles(*self.rectangle(x, y), color)
        for x, y in pairs:
            for axis in (x, y):
                self._draw_grid(canvas, axis, self.rectangle(x, y))
        for x, y in pairs:
            for axis in (x, y):
                self._draw_zero(canvas, axis, self.rectangle(x, y))

    def _draw_grid(self, canvas, axis, rectangle):
        shown = axis.name not in self.without_grid
        if not flag(axis.node, "visible", True):
            return
        minor = child(axis.node, "minor")
        if flag(minor, "showgrid") and len(axis.ticks) > 1 and axis.kind in ("linear", "date"):
            step = (axis.ticks[1][0] - axis.ticks[0][0]) / 5
            low, high = axis.bounds()
            start = axis.ticks[0][0] - step * int((axis.ticks[0][0] - low) / step)
            values = numpy.arange(start, high, step)[:500].tolist()
            self._draw_lines(canvas, axis, values, rectangle, minor, rgba(_GRID))
        if flag(axis.node, "showgrid", shown):
            self._draw_lines(canvas, axis, [at for at, _ in axis.ticks], rectangle, axis.node, rgba(_GRID))

    def _draw_lines(self, canvas, axis, values, rectangle, node, default):
        color, width = rgba(get(node, "gridcolor"), default), num(node, "gridwidth", 1, 0, 50)
        lines = [self._across(axis, value, rectangle) for value in values]
        canvas.segments(lines, color, width, word(node, "griddash", "solid"))

    @staticmethod
    def _across(axis, value, rectangle):
        """Returns the line at a value from one side of a subplot to the other."""
        left, bottom, right, top = rectangle
        at = float(axis.px(value))
        return [(left, at), (right, at)] if axis.is_vertical else [(at, bottom), (at, top)]

    def _draw_zero(self, canvas, axis, rectangle):
        low, high = axis.bounds()
        wanted = flag(axis.node, "zeroline", get(axis.node, "zerolinecolor") is not None)
        if axis.kind != "linear" or not wanted or not low <= 0 <= high or axis.name in self.without_grid:
            return
        if flag(axis.node, "visible", True):
            color = rgba(get(axis.node, "zerolinecolor"), rgba(_LINE))
            canvas.segments([self._across(axis, 0.0, rectangle)], color, num(axis.node, "zerolinewidth", 1, 0, 50))

    def draw_sides(self, canvas, frame):
        """Draws lines, ticks, labels and titles of all axes."""
        for name, side in self.sides.items():
            side.draw(canvas, *self._places(self.axes[name], frame))
