"""Figures of plotly for tests: one of each type of trace, odd ones, and their pictures."""

import datetime
import importlib.util
import io
import math
import unittest

import support  # makes `_brumate` importable

HAS_PLOTLY = all(importlib.util.find_spec(name) for name in ("plotly", "matplotlib", "pandas"))
needs_plotly = unittest.skipIf(not HAS_PLOTLY, "plotly or matplotlib is not installed")
XS, YS = [1, 2, 3, 4], [2.5, 1, 4, 3]
TREE = {"labels": ["all", "a", "b", "c"], "parents": ["", "all", "all", "a"], "values": [6, 4, 2, 3]}
PRICES = {"open": [3, 4, 5], "high": [6, 6, 7], "low": [2, 3, 3], "close": [4, 3, 6]}
SQUARE = {"type": "Polygon", "coordinates": [[[0, 0], [0, 1], [1, 1], [1, 0], [0, 0]]]}
GEOJSON = {"type": "FeatureCollection", "features": [{"type": "Feature", "id": "a", "geometry": SQUARE}]}

# One trace of each type that is drawn, without its type.
TRACES = {
    "scatter": {"x": XS, "y": YS, "mode": "lines+markers+text", "text": ["a", "b", "c", "d"], "fill": "tozeroy"},
    "scattergl": {"x": XS, "y": YS, "marker": {"color": YS, "size": XS, "showscale": True}, "mode": "markers"},
    "bar": {"x": ["a", "b", "c", "d"], "y": YS, "text": YS, "error_y": {"type": "constant", "value": 1}},
    "histogram": {"x": [1, 1, 2, 2, 2, 3, 5, 8], "nbinsx": 4},
    "box": {"y": [1, 2, 2, 3, 3, 3, 4, 9], "boxpoints": "all"},
    "violin": {"y": [1, 2, 2, 3, 3, 3, 4, 9], "box": {"visible": True}, "points": "all"},
    "pie": {"labels": ["a", "b", "c"], "values": [3, 2, 1], "hole": 0.3},
    "heatmap": {"z": [[1, 2, 3], [4, 5, 6]], "texttemplate": "%{z}"},
    "contour": {"z": [[1, 2, 3], [2, 3, 4], [3, 5, 6]], "contours": {"showlabels": True}},
    "histogram2d": {"x": XS * 3, "y": YS * 3},
    "histogram2dcontour": {"x": XS * 3, "y": YS * 3},
    "image": {"z": [[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [9, 9, 9]]]},
    "scatter3d": {"x": XS, "y": YS, "z": XS, "mode": "lines+markers", "line": {"color": YS}},
    "surface": {"z": [[1, 2, 3], [2, 3, 4], [3, 5, 6]]},
    "mesh3d": {"x": [0, 1, 2, 0], "y": [0, 0, 1, 2], "z": [0, 2, 0, 1], "i": [0, 0], "j": [1, 2], "k": [2, 3]},
    "scatterpolar": {"r": XS, "theta": [0, 90, 180, 270], "fill": "toself"},
    "scatterpolargl": {"r": XS, "theta": ["n", "e", "s", "w"], "mode": "markers"},
    "barpolar": {"r": XS, "theta": [0, 90, 180, 270]},
    "candlestick": {"x": ["2024-01-01", "2024-01-02", "2024-01-03"], **PRICES},
    "ohlc": {"x": ["2024-01-01", "2024-01-02", "2024-01-03"], **PRICES},
    "waterfall": {"x": ["a", "b", "c"], "y": [5, -2, 0], "measure": ["relative", "relative", "total"]},
    "funnel": {"y": ["a", "b", "c"], "x": [5, 3, 1]},
    "funnelarea": {"labels": ["a", "b", "c"], "values": [5, 3, 1]},
    "indicator": {"mode": "number+delta+gauge", "value": 42, "delta": {"reference": 40}, "title": {"text": "Speed"}},
    "table": {"header": {"values": ["A", "B"]}, "cells": {"values": [[1, 2], ["x", "y"]]}},
    "treemap": TREE,
    "sunburst": TREE,
    "icicle": TREE,
    "parcoords": {"dimensions": [{"label": "a", "values": XS}, {"label": "b", "values": YS}]},
    "parcats": {"dimensions": [{"label": "a", "values": ["x", "x", "y"]}, {"label": "b", "values": ["p", "q", "q"]}]},
    "splom": {"dimensions": [{"label": "a", "values": XS}, {"label": "b", "values": YS}]},
    "sankey": {"node": {"label": ["a", "b", "c"]}, "link": {"source": [0, 0], "target": [1, 2], "value": [3, 1]}},
    "scatterternary": {"a": XS, "b": YS, "c": [1, 1, 1, 1]},
}

# Traces that are drawn without the map below them.
ON_MAPS = {
    "scattergeo": {"lon": XS, "lat": YS},
    "scattermap": {"lon": XS, "lat": YS},
    "scattermapbox": {"lon": XS, "lat": YS},
    "densitymap": {"lon": XS, "lat": YS, "z": XS},
    "choropleth": {"locations": ["a"], "z": [1], "geojson": GEOJSON},
    "choroplethmap": {"locations": ["a"], "z": [1], "geojson": GEOJSON},
}
MAP = "the map (coasts, borders, tiles)"


class Loud:
    """An object whose attributes and methods all raise."""

    def __getattr__(self, name):
        raise RuntimeError(name)

    def __str__(self):
        raise RuntimeError("str")

    __repr__ = __len__ = __iter__ = __float__ = __str__


def odd_values():
    """Values that may stand anywhere in a figure."""
    import numpy

    yield from (None, True, 0, -1, 1e308, -1e308, math.nan, math.inf, 10**400, "", "x", "2024-02-30", "<b>x", "\ud800$")
    yield from ([], {}, [None], [math.nan], [[]], [[1], [2, 3]], ["a", 1, None, 2.5], (1, 2), {"a": 1}, [{}], {1: 2})
    yield from (b"bytes", 1j, Loud(), [Loud()], object, datetime.date(2024, 1, 1), [datetime.datetime(2024, 1, 1)])
    yield from (
        numpy.array([]),
        numpy.array([1.5, numpy.nan]),
        numpy.zeros((2, 2, 2)),
        numpy.array(["a", None], dtype=object),
    )
    yield from (numpy.datetime64("NaT"), numpy.array(["2024-01-01"], dtype="datetime64[D]"), numpy.float32(1), range(3))
    yield {"dtype": "f8", "bdata": "AAAAAAAA8D8="}
    yield {"dtype": "i4", "bdata": "AQ==", "shape": "7, 7"}
    yield {"dtype": "nothing", "bdata": 5}


def odd_figures():
    """Figures that plotly would refuse, or that have nothing to draw."""
    yield from (None, 5, "figure", [], {}, {"data": None}, {"data": {}}, {"data": [None, 3, "x", []]}, {"layout": 5})
    yield from ({"data": [{}]}, {"data": [{"type": 5}]}, {"data": [{"type": "nothing"}]}, {"data": [{"x": [1]}]})
    line = {"x": XS, "y": YS}
    yield from ({"data": [line], "layout": layout} for layout in odd_layouts())
    yield {"data": [{"x": [0, 1e308, -1e308], "y": [1e-300, math.inf, math.nan]}]}
    yield {"data": [{"x": ["2024-01-01", 5, None, "x"], "y": ["1", "b", 3, None]}]}
    yield {"data": [{"type": "bar", "x": [-1e300, 1e300], "y": [1, 2]}], "layout": {"xaxis": {"type": "log"}}}
    yield {"data": [{"type": "pie", "values": [0, 0]}]}
    yield {"data": [{"type": "pie", "values": [-1, 2], "labels": ["a"]}]}
    yield {"data": [{"type": "heatmap", "z": [[None]]}]}
    yield {"data": [{"type": "sankey", "link": {"source": [0, 1], "target": [1, 0], "value": [1, 1]}}]}
    yield {"data": [{"type": "treemap", "labels": ["a", "b"], "parents": ["b", "a"]}]}
    yield {
        "data": [{"type": "sunburst", "labels": [str(n) for n in range(200)], "parents": ["", *map(str, range(199))]}]
    }
    yield {"data": [{"type": "histogram", "x": [1e-300, 1e300]}]}
    yield {"data": [{"type": "histogram", "x": ["0001-01-01", "9999-12-31"], "xbins": {"size": "M1"}}]}
    yield {
        "data": [{"type": "surface", "z": [[1, None], [2, 3]]}],
        "layout": {"scene": {"camera": {"eye": {"x": 0, "y": 0, "z": 0}}}},
    }
    yield {"data": [{"type": "splom", "dimensions": []}, {"type": "parcoords"}, {"type": "table"}]}
    yield {"data": [{"y": [1, 2], "error_y": {"array": ["x"]}, "marker": {"size": "big", "color": ["?", 3]}}]}
    loop = {"data": [line]}
    loop["data"][0]["self"] = loop
    yield loop


def odd_layouts():
    """Layouts whose settings are impossible, or contradict each other."""
    yield from ({"width": size, "height": size} for size in (0, -5, 1e9, "x", math.nan))
    yield from ({"xaxis": {"range": ends}} for ends in ([1, 1], [math.nan, 2], ["a", None], [3], "x", [1e300, -1e300]))
    yield from ({"xaxis": {"dtick": step}} for step in (1e-300, -1, "M0", "Mx", "L0", "D1"))
    yield from ({"xaxis": {"type": kind}} for kind in ("log", "date", "category", "multicategory", "nothing", 5))
    yield from (
        {"xaxis": {"overlaying": "x", "matches": "x", "scaleanchor": "x", "anchor": "x"}},
        {"margin": {"l": 1e9}},
    )
    yield from (
        {"xaxis": {"matches": "x2"}, "xaxis2": {"matches": "x"}},
        {"xaxis": {"domain": [1, 0]}},
        {"template": "none"},
    )
    yield from (
        {"xaxis": {"tickvals": [1, "x", None], "ticktext": [None]}},
        {"xaxis": {"tickformat": "%"}},
        {"title": [1]},
    )
    yield {"annotations": [None, {}, {"x": "x", "y": None}, {"x": 1, "y": 1, "ax": math.inf, "text": "a"}]}
    yield {"shapes": [None, {}, {"type": "path", "path": "M 1 Z Q"}, {"type": "circle", "x0": 1, "x1": "x"}]}
    yield {"legend": {"x": 9, "y": -9}, "showlegend": True, "font": {"size": 1e9, "color": "?"}}


def odd_places():
    """A type of trace, and a path into its figure: where an odd value is put."""
    paths = (
        "type",
        "name",
        "marker",
        "marker.color",
        "marker.size",
        "line",
        "line.color",
        "text",
        "opacity",
        "domain",
        "mode",
    )
    layouts = (
        "title",
        "width",
        "font",
        "margin",
        "xaxis",
        "yaxis.range",
        "legend",
        "annotations",
        "shapes",
        "template",
        "barmode",
    )
    for kind, trace in TRACES.items():
        for path in (*trace, *paths):
            yield kind, f"data.0.{path}"
    for path in layouts:
        yield "bar", f"layout.{path}"
        yield "scatter", f"layout.{path}"


def one(kind, trace, **layout):
    """A figure with one trace."""
    return {"data": [{"type": kind, **trace}], "layout": layout}


def replaced(figure, path, value):
    """Puts a value at a path such as `data.0.marker.color`; returns the figure."""
    node = figure
    *names, last = path.split(".")
    for name in names:
        if name.isdigit():
            node = node[int(name)]
        else:
            node[name] = dict(node.get(name) or {}) if not isinstance(node.get(name), list) else node[name]
            node = node[name]
    node[last] = value
    return figure


def picture(figure):
    """The figure's picture as an array of RGB, `None` without one, and the names of what is not in it."""
    import numpy
    from PIL import Image

    from brumate_plotly import draw

    png, notes = draw(figure)
    if not png:
        return None, notes
    with Image.open(io.BytesIO(png), formats=["PNG"]) as image:
        return numpy.asarray(image.convert("RGB")), notes
