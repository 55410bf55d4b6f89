"""Annotations and shapes: texts, arrows, lines and areas at places of axes or of the picture."""

import math
import re

import numpy

from brumate_plotly.drawing import markup
from brumate_plotly.drawing.writing import LINE
from brumate_plotly.figure.colors import CLEAR, faded, rgba
from brumate_plotly.figure.reading import choice, flag, get, num, word

# Annotations and shapes of one figure.
MAX_ANNOTATIONS = 2000
_PATH = re.compile(r"([MLHVQCTSZmlhvqctsz])([^MLHVQCTSZmlhvqctsz]*)")


class Places:
    """Where values of annotations and shapes are, in pixels."""

    def __init__(self, cartesian, frame):
        self._cartesian, self._frame = cartesian, frame

    def px(self, value, reference, letter, logarithms):
        """Returns where a value is: on an axis, or as a share of an axis' length, of the plot or of the picture. NaN
        when it is nowhere."""
        frame = self._frame
        name, _, domain = str(reference).partition(" ")
        axis = self._cartesian.axes.get(name)
        if axis is not None and axis.is_vertical == (letter == "y"):
            if domain == "domain":
                return axis.start + num({"": value}, "", math.nan) * axis.length
            return float(axis.px(axis.convert_one(value, logarithms)))
        share = num({"": value}, "", math.nan)
        if name == "container":
            return share * (frame.width if letter == "x" else frame.height)
        return frame.x(share) if letter == "x" else frame.y(share)

    def rectangle(self, node):
        """Returns the clip for something at two axes; None when it is at the picture."""
        x = self._cartesian.axes.get(word(node, "xref", "x").partition(" ")[0])
        y = self._cartesian.axes.get(word(node, "yref", "y").partition(" ")[0])
        frame = self._frame
        if x is None and y is None:
            return None
        left, right = (x.start, x.start + x.length) if x else (0, frame.width)
        bottom, top = (y.start, y.start + y.length) if y else (0, frame.height)
        return left, bottom, right, top


def draw_annotations(picture, layout, places):
    """Draws the annotations of a layout."""
    for node in get(layout, "annotations", [])[:MAX_ANNOTATIONS]:
        if flag(node, "visible", True) and isinstance(node, dict):
            _Annotation(picture, node, places).draw()


class _Annotation:
    def __init__(self, picture, node, places):
        self._canvas, self._node, self._places = picture.canvas, node, places
        size, color = picture.font
        self._size = num(node, "font.size", size, 1, 300)
        self._color = faded(rgba(get(node, "font.color"), color), num(node, "opacity", 1, 0, 1))
        self._bold = word(node, "font.weight") in ("bold", "700", "800", "900")
        self._angle = num(node, "textangle", 0.0)
        self._text = word(node, "text", "new text")
        self._width, self._height = self._canvas.measure(self._text, self._size, self._bold)
        self._height = self._size * LINE * len(markup.lines(self._text))

    def draw(self):
        node, places = self._node, self._places
        logarithms = True
        x = places.px(get(node, "x"), get(node, "xref", "x"), "x", logarithms) + num(node, "xshift", 0)
        y = places.px(get(node, "y"), get(node, "yref", "y"), "y", logarithms) + num(node, "yshift", 0)
        if not math.isfinite(x + y):
            return
        if not flag(node, "showarrow", True):
            self._write(x, y)
            return
        tail_x = self._tail("x", x)
        tail_y = self._tail("y", y)
        if math.isfinite(tail_x + tail_y):
            self._draw_arrow(tail_x, tail_y, x, y)
            self._write(tail_x, tail_y, is_tail=True)

    def _tail(self, letter, head):
        """Returns where the tail of the arrow is: some pixels away, or at a value."""
        reference = word(self._node, f"a{letter}ref", "pixel")
        value = get(self._node, f"a{letter}")
        if reference != "pixel":
            return self._places.px(value, reference, letter, True)
        offset = num(self._node, f"a{letter}", -10.0 if letter == "x" else -30.0, -5000, 5000)
        return head + (offset if letter == "x" else -offset)

    def _write(self, x, y, is_tail=False):
        across = self._anchor("xanchor", ("auto", "left", "center", "right"), is_tail)
        down = self._anchor("yanchor", ("auto", "top", "middle", "bottom"), is_tail)
        self._draw_box(x, y, across, down)
        align = choice(self._node, "align", ("center", "left", "right"))
        # A box of one line is as wide as its text: there is nothing to align.
        middle = x + self._width * {"left": 0.5, "center": 0.0, "right": -0.5}[across]
        at = middle + self._width * {"left": -0.5, "center": 0.0, "right": 0.5}[align]
        if self._angle:
            middle, center = self._middle(x, y, across, down)
            style = {"angle": self._angle, "bold": self._bold}
            self._canvas.text(middle, center, self._text, self._size, self._color, ("center", "middle"), **style)
        else:
            self._canvas.text(at, y, self._text, self._size, self._color, (align, down), bold=self._bold)

    def _middle(self, x, y, across, down):
        """Returns the middle of a turned text, whose outline has its anchor at a point."""
        turn = math.radians(self._angle)
        cosine, sine = abs(math.cos(turn)), abs(math.sin(turn))
        width, height = self._width * cosine + self._height * sine, self._height * cosine + self._width * sine
        along = {"left": 0.5, "center": 0.0, "right": -0.5}[across]
        return x + width * along, y + height * {"bottom": 0.5, "middle": 0.0, "top": -0.5}[down]

    def _anchor(self, name, options, is_tail):
        given = choice(self._node, name, options)
        if given != "auto":
            return given
        letter = name[0]
        reference = word(self._node, f"{letter}ref", letter)
        if is_tail or reference != "paper":
            return options[2]
        share = num(self._node, letter, 0.5)
        low, high = ("left", "right") if letter == "x" else ("bottom", "top")
        return low if share < 1 / 3 else high if share > 2 / 3 else options[2]

    def _draw_box(self, x, y, across, down):
        fill, edge = rgba(get(self._node, "bgcolor"), CLEAR), rgba(get(self._node, "bordercolor"), CLEAR)
        width = num(self._node, "borderwidth", 1, 0, 50) if edge[3] else 0
        if not fill[3] and not width:
            return
        pad = num(self._node, "borderpad", 1, 0, 100) + 2
        left = x - self._width * {"left": 0.0, "center": 0.5, "right": 1.0}[across]
        bottom = y - self._height * {"bottom": 0.0, "middle": 0.5, "top": 1.0}[down]
        sides = left - pad, bottom - pad, left + self._width + pad, bottom + self._height + pad
        self._canvas.rectangles(*sides, fill, edge, width)

    def _draw_arrow(self, x, y, head_x, head_y):
        node = self._node
        color, width = rgba(get(node, "arrowcolor"), self._color), num(node, "arrowwidth", 2, 0.1, 50)
        distance = math.hypot(head_x - x, head_y - y)
        gap = num(node, "standoff", 0, 0, 500)
        if distance <= gap + 1:
            return
        along = (head_x - x) / distance, (head_y - y) / distance
        tip = head_x - along[0] * gap, head_y - along[1] * gap
        start = self._start(x, y, along)
        self._canvas.line([start[0], tip[0]], [start[1], tip[1]], color, width)
        if num(node, "arrowhead", 1) > 0:
            size = num(node, "arrowsize", 1, 0.1, 20) * width * 4
            back = tip[0] - along[0] * size, tip[1] - along[1] * size
            side = -along[1] * size / 2.5, along[0] * size / 2.5
            corners = [tip, (back[0] + side[0], back[1] + side[1]), (back[0] - side[0], back[1] - side[1])]
            self._canvas.polygons([corners], color)

    def _start(self, x, y, along):
        """Returns where the arrow leaves the box of the text."""
        if not self._text.strip():
            return x, y
        steps = [
            half / abs(part) for half, part in ((self._width / 2 + 3, along[0]), (self._height / 2, along[1])) if part
        ]
        step = min(steps, default=0.0)
        return x + along[0] * step, y + along[1] * step


def draw_shapes(picture, layout, places, below):
    """Draws the shapes of a layout that are below the traces, or those that are not."""
    for node in get(layout, "shapes", [])[:MAX_ANNOTATIONS]:
        if isinstance(node, dict) and flag(node, "visible", True) and (word(node, "layer") in _BELOW) == below:
            _draw_shape(picture, node, places)


_BELOW = ("below", "between")


def _draw_shape(picture, node, places):
    canvas = picture.canvas
    kind = choice(node, "type", ("rect", "line", "circle", "path"))
    opacity = num(node, "opacity", 1, 0, 1)
    color = faded(rgba(get(node, "line.color"), "#444"), opacity)
    width, dash = num(node, "line.width", 2, 0, 100), word(node, "line.dash", "solid")
    fill = faded(rgba(get(node, "fillcolor"), CLEAR), opacity)
    clip = places.rectangle(node)
    if kind == "path":
        _draw_path(canvas, node, places, fill, color, width, dash, clip)
        return
    (x0, x1), (y0, y1) = (_ends(node, places, letter) for letter in "xy")
    if not math.isfinite(x0 + x1 + y0 + y1):
        return
    if kind == "line":
        canvas.line([x0, x1], [y0, y1], color, width, dash, clip)
    elif kind == "rect":
        canvas.area([[(x0, y0), (x0, y1), (x1, y1), (x1, y0)]], fill, color, width, dash, clip)
    else:
        turn = numpy.linspace(0, 2 * math.pi, 73)
        ring = numpy.column_stack(
            [(x0 + x1) / 2 + (x1 - x0) / 2 * numpy.cos(turn), (y0 + y1) / 2 + (y1 - y0) / 2 * numpy.sin(turn)]
        )
        canvas.area([ring], fill, color, width, dash, clip)
    _write_label(picture, node, kind, (x0, x1), (y0, y1))


def _ends(node, places, letter):
    """Returns both ends of a shape in one direction."""
    reference = get(node, f"{letter}ref", letter)
    if word(node, f"{letter}sizemode") == "pixel":
        anchor = places.px(get(node, f"{letter}anchor"), reference, letter, False)
        return tuple(anchor + num(node, f"{letter}{end}", 0.0) for end in "01")
    return tuple(
        places.px(get(node, f"{letter}{end}"), reference, letter, False) + num(node, f"{letter}{end}shift", 0.0)
        for end in "01"
    )


def _write_label(picture, node, kind, xs, ys):
    text = word(node, "label.text")
    if not text:
        return
    size, color = picture.font
    size, color = num(node, "label.font.size", size, 1, 200), rgba(get(node, "label.font.color"), color)
    place = word(node, "label.textposition", "middle" if kind == "line" else "middle center")
    down = "top" if "top" in place else "bottom" if "bottom" in place else "middle"
    left, right, bottom, top = min(xs), max(xs), min(ys), max(ys)
    if kind == "line":
        share = {"start": 0.0, "end": 1.0}.get(place, 0.5)
        x, y = xs[0] + (xs[1] - xs[0]) * share, ys[0] + (ys[1] - ys[0]) * share
        picture.canvas.text(x, y + 3, text, size, color, ({0.0: "left", 1.0: "right"}.get(share, "center"), "bottom"))
        return
    across = "left" if "left" in place else "right" if "right" in place else "center"
    x = {"left": left + 4, "right": right - 4, "center": (left + right) / 2}[across]
    y = {"top": top - 4, "bottom": bottom + 4, "middle": (bottom + top) / 2}[down]
    picture.canvas.text(x, y, text, size, color, (across, down))


def _draw_path(canvas, node, places, fill, color, width, dash, clip):
    """Draws a path of SVG: lines and curves between points of the axes."""
    rings, ring = [], []
    for letter, numbers in _PATH.findall(word(node, "path")[:20_000]):
        values = [value for value in re.split(r"[,\s]+", numbers.strip()) if value]
        points = [_point(node, places, values[at : at + 2]) for at in range(0, len(values) - 1, 2)]
        if letter == "M":
            ring = []
            rings.append(ring)
        if letter in "MLT":
            ring.extend(points)
        elif letter in "QCS" and ring and points:
            ring.extend(_curve([ring[-1], *points]))
        elif letter in "HV" and ring and values:
            given = [*ring[-1]]
            given["HV".index(letter)] = _point(node, places, [values[-1]] * 2)["HV".index(letter)]
            ring.append(tuple(given))
    is_closed = "z" in word(node, "path").lower()
    for ring in rings:
        if len(ring) > 1 and all(math.isfinite(x + y) for x, y in ring):
            if fill[3] or is_closed:
                canvas.area([ring], fill, color if is_closed else CLEAR, width, dash, clip)
            if not is_closed:
                canvas.line(*zip(*ring, strict=True), color, width, dash, clip)


def _point(node, places, values):
    x, y = values
    return (
        places.px(x, get(node, "xref", "x"), "x", False),
        places.px(y, get(node, "yref", "y"), "y", False),
    )


def _curve(points):
    """Returns points of a Bézier curve."""
    result = []
    for share in numpy.linspace(0, 1, 17)[1:].tolist():
        level = points
        while len(level) > 1:
            level = [
                (a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share)
                for a, b in zip(level, level[1:], strict=False)
            ]
        result.append(level[0])
    return result
