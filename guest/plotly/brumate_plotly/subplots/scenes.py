"""Scenes: boxes with three axes, seen from somewhere, and what their traces put into them."""

import math

import numpy

from brumate_plotly.axes import ticks
from brumate_plotly.axes.axis import Axis
from brumate_plotly.figure.colors import rgba
from brumate_plotly.figure.reading import child, choice, flag, get, num, title_of, word
from brumate_plotly.layout.domains import place

_NAMES = "xyz"
# How far the eye is from the middle when nothing is said; and how wide it sees.
_EYE = 1.25
_VIEW = math.tan(math.pi / 8)
# Pixels around the box for labels, and from its edges to labels and titles.
_AROUND = 22.0
_TO_LABEL = 12.0
_TO_TITLE = 40.0
_LIGHT = numpy.array([0.4, 0.3, 0.87])


class Scene:
    """One scene. Traces put polygons into it; it draws them from back to front."""

    def __init__(self, picture, name):
        self.picture = picture
        self.node = get(picture.layout, name, child(picture.layout, "scene"))
        self.axes = [Axis(letter, child(self.node, f"{letter}axis"), False) for letter in _NAMES]
        self._polygons = []

    def settle(self):
        """Finds the ranges of the axes and where the eye is."""
        for axis in self.axes:
            axis.kind = axis.kind or "linear"
            axis.place(0.0, 300.0)
            axis.settle_range()
        self._aspect = self._find_aspect()
        self._find_eye()
        span, up = place(self.picture.layout, child(self.node, "domain"))
        self._box = left, bottom, right, top = self.picture.frame.rectangle(span, up)
        self._middle = numpy.array([(left + right) / 2, (bottom + top) / 2])
        self._scale = (top - bottom) / 2 / _VIEW
        self._fit(right - left, top - bottom)
        for number, axis in enumerate(self.axes):
            ends = self.project(
                numpy.array([[-0.5] * 3, [0.5 if at == number else -0.5 for at in range(3)]]) * self._aspect
            )
            axis.length = max(60.0, float(numpy.hypot(*(ends[1] - ends[0]))))
            axis.ticks = [] if not flag(axis.node, "visible", True) else self._ticks(axis)

    def _ticks(self, axis):
        low, high = axis.bounds()
        # Labels stand in rows of their own: there may be as many as on an axis that stands.
        axis.is_vertical = True
        return [(at, label) for at, label in ticks.ticks(axis) if low <= at <= high]

    def _find_aspect(self):
        """Returns the lengths of the axes."""
        mode = choice(self.node, "aspectmode", ("auto", "cube", "data", "manual"))
        spans = numpy.array([axis.bounds()[1] - axis.bounds()[0] for axis in self.axes])
        if get(self.node, "aspectratio") is not None and mode in ("auto", "manual"):
            return numpy.array([num(self.node, f"aspectratio.{letter}", 1.0, 0.01, 100) for letter in _NAMES])
        if mode == "data" or (mode == "auto" and spans.max() / spans.min() <= 4 and self._are_numbers()):
            return spans / numpy.prod(spans) ** (1 / 3)
        return numpy.ones(3)

    def _are_numbers(self):
        return all(axis.kind == "linear" for axis in self.axes)

    def _find_eye(self):
        camera = child(self.node, "camera")
        self._eye = numpy.array([num(camera, f"eye.{letter}", _EYE, -100, 100) for letter in _NAMES])
        center = numpy.array([num(camera, f"center.{letter}", 0.0, -100, 100) for letter in _NAMES])
        up = numpy.array([num(camera, f"up.{letter}", float(letter == "z"), -100, 100) for letter in _NAMES])
        self._is_flat = word(camera, "projection.type") == "orthographic"
        forward = center - self._eye
        self._distance = max(1e-6, float(numpy.linalg.norm(forward)))
        forward = forward / self._distance
        across = numpy.cross(forward, up)
        if numpy.linalg.norm(across) < 1e-6:
            across = numpy.cross(forward, [0.0, 1.0, 0.0])
        if numpy.linalg.norm(across) < 1e-6:
            across = numpy.array([1.0, 0.0, 0.0])
        across = across / numpy.linalg.norm(across)
        self._across, self._up, self._forward = across, numpy.cross(across, forward), forward

    def _fit(self, width, height):
        """Makes the box as small as the room needs it to be."""
        corners = numpy.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]) * self._aspect
        points = self.project(corners) - self._middle
        most = numpy.abs(points).max(axis=0)
        room = numpy.maximum([width / 2 - _AROUND, height / 2 - _AROUND], 10.0)
        self._scale *= min(1.0, *(room / numpy.maximum(most, 1e-6)))

    # Places.

    def normal(self, *columns):
        """Returns points in the box, whose middle is at zero, for numbers of the axes."""
        parts = []
        for axis, values, aspect in zip(self.axes, columns, self._aspect, strict=True):
            first, last = axis.range
            parts.append(((values - first) / (last - first) - 0.5) * aspect)
        return numpy.stack(parts, axis=-1)

    def depth(self, points):
        """Returns how far away points are."""
        return (points - self._eye) @ self._forward

    def project(self, points):
        """Returns the pixels of points."""
        away = points - self._eye
        depth = self._distance if self._is_flat else numpy.maximum(away @ self._forward, 0.05)
        flat = numpy.stack([away @ self._across / depth, away @ self._up / depth], axis=-1)
        return self._middle + flat * self._scale

    # Polygons of traces.

    def add(self, corners, colors, edge=None):
        """Adds polygons: points in the box for each of them, and their colors."""
        self._polygons.append((corners, colors, edge))

    def shaded(self, corners, colors):
        """Returns colors of polygons as light from above makes them."""
        sides = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
        normals = numpy.cross(*sides)
        normals /= numpy.maximum(numpy.linalg.norm(normals, axis=1), 1e-12)[:, None]
        light = 0.72 + 0.32 * numpy.abs(normals @ _LIGHT)
        shades = colors.copy()
        shades[:, :3] = numpy.clip(shades[:, :3] * light[:, None], 0, 1)
        return shades

    def draw_polygons(self):
        """Draws what was added, from back to front."""
        if not any(len(fills) for _, fills, _ in self._polygons):
            return
        rings, colors, edges, depths = [], [], [], []
        for corners, fills, edge in self._polygons:
            rings += list(self.project(corners))
            colors.append(fills)
            edges.append(fills if edge is None else numpy.tile(edge, (len(fills), 1)))
            depths.append(self.depth(corners.mean(axis=1)))
        order = numpy.argsort(-numpy.concatenate(depths), kind="stable")
        colors, edges = numpy.concatenate(colors)[order], numpy.concatenate(edges)[order]
        # Edges of the same color close the seams; where one sees through, they would be seen themselves.
        width = 0.6 if colors[:, 3].min() > 0.99 else 0.0
        self.picture.canvas.polygons([rings[number] for number in order.tolist()], colors, edges, width)

    # The box.

    def _back(self):
        """Returns on which side of each axis the face is that is behind everything: -1 or 1."""
        return [-1 if part >= 0 else 1 for part in self._eye]

    def draw_box(self):
        """Draws the faces behind everything, their grids, labels and titles."""
        back = self._back()
        for number, axis in enumerate(self.axes):
            if flag(axis.node, "visible", True):
                self._draw_face(number, back[number])
        for number, axis in enumerate(self.axes):
            if flag(axis.node, "visible", True):
                self._draw_labels(number, axis, back)

    def _draw_face(self, number, side):
        node = self.axes[number].node
        canvas = self.picture.canvas
        others = [at for at in range(3) if at != number]
        corners = numpy.zeros((4, 3))
        corners[:, number] = side / 2
        corners[:, others] = [(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)]
        if flag(node, "showbackground", False):
            color = rgba(get(node, "backgroundcolor"), "#fff")
            canvas.polygons([self.project(corners * self._aspect)], color)
        for along in others:
            axis = self.axes[along]
            if not flag(axis.node, "showgrid", True) or not flag(axis.node, "visible", True):
                continue
            across = next(at for at in others if at != along)
            lines = []
            for at, _ in axis.ticks:
                ends = numpy.zeros((2, 3))
                ends[:, number], ends[:, along], ends[:, across] = side / 2, self._share(axis, at), (-0.5, 0.5)
                lines.append(self.project(ends * self._aspect))
            color = rgba(get(axis.node, "gridcolor"), "#ccc")
            canvas.segments(lines, color, num(axis.node, "gridwidth", 1, 0, 10))

    @staticmethod
    def _share(axis, at):
        first, last = axis.range
        return (at - first) / (last - first) - 0.5

    def _edge(self, number, back):
        """Returns the sides of the other axes where an axis has its labels: on an edge of the outline."""
        sides = [float(side) for side in back]
        if number < 2:
            sides[1 - number] = -back[1 - number]
            return sides
        # Of the two upright edges, the one on the left.
        options = []
        for front in (0, 1):
            option = list(sides)
            option[front] = -back[front]
            point = numpy.array(option) / 2
            point[2] = 0.0
            options.append((float(self.project(point * self._aspect)[0]), option))
        return min(options)[1]

    def _draw_labels(self, number, axis, back):
        canvas, (size, color) = self.picture.canvas, self.picture.font
        sides = numpy.array(self._edge(number, back)) / 2
        center = self.project(numpy.zeros(3))
        middle = sides.copy()
        middle[number] = 0.0
        outward = self._outward(number, sides, center)
        size = num(axis.node, "tickfont.size", size, 1, 60)
        ink = rgba(get(axis.node, "tickfont.color"), color)
        if flag(axis.node, "showticklabels", True):
            for at, label in axis.ticks:
                point = sides.copy()
                point[number] = self._share(axis, at)
                x, y = self.project(point * self._aspect) + outward * _TO_LABEL
                across = "center" if abs(outward[0]) < 0.35 else "left" if outward[0] > 0 else "right"
                down = "top" if outward[1] < -0.9 else "middle"
                canvas.text(float(x), float(y), label, size, ink, (across, down))
        title = axis.name if get(axis.node, "title") is None else title_of(axis.node)
        large = num(axis.node, "title.font.size", 1.2 * self.picture.font[0], 1, 60)
        x, y = self.project(middle * self._aspect) + outward * _TO_TITLE
        across = "center" if abs(outward[0]) < 0.35 else "left" if outward[0] > 0 else "right"
        left, _, right, _ = self._box
        width = canvas.measure(title, large)[0] * {"center": 0.5, "left": 0.0, "right": 1.0}[across]
        x = (
            max(float(x), left - 60 + width)
            if across != "left"
            else min(float(x), right + 60 - canvas.measure(title, large)[0])
        )
        canvas.text(x, float(y), title, large, color, (across, "middle"))

    def _outward(self, number, sides, center):
        """Returns the direction away from the box, across an edge, as one of length 1."""
        ends = numpy.array([sides, sides])
        ends[:, number] = -0.5, 0.5
        first, last = self.project(ends * self._aspect)
        along = (last - first) / max(1e-6, float(numpy.hypot(*(last - first))))
        across = numpy.array([-along[1], along[0]])
        return across if float(((first + last) / 2 - center) @ across) >= 0 else -across
