"""Regions of a map with colors, when the figure has their outlines (GeoJSON)."""

import numpy

from brumate_plotly.figure import columns
from brumate_plotly.figure.colors import rgba
from brumate_plotly.figure.reading import (
    Unreadable,
    as_number,
    child,
    flag,
    get,
    is_list,
    listed,
    nodes,
    num,
    shown,
    word,
)
from brumate_plotly.layout.legend import Entry
from brumate_plotly.traces.expanding import map_axes
from brumate_plotly.traces.trace import CartesianTrace

# Points of the outlines of one trace.
MAX_POINTS = 200_000
# What a trace is called that has outlines.
KIND = "choropleth with outlines"


def with_outlines(picture, node):
    """Returns the trace on the axes of a map when it has outlines; nothing when it has only names of places."""
    kind = word(node, "type")
    if not nodes(node, "geojson.features"):
        picture.notes.add(kind)
        return []
    picture.notes.add("the map (coasts, borders, tiles)")
    usual = {"choropleth": "geo", "choroplethmap": "map"}.get(kind, "mapbox")
    return [{**node, **map_axes(picture, word(node, usual if usual == "geo" else "subplot", usual)), "type": KIND}]


class Regions(CartesianTrace):
    """A trace of a choropleth type, on axes of degrees."""

    layer = 1

    def see(self):
        self.x.kind = self.x.kind or "linear"
        self.y.kind = self.y.kind or "linear"

    def calculate(self):
        names = [shown(name) for name in listed(self.node, "locations")]
        values = columns.floats(columns.column(get(self.node, "z")))
        numbers = {name: value for name, value in zip(names, values.tolist(), strict=False) if value == value}
        key = word(self.node, "featureidkey", "id")
        self.outlines, found = [], []
        for feature in nodes(self.node, "geojson.features"):
            name = shown(get(feature, key))
            if name in numbers:
                self.outlines.append(_rings(child(feature, "geometry")))
                found.append(numbers[name])
        if not found:
            raise Unreadable("no region has a value")
        self.values = numpy.array(found)
        self.mapping = self.picture.mappings.of(self.node, "z", has_bar=True)
        self.mapping.extend(self.values)
        self._thin_out()

    def _thin_out(self):
        total = sum(len(ring) for rings in self.outlines for ring in rings)
        step = -(-total // MAX_POINTS)
        if step > 1:
            self.outlines = [
                [ring[::step] if len(ring) > 4 * step else ring for ring in rings] for rings in self.outlines
            ]

    def need(self):
        for rings in self.outlines:
            for ring in rings:
                self.x.need(ring[:, 0])
                self.y.need(ring[:, 1])

    def draw(self):
        colors = self.mapping.colors(self.values)
        colors[:, 3] *= self.opacity * num(self.node, "marker.opacity", 1.0, 0, 1)
        edge, width = rgba(get(self.node, "marker.line.color"), "#444"), num(self.node, "marker.line.width", 1, 0, 10)
        for rings, color in zip(self.outlines, colors.tolist(), strict=True):
            pixels = [numpy.column_stack([self.x.px(ring[:, 0]), self.y.px(ring[:, 1])]) for ring in rings]
            self.canvas.area(pixels, tuple(color), edge, min(width, 0.7), clip=self.clip)

    def entries(self):
        color = tuple(self.mapping.table[len(self.mapping.table) // 2])
        return [Entry(self.name, box=(color, color, 0))]

    def shows_in_legend(self, alone):
        return flag(self.node, "showlegend", False)


def _rings(geometry):
    """Returns the outlines of a polygon, or of several, as arrays of points."""
    found = get(geometry, "coordinates", [])
    polygons = {"Polygon": [found], "MultiPolygon": found}.get(word(geometry, "type"), [])
    rings = []
    for polygon in polygons if is_list(polygons) else []:
        for ring in polygon if is_list(polygon) else []:
            points = [_point(point) for point in ring] if is_list(ring) else []
            points = [point for point in points if point is not None]
            if len(points) > 2:
                rings.append(numpy.array(points))
    return rings


def _point(point):
    if not is_list(point) or len(point) < 2:
        return None
    x, y = as_number(point[0]), as_number(point[1])
    return None if x is None or y is None else (x, y)
