"""Traces of scenes: points and lines, surfaces, and bodies of triangles."""

import numpy

from brumate_plotly.figure import columns
from brumate_plotly.figure.colors import CLEAR, faded, is_color, rgba
from brumate_plotly.figure.reading import Unreadable, flag, get, is_list, num, word
from brumate_plotly.layout.legend import Entry
from brumate_plotly.subplots.scenes import Scene
from brumate_plotly.traces.parts.parallels import LineColors

from . import points
from .trace import Trace

# Cells of a surface along each side, and triangles of a body; there are fewer in the picture when a trace has more.
MAX_SIDE = 90
MAX_TRIANGLES = 20_000
# Points of a trace.
MAX_POINTS = 20_000


class SceneTrace(Trace):
    """A trace of a scene."""

    def __init__(self, picture, number, node, color):
        super().__init__(picture, number, node, color)
        self.subplot = picture.subplot(word(node, "scene", "scene"), Scene)

    def see(self):
        for letter, axis in zip("xyz", self.subplot.axes, strict=True):
            value = get(self.node, letter)
            flat = value.ravel() if isinstance(value, numpy.ndarray) else value if is_list(value) else []
            if len(flat) and is_list(flat[0]):
                flat = flat[0]
            axis.see(flat)

    def converted(self):
        """Returns numbers of the axes for the three columns."""
        found = []
        for letter, axis in zip("xyz", self.subplot.axes, strict=True):
            axis.kind = axis.kind or "linear"
            found.append(axis.convert(columns.column(get(self.node, letter))))
        count = min(map(len, found))
        return [part[:count] for part in found]

    def need_points(self, parts, padded=False):
        """Extends the axes to points."""
        for axis, part in zip(self.subplot.axes, parts, strict=True):
            axis.need(part.ravel(), padded)

    def draw(self):
        mates = [trace for trace in self.picture.traces if getattr(trace, "subplot", None) is self.subplot]
        if mates[0] is self:
            self.subplot.draw_box()
        self.add()
        if mates[-1] is self:
            self.subplot.draw_polygons()
            for trace in mates:
                trace.draw_above()

    def add(self):
        """Adds the polygons of the trace to its scene."""

    def draw_above(self):
        """Draws what has no depth: lines, markers and texts."""


class Scatter3d(SceneTrace):
    """A trace of type scatter3d."""

    layer = 8

    def calculate(self):
        parts = self.converted()
        self.kept = columns.thinned(len(parts[0]), MAX_POINTS)
        if self.kept is not None:
            self.picture.notes.add(f"{len(parts[0]) - MAX_POINTS} of {len(parts[0])} points of a trace")
        self.parts = [self.pick(part) for part in parts]
        count = len(self.parts[0])
        self.mode = word(self.node, "mode", "lines+markers")
        self.points = points.Points(self, count, rgba(word(self.node, "line.color"), self.color), 8.0)
        base = get(self.node, "marker.color")
        default = faded(rgba(base if isinstance(base, str) else None, self.color), self.opacity)
        self.line = LineColors(self, count, default)

    def need(self):
        self.need_points(self.parts, padded="markers" in self.mode)

    def draw_above(self):
        places = self.subplot.normal(*self.parts)
        pixels, depth = self.subplot.project(places), self.subplot.depth(places)
        xs, ys = pixels[:, 0], pixels[:, 1]
        if "lines" in self.mode and len(xs) > 1:
            self._draw_lines(pixels, depth)
        if "markers" in self.mode:
            order = numpy.argsort(-numpy.nan_to_num(depth), kind="stable")
            self.points.draw(self.canvas, xs, ys, order)
        if "text" in self.mode:
            gaps = self.points.sizes / 2 if "markers" in self.mode else numpy.zeros(len(xs))
            points.write(self, xs, ys, gaps, {}, default="top center")

    def _draw_lines(self, pixels, depth):
        lines = numpy.stack([pixels[:-1], pixels[1:]], axis=1)
        good = numpy.isfinite(lines).all(axis=(1, 2))
        order = numpy.argsort(-(depth[:-1] + depth[1:])[good], kind="stable")
        colors = self.line.colors(len(pixels))[:-1][good][order]
        width = num(self.node, "line.width", 2, 0, 50)
        self.canvas.segments(lines[good][order], colors, width, word(self.node, "line.dash", "solid"))

    def entries(self):
        color = tuple(self.line.colors(len(self.parts[0]))[0]) if len(self.parts[0]) else self.color
        line = (color, num(self.node, "line.width", 2, 0, 50), "solid") if "lines" in self.mode else None
        return [Entry(self.name, line=line, marker=self.points.sample() if "markers" in self.mode else None)]


class Surface(SceneTrace):
    """A trace of type surface."""

    layer = 7

    def calculate(self):
        z = self.subplot.axes[2].scaled(columns.matrix(get(self.node, "z")))
        if min(z.shape, default=0) < 2:
            raise Unreadable("no surface")
        xs, ys = (self._grid(letter, axis, z.shape) for letter, axis in zip("xy", self.subplot.axes, strict=False))
        colors = columns.matrix(get(self.node, "surfacecolor"))
        values = colors if colors.shape == z.shape else z
        rows, wide = (numpy.unique(numpy.linspace(0, side - 1, min(side, MAX_SIDE)).astype(int)) for side in z.shape)
        self.parts = [part[rows][:, wide] for part in (xs, ys, z)]
        self.values = values[rows][:, wide]
        self.mapping = self.picture.mappings.of(self.node, "c", has_bar=True)
        self.mapping.extend(values.ravel())
        self.mapping.opacity = self.opacity

    def _grid(self, letter, axis, shape):
        """Returns the places of all points along one axis."""
        value = get(self.node, letter)
        axis.kind = axis.kind or "linear"
        is_table = is_list(value) and len(value) and is_list(value[0])
        if is_table:
            table = axis.scaled(columns.matrix(value))
            if table.shape == shape:
                return table
        count = shape[1] if letter == "x" else shape[0]
        places = axis.convert(columns.column(value))
        if len(places) < count:
            places = numpy.arange(count, dtype=float)
        return numpy.broadcast_to(places[None, :count] if letter == "x" else places[:count, None], shape)

    def need(self):
        self.need_points(self.parts)

    def add(self):
        places = self.subplot.normal(*self.parts)
        corners = numpy.stack([places[:-1, :-1], places[:-1, 1:], places[1:, 1:], places[1:, :-1]], axis=2).reshape(
            -1, 4, 3
        )
        values = self.values
        middle = (values[:-1, :-1] + values[:-1, 1:] + values[1:, 1:] + values[1:, :-1]).ravel() / 4
        good = numpy.isfinite(corners).all(axis=(1, 2)) & numpy.isfinite(middle)
        colors = self.mapping.colors(middle[good])
        colors[:, 3] *= self.opacity
        self.subplot.add(corners[good], self.subplot.shaded(corners[good], colors))

    def shows_in_legend(self, alone):
        return flag(self.node, "showlegend", False)

    def entries(self):
        return [Entry(self.name, box=(self.color, CLEAR, 0))]


class Mesh3d(SceneTrace):
    """A trace of type mesh3d."""

    layer = 7

    def calculate(self):
        self.parts = self.converted()
        self.triangles = self._find_triangles()
        intensity = get(self.node, "intensity")
        self.mapping = None
        if is_list(intensity):
            self.mapping = self.picture.mappings.of(self.node, "c", has_bar=True)
            self.values = columns.floats(columns.column(intensity))
            self.mapping.extend(self.values)
            self.mapping.opacity = self.opacity

    def _find_triangles(self):
        """Returns the numbers of the corners of each triangle."""
        sides = [columns.floats(columns.column(get(self.node, letter))) for letter in "ijk"]
        count = min(map(len, sides))
        if count:
            found = numpy.nan_to_num(numpy.stack([side[:count] for side in sides], axis=1), nan=-1).astype(int)
        else:
            found = self._triangulated()
        good = ((found >= 0) & (found < len(self.parts[0]))).all(axis=1)
        found = found[good]
        self.chosen = numpy.flatnonzero(good)
        kept = columns.thinned(len(found), MAX_TRIANGLES)
        if kept is not None:
            self.picture.notes.add(f"{len(found) - MAX_TRIANGLES} of {len(found)} triangles of a trace")
            found, self.chosen = found[kept], self.chosen[kept]
        return found

    def _triangulated(self):
        """Returns triangles between neighbours, as seen along the axis that the figure names."""
        from matplotlib.tri import Triangulation

        axis = "xyz".index(word(self.node, "delaunayaxis", "z")) if word(self.node, "delaunayaxis", "z") in "xyz" else 2
        first, second = (self.parts[at] for at in range(3) if at != axis)
        return Triangulation(first, second).triangles

    def need(self):
        self.need_points(self.parts)

    def add(self):
        places = self.subplot.normal(*self.parts)
        corners = places[self.triangles]
        colors = self._colors()
        good = numpy.isfinite(corners).all(axis=(1, 2))
        shaded = colors if flag(self.node, "flatshading") and self.mapping else self.subplot.shaded(corners, colors)
        self.subplot.add(corners[good], shaded[good])

    def _colors(self):
        count = len(self.triangles)
        faces = get(self.node, "facecolor")
        if self.mapping is not None:
            if word(self.node, "intensitymode") == "cell":
                values = self.values[self.chosen]
            else:
                values = self.values[numpy.minimum(self.triangles, len(self.values) - 1)].mean(axis=1)
            colors = self.mapping.colors(values)
        elif is_list(faces) and len(faces) > int(self.chosen.max(initial=-1)):
            colors = numpy.array([rgba(faces[number], self.color) for number in self.chosen.tolist()]).reshape(-1, 4)
        else:
            color = get(self.node, "color")
            colors = numpy.tile(rgba(color) if is_color(color) else self.color, (count, 1))
        colors = numpy.array(colors, dtype=float)
        colors[:, 3] *= self.opacity
        return colors

    def shows_in_legend(self, alone):
        return flag(self.node, "showlegend", False)

    def entries(self):
        color = get(self.node, "color")
        return [Entry(self.name, box=(rgba(color, self.color), CLEAR, 0))]
