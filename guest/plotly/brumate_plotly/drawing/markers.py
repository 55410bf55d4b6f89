"""Markers of points: their shapes, and artists for many of them."""

import math

import numpy
from matplotlib.collections import PathCollection
from matplotlib.path import Path
from matplotlib.transforms import IdentityTransform

from brumate_plotly.figure.colors import CLEAR

# Shapes by number, as plotly numbers them.
_NUMBERS = (
    "circle square diamond cross x triangle-up triangle-down triangle-left triangle-right triangle-ne triangle-se "
    "triangle-sw triangle-nw pentagon hexagon hexagon2 octagon star hexagram star-triangle-up star-triangle-down "
    "star-square star-diamond diamond-tall diamond-wide hourglass bowtie circle-cross circle-x square-cross square-x "
    "diamond-cross diamond-x cross-thin x-thin asterisk hash y-up y-down y-left y-right line-ew line-ns "
    "line-ne line-nw arrow-up arrow-down arrow-left arrow-right"
).split()
# Shapes that are lines: they have the color of the marker's edge.
_THIN = {"cross-thin", "x-thin", "asterisk", "hash", "y-up", "y-down", "y-left", "y-right"}
_THIN |= {"line-ew", "line-ns", "line-ne", "line-nw"}


def _regular(corners, turn=0.0, radius=1.0, inner=None):
    """Returns a regular polygon with a corner at the top, or a star when there is an inner radius."""
    count = corners if inner is None else 2 * corners
    points = []
    for number in range(count):
        angle = math.radians(90 + turn) + 2 * math.pi * number / count
        distance = radius if inner is None or number % 2 == 0 else inner
        points.append((distance * math.cos(angle), distance * math.sin(angle)))
    return points


def _turned(points, degrees):
    turn = math.radians(degrees)
    return [(x * math.cos(turn) - y * math.sin(turn), x * math.sin(turn) + y * math.cos(turn)) for x, y in points]


_PLUS = [(-0.4, 1.0), (0.4, 1.0), (0.4, 0.4), (1.0, 0.4), (1.0, -0.4), (0.4, -0.4)]
_PLUS = [(x * 1.15, y * 1.15) for x, y in (*_PLUS, *((-x, -y) for x, y in _PLUS))]
_TRIANGLE = [(-1.1, -0.6), (0.0, 1.2), (1.1, -0.6)]
_CORNER = [(0.9, 0.9), (0.9, -0.9), (-0.9, 0.9)]
_SQUARE = [(-0.95, -0.95), (-0.95, 0.95), (0.95, 0.95), (0.95, -0.95)]
# matplotlib asks for the extents of a path each time, which takes long for curves.
_CIRCLE = _regular(60)
_ARROW = [(0.0, 1.0), (-0.8, -1.0), (0.8, -1.0)]
_POLYGONS = {
    "square": _SQUARE,
    "diamond": _regular(4, radius=1.3),
    "cross": _PLUS,
    "x": _turned(_PLUS, 45),
    "triangle-up": _TRIANGLE,
    "triangle-down": _turned(_TRIANGLE, 180),
    "triangle-left": _turned(_TRIANGLE, 90),
    "triangle-right": _turned(_TRIANGLE, -90),
    "triangle-ne": _CORNER,
    "triangle-se": _turned(_CORNER, -90),
    "triangle-sw": _turned(_CORNER, 180),
    "triangle-nw": _turned(_CORNER, 90),
    "pentagon": _regular(5, radius=1.1),
    "hexagon": _regular(6, turn=30, radius=1.1),
    "hexagon2": _regular(6, radius=1.1),
    "octagon": _regular(8, turn=22.5),
    "star": _regular(5, radius=1.4, inner=0.54),
    "hexagram": _regular(6, radius=1.3, inner=0.75),
    "star-triangle-up": _regular(3, radius=1.5, inner=0.5),
    "star-triangle-down": _regular(3, turn=180, radius=1.5, inner=0.5),
    "star-square": _regular(4, turn=45, radius=1.5, inner=0.7),
    "star-diamond": _regular(4, radius=1.5, inner=0.6),
    "diamond-tall": [(0.0, 1.4), (0.7, 0.0), (0.0, -1.4), (-0.7, 0.0)],
    "diamond-wide": [(0.0, 0.7), (1.4, 0.0), (0.0, -0.7), (-1.4, 0.0)],
    "hourglass": [(-1.0, 1.0), (1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)],
    "bowtie": [(-1.0, 1.0), (-1.0, -1.0), (1.0, 1.0), (1.0, -1.0)],
    "arrow-up": _ARROW,
    "arrow-down": _turned(_ARROW, 180),
    "arrow-left": _turned(_ARROW, 90),
    "arrow-right": _turned(_ARROW, -90),
}
_Y = [((0, 0), (0, -1.0)), ((0, 0), (0.9, 0.7)), ((0, 0), (-0.9, 0.7))]
_UPRIGHT = [((0, -1.4), (0, 1.4)), ((-1.4, 0), (1.4, 0))]
_CROSSED = [((-1, -1), (1, 1)), ((-1, 1), (1, -1))]
_STROKES = {
    "cross-thin": _UPRIGHT,
    "x-thin": _CROSSED,
    "asterisk": [*_UPRIGHT, *_CROSSED],
    "hash": [((at, -1), (at, 1)) for at in (-0.4, 0.4)] + [((-1, at), (1, at)) for at in (-0.4, 0.4)],
    "y-up": _Y,
    "y-down": [_turned(stroke, 180) for stroke in _Y],
    "y-left": [_turned(stroke, 90) for stroke in _Y],
    "y-right": [_turned(stroke, -90) for stroke in _Y],
    "line-ew": _UPRIGHT[1:],
    "line-ns": _UPRIGHT[:1],
    "line-ne": _CROSSED[:1],
    "line-nw": _CROSSED[1:],
    "cross": [((0, -1), (0, 1)), ((-1, 0), (1, 0))],
    "x": [((-0.7, -0.7), (0.7, 0.7)), ((-0.7, 0.7), (0.7, -0.7))],
}


def name(symbol):
    """Returns the name of a shape: its name, or its number (100 more for an open one, 200 more for a dot in it)."""
    if isinstance(symbol, str) and not symbol.isdigit():
        return symbol
    try:
        number = int(symbol)
    except (TypeError, ValueError, OverflowError):
        return "circle"
    shape = _NUMBERS[number % 100] if 0 <= number % 100 < len(_NUMBERS) else "circle"
    return shape + ("-open" if number // 100 % 2 else "") + ("-dot" if number // 200 % 2 else "")


def path(shape):
    """Returns the outline of a shape of radius 1; a circle for a name that is unknown."""
    strokes = _STROKES.get(shape) if shape in _THIN else None
    corners = _POLYGONS.get(shape)
    if corners is None and strokes is None:
        base, _, inside = shape.partition("-")
        outline = _closed(_POLYGONS.get(base) if base in ("square", "diamond") else _CIRCLE)
        return Path.make_compound_path(outline, _lines(_STROKES[inside])) if inside in ("cross", "x") else outline
    return _lines(strokes) if strokes else _closed(corners)


def _closed(corners):
    return Path([*corners, corners[0]], [Path.MOVETO, *[Path.LINETO] * (len(corners) - 1), Path.CLOSEPOLY])


def _lines(strokes):
    return Path([point for stroke in strokes for point in stroke], [Path.MOVETO, Path.LINETO] * len(strokes))


def artists(points, symbols, sizes, fills, edges, widths):
    """Yields artists for markers at points in pixels, one for each shape; sizes are diameters."""
    good = numpy.isfinite(points).all(axis=1)
    symbols = numpy.asarray(symbols, dtype=object)
    for symbol in dict.fromkeys(symbols.tolist() if symbols.ndim else [symbols.item()]):
        chosen = good & (symbols == symbol) if symbols.ndim else good
        if chosen.any():
            sizes_, widths_ = (_picked(value, chosen, 1) for value in (sizes, widths))
            fills_, edges_ = (_picked(value, chosen, 2) for value in (fills, edges))
            yield from _of_one_shape(points[chosen], name(symbol), sizes_, fills_, edges_, widths_)


def _picked(value, chosen, dimensions):
    """Returns the entries of an array that has one for each point, or what holds for all."""
    value = numpy.asarray(value, dtype=float)
    if value.ndim == dimensions:
        value = value[chosen]
        # What is the same for all is drawn much faster when that is said once.
        return value[0] if (value == value[0]).all() else value
    return value


def _of_one_shape(points, shape, sizes, fills, edges, widths):
    parts = shape.split("-")
    open_, dot = "open" in parts, "dot" in parts
    shape = "-".join(part for part in parts if part not in ("open", "dot"))
    if shape in _THIN or open_:
        # An edge as wide as a pixel at least, in the color of the marker.
        own = numpy.any(edges.reshape(-1, 4)[:, 3] > 0) and shape in _THIN and numpy.any(widths > 0)
        edges, widths = (edges if own else fills), numpy.maximum(widths, 1.0)
        fills = numpy.asarray(CLEAR)
    style = {"offsets": points, "offset_transform": IdentityTransform()}
    edges = edges if numpy.any(widths > 0) else numpy.asarray(CLEAR)
    scales = numpy.atleast_1d(numpy.maximum(sizes, 0.0) / 2) ** 2
    colors = {"facecolors": fills.reshape(-1, 4), "edgecolors": edges.reshape(-1, 4)}
    yield PathCollection([path(shape)], scales, linewidths=numpy.atleast_1d(widths), **colors, **style)
    if dot:
        yield PathCollection([_closed(_CIRCLE)], scales / 16, facecolors=edges.reshape(-1, 4), **style)
