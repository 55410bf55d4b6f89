"""plotly figures become pictures without a browser."""

import datetime
import importlib.util
import io
import itertools
import math
import random
import time
import unittest

from support import run

HAS_PLOTLY = all(importlib.util.find_spec(name) for name in ("plotly", "matplotlib", "pandas"))
needs_plotly = unittest.skipIf(not HAS_PLOTLY, "plotly or matplotlib is not installed")

XS, YS = [1, 2, 3, 4], [2.5, 1, 4, 3]
TREE = {"labels": ["all", "a", "b", "c"], "parents": ["", "all", "all", "a"], "values": [6, 4, 2, 3]}
PRICES = {"open": [3, 4, 5], "high": [6, 6, 7], "low": [2, 3, 3], "close": [4, 3, 6]}
SQUARE = {"type": "Polygon", "coordinates": [[[0, 0], [0, 1], [1, 1], [1, 0], [0, 0]]]}
GEOJSON = {"type": "FeatureCollection", "features": [{"type": "Feature", "id": "a", "geometry": SQUARE}]}
# One trace of each type that is drawn.
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
# Types that are drawn without the map below them.
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
    """An object with nothing that can be relied upon."""

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
    """Figures that are hardly any."""
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
    """Layouts that ask for what cannot be."""
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


def picture(figure):
    """The picture of a figure as an array, and the names of what is not in it."""
    import numpy
    from PIL import Image

    from _brumate.plotly_pictures import draw

    png, notes = draw(figure)
    if not png:
        return None, notes
    with Image.open(io.BytesIO(png), formats=["PNG"]) as image:
        return numpy.asarray(image.convert("RGB")), notes


def one(kind, trace, **layout):
    return {"data": [{"type": kind, **trace}], "layout": layout}


@needs_plotly
class Pictures(unittest.TestCase):
    def has_color(self, pixels, color):
        red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
        self.assertTrue((pixels == [red, green, blue]).all(axis=2).any(), color)

    def test_sizes(self):
        from _brumate import plotly_pictures

        sizes = {(300, 200): (300, 200), (None, None): (700, 500), (333, 777): (333, 777), (1, 1): (10, 10)}
        for (width, height), expected in sizes.items():
            pixels, _ = picture(one("scatter", TRACES["scatter"], width=width, height=height))
            self.assertEqual(pixels.shape[1::-1], expected)
        pixels, _ = picture(one("bar", TRACES["bar"], width=10**6, height=100))
        self.assertEqual(pixels.shape[:2], (100, plotly_pictures.MAX_SIDE))

    def test_every_type_is_drawn(self):
        empty, _ = picture(one("scatter", {"x": [1], "y": [None]}))
        for kind, trace in TRACES.items():
            with self.subTest(kind):
                pixels, notes = picture(one(kind, trace))
                self.assertEqual(notes, [])
                self.assertGreater((pixels != empty).any(axis=2).sum(), 500)

    def test_maps(self):
        for kind, trace in ON_MAPS.items():
            with self.subTest(kind):
                pixels, notes = picture(one(kind, trace))
                self.assertEqual(notes, [MAP])
                self.assertIsNotNone(pixels)

    def test_what_is_left_out(self):
        self.assertEqual(picture(one("choropleth", {"locations": ["FRA"], "z": [1]})), (None, ["choropleth"]))
        self.assertEqual(picture(one("cone", {"x": [1]})), (None, ["cone"]))
        self.assertEqual(picture({}), (None, []))
        figure = {"data": [{"y": YS}, {"type": "volume"}], "frames": [{"data": []}], "layout": {"sliders": [{}]}}
        pixels, notes = picture(figure)
        self.assertIsNotNone(pixels)
        self.assertEqual(notes, ["frames (animation)", "sliders", "volume"])

    def test_traces_that_are_not_visible(self):
        for visible in (False, "legendonly"):
            self.assertEqual(picture(one("bar", {**TRACES["bar"], "visible": visible})), (None, []))

    def test_colors(self):
        pixels, _ = picture(one("bar", {"x": [1], "y": [1]}))
        self.assertEqual(tuple(pixels[250, 350]), (0x1F, 0x77, 0xB4))
        pixels, _ = picture(
            one("bar", {"x": [1], "y": [1], "marker": {"color": "rgb(1, 2, 3)"}}, paper_bgcolor="#ffeedd")
        )
        self.assertEqual(tuple(pixels[250, 350]), (1, 2, 3))
        self.assertEqual(tuple(pixels[5, 5]), (0xFF, 0xEE, 0xDD))
        pixels, _ = picture(one("bar", {"x": [1], "y": [1]}, template="plotly_dark"))
        self.has_color(pixels, "#636efa")
        self.assertEqual(tuple(pixels[5, 5]), (17, 17, 17))
        pixels, _ = picture(one("heatmap", {"z": [[0, 1]], "colorscale": [[0, "#102030"], [1, "#aabbcc"]]}))
        self.has_color(pixels, "#102030")
        self.has_color(pixels, "#aabbcc")

    def test_places(self):
        """A bar from 0 to 1 fills the plot below the middle, when the range is twice as high."""
        pixels, _ = picture(one("bar", {"x": [1], "y": [1]}, yaxis={"range": [0, 2]}, margin={"t": 100, "b": 100}))
        blue = (pixels[:, 350] == [0x1F, 0x77, 0xB4]).all(axis=1)
        rows = blue.nonzero()[0]
        self.assertTrue(abs(rows.min() - 250) <= 1 and abs(rows.max() - 400) <= 1, rows)

    def test_templates(self):
        seen = set()
        for name in ("plotly", "plotly_white", "plotly_dark", "simple_white", "ggplot2", "seaborn", "none", "unknown"):
            pixels, notes = picture(one("scatter", TRACES["scatter"], template=name))
            self.assertEqual(notes, [])
            seen.add(pixels.tobytes())
        self.assertGreaterEqual(len(seen), 7)

    def test_formulas_and_marks_are_text(self):
        for text in (
            "$x",
            "$\\frac$",
            "a < b & c",
            "<b>bold</b><br><sup>small</sup>",
            "<unclosed",
            "&lt;",
            "100 $ or $",
        ):
            pixels, notes = picture(one("bar", TRACES["bar"], title={"text": text}, xaxis={"title": {"text": text}}))
            self.assertEqual(notes, [])
            self.assertIsNotNone(pixels)

    def test_many_points(self):
        import numpy

        xs = numpy.arange(1_000_000)
        begin = time.monotonic()
        pixels, notes = picture(one("scatter", {"x": xs, "y": numpy.where(xs == 700_001, 50.0, 0.0), "mode": "lines"}))
        self.assertEqual(notes, [])
        # The one point that stands out is still there.
        self.assertTrue((pixels[110:300] == [0x1F, 0x77, 0xB4]).all(axis=2).any())
        pixels, notes = picture(one("scatter", {"x": xs, "y": xs, "mode": "markers"}))
        self.assertEqual(notes, ["800000 of 1000000 markers of a trace"])
        self.assertLess(time.monotonic() - begin, 60)

    def test_odd_figures(self):
        for number, figure in enumerate(odd_figures()):
            with self.subTest(number):
                pixels, notes = picture(figure)
                self.assertTrue(all(isinstance(note, str) for note in notes))

    def test_odd_values(self):
        """Any value at any place of a trace or of the layout: some of all pairs, the same ones each time."""
        pairs = itertools.product(odd_places(), odd_values())
        chosen = random.Random(5).sample(list(pairs), 120)
        for (kind, path), value in chosen:
            with self.subTest(kind=kind, path=path, value=type(value).__name__):
                picture(replaced(one(kind, {**TRACES[kind]}), path, value))


def odd_places():
    """Places in figures: a type of trace, and a path into the figure."""
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


def replaced(figure, path, value):
    """The figure with a value at a path."""
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


@needs_plotly
class Parts(unittest.TestCase):
    """What labels say."""

    def test_numbers(self):
        from _brumate.plotly_pictures.formats import compact, number

        cases = {
            (1234.5, ",.2f"): "1,234.50",
            (0.1234, ".1%"): "12.3%",
            (1234567, ".3s"): "1.23M",
            (999_999, ".2s"): "1.0M",
            (1500, "~s"): "1.5k",
            (0.00001, ".2s"): "10µ",
            (-5, "d"): "−5",
            (5, "+d"): "+5",
            (-5, "($,.0f"): "($5)",
            (42, "05d"): "00042",
            (3.0, ""): "3",
            (1e30, ".1e"): "1.0e+30",
            (255, "x"): "ff",
            (7, "*^5"): "**7**",
            (7, "nonsense!"): "7",
        }
        for (value, spec), expected in cases.items():
            self.assertEqual(number(value, spec), expected, (value, spec))
        texts = [compact(value) for value in (0, 12345, 31_622_000, 0.25, -1e10, 1 / 3, 5.0)]
        self.assertEqual(texts, ["0", "12.345k", "31.622M", "0.25", "−10B", "0.333333", "5"])

    def test_dates(self):
        from _brumate.plotly_pictures import columns
        from _brumate.plotly_pictures.formats import date

        at = columns.instant("2024-02-09T05:06:07.089")
        for spec, expected in {
            "%Y-%m-%d %H:%M:%S.%L": "2024-02-09 05:06:07.089",
            "%b %-d, %y": "Feb 9, 24",
            "%A %e %B %I %p": "Friday  9 February 05 AM",
            "%j %q %% %3f": "040 1 % 089",
        }.items():
            self.assertEqual(date(at, spec), expected)
        for text in ("2024-02-09T05:06:07.089Z", "2024-02-09 05:06:07.089", "2024-02-09T05:06:07.089+02:00"):
            self.assertEqual(columns.instant(text), at)
        self.assertEqual(columns.instant(datetime.datetime(2024, 2, 9, 5, 6, 7, 89000)), at)

    def test_kinds_of_columns(self):
        from _brumate.plotly_pictures.columns import kind

        cases = (
            ([1, None, 2], "linear"),
            (["1", "2.5"], "linear"),
            (["a", 1], "linear"),
            (["a", "b", "c", 1], "category"),
        )
        cases += (([True, False], "category"), (["2024-01-01", None], "date"), ([None], None), ([], None))
        for values, expected in cases:
            self.assertEqual(kind(values), expected, values)
        self.assertEqual(kind(["1", "2"], is_strict=True), "category")

    def test_marks(self):
        from _brumate.plotly_pictures.markup import flat, lines

        self.assertEqual(flat("<b>a</b> &lt; <a href='x'>b</a><br>c <unknown>d"), "a < b c d")
        (bold, plain), (small,) = lines("<b>a</b>b<br><sup>c</sup>")
        self.assertTrue(bold.bold and not plain.bold and small.rise > 0 and small.scale < 1)

    def test_labels_of_axes(self):
        from _brumate.plotly_pictures.axes import Axis
        from _brumate.plotly_pictures.ticks import ticks

        def labels(low, high, kind="linear", length=400, **node):
            axis = Axis("x", {"type": kind, **node}, False)
            axis.range, axis.length = (low, high), length
            return [label for _, label in ticks(axis)]

        self.assertEqual(labels(0, 10), ["0", "2", "4", "6", "8", "10"])
        self.assertEqual(labels(0, 60_000), ["0", "10k", "20k", "30k", "40k", "50k", "60k"])
        self.assertEqual(labels(0, 1), ["0", "0.2", "0.4", "0.6", "0.8", "1"])
        self.assertEqual(labels(-2, 2, tickprefix="$"), ["$−2", "$−1", "$0", "$1", "$2"])
        self.assertEqual(labels(0, 5, "log"), ["1", "10", "100", "1000", "10k", "100k"])
        self.assertEqual(labels(0, 10, tickvals=[1, 5], ticktext=["one"]), ["one", "5"])
        day = 86_400_000.0
        self.assertEqual(labels(0, 3 * day, "date")[0], "00:00<br>Jan 1, 1970")
        self.assertEqual(labels(0, 360 * day, "date")[:2], ["Jan 1970", "Mar 1970"])
        self.assertEqual(labels(0, 3650 * day, "date")[:2], ["1970", "1972"])


@needs_plotly
class OfPlotly(unittest.TestCase):
    """Figures as plotly makes them."""

    def drawn(self, figure, notes=()):
        pixels, left_out = picture(figure.to_dict())
        self.assertEqual(left_out, list(notes))
        self.assertGreater((pixels != pixels[0, 0]).any(axis=2).mean(), 0.02)
        return pixels

    def test_express(self):
        import plotly.express as px

        tips, countries = px.data.tips(), px.data.gapminder().query("year == 2007")
        self.drawn(
            px.scatter(tips, x="total_bill", y="tip", color="sex", size="size", facet_col="time", marginal_y="box")
        )
        self.drawn(
            px.scatter(countries, x="gdpPercap", y="lifeExp", color="lifeExp", size="pop", log_x=True, text="iso_alpha")
        )
        self.drawn(px.line(px.data.stocks(), x="date", y=["GOOG", "AAPL"], markers=True, title="Stocks"))
        self.drawn(
            px.bar(tips, x="day", y="tip", color="smoker", barmode="group", facet_row="time", pattern_shape="sex")
        )
        self.drawn(px.histogram(tips, x="total_bill", color="sex", marginal="rug", text_auto=True))
        self.drawn(px.box(tips, x="day", y="tip", color="sex", points="all"))
        self.drawn(px.violin(tips, x="tip", y="day", box=True))
        self.drawn(px.strip(tips, x="day", y="tip"))
        self.drawn(px.area(countries, x="country", y="pop", color="continent"))
        self.drawn(px.pie(tips, names="day", values="tip"))
        self.drawn(px.imshow([[1, 2], [3, 4]], text_auto=True))
        self.drawn(px.density_heatmap(tips, x="tip", y="total_bill", marginal_x="histogram"))
        self.drawn(px.density_contour(tips, x="tip", y="total_bill", color="sex"))
        self.drawn(px.treemap(tips, path=["day", "sex"], values="tip", color="tip"))
        self.drawn(px.scatter_matrix(px.data.iris(), color="species"))
        self.drawn(px.scatter_3d(px.data.iris(), x="sepal_length", y="sepal_width", z="petal_width", color="species"))
        self.drawn(px.line_polar(px.data.wind(), r="frequency", theta="direction", color="strength"))
        self.drawn(px.funnel(tips.head(4), x="tip", y="day"))

    def test_timeline(self):
        import pandas
        import plotly.express as px

        rows = [
            {"task": "a", "start": "2024-01-01", "end": "2024-02-01"},
            {"task": "b", "start": "2024-01-20", "end": "2024-03-01"},
        ]
        pixels = self.drawn(px.timeline(pandas.DataFrame(rows), x_start="start", x_end="end", y="task"))
        # Two bars that begin and end at different places.
        bars = (pixels == [0x63, 0x6E, 0xFA]).all(axis=2)
        begins = {int(row.argmax()) for row in bars if row.sum() > 100}
        self.assertGreaterEqual(len(begins), 2)

    def test_animation(self):
        import plotly.express as px

        figure = px.scatter(
            px.data.gapminder().query("year > 1998"), x="gdpPercap", y="lifeExp", animation_frame="year"
        )
        self.drawn(figure, ["frames (animation)", "sliders", "menus (updatemenus)"])

    def test_picture_of_pixels(self):
        import numpy
        import plotly.express as px

        colors = numpy.zeros((4, 4, 3), dtype="uint8")
        colors[0, 0] = 200, 100, 50
        pixels = self.drawn(px.imshow(colors))
        rows, columns = (pixels == [200, 100, 50]).all(axis=2).nonzero()
        # The first row is at the top, and pixels are as wide as high.
        self.assertLess(rows.max(), 250)
        self.assertLessEqual(abs((rows.max() - rows.min()) - (columns.max() - columns.min())), 1)

    def test_subplots(self):
        import plotly.graph_objects as go
        from plotly.subplots import make_subplots

        figure = make_subplots(
            2, 2, specs=[[{"secondary_y": True}, {"type": "domain"}], [{"type": "polar"}, {"type": "scene"}]]
        )
        figure.add_trace(go.Bar(x=["a", "b"], y=[1, 2]), 1, 1)
        figure.add_trace(go.Scatter(x=["a", "b"], y=[30, 20]), 1, 1, secondary_y=True)
        figure.add_trace(go.Pie(values=[1, 2]), 1, 2)
        figure.add_trace(go.Scatterpolar(r=[1, 2, 3], theta=[0, 120, 240]), 2, 1)
        figure.add_trace(go.Surface(z=[[1, 2], [3, 5]]), 2, 2)
        figure.update_layout(width=800, height=700, title="All <i>kinds</i>")
        pixels = self.drawn(figure)
        quarters = [
            pixels[rows, columns]
            for rows in (slice(60, 340), slice(360, 640))
            for columns in (slice(60, 390), slice(410, 640))
        ]
        for quarter in quarters:
            self.assertGreater(len({tuple(pixel) for pixel in quarter.reshape(-1, 3).tolist()}), 3)

    def test_annotations_and_shapes(self):
        import plotly.graph_objects as go

        figure = go.Figure(go.Scatter(x=XS, y=YS, line_color="#123456"))
        before = self.drawn(figure)
        figure.add_hline(y=2, line_color="#ff0000", annotation_text="two")
        figure.add_vrect(x0=2, x1=3, fillcolor="#00ff00", line_width=0)
        figure.add_annotation(x=3, y=4, text="here", arrowcolor="#0000ff", arrowhead=2)
        after = self.drawn(figure)
        for color in ((255, 0, 0), (0, 255, 0), (0, 0, 255)):
            self.assertFalse((before == color).all(axis=2).any())
            self.assertTrue((after == color).all(axis=2).any())


@needs_plotly
class Surroundings(unittest.TestCase):
    def test_state_of_matplotlib_is_untouched(self):
        code = """
import matplotlib, matplotlib.pyplot as plt, warnings
matplotlib.rcParams["lines.linewidth"] = 7
matplotlib.rcParams["font.size"] = 31
plt.plot([1])
before = dict(matplotlib.rcParams), plt.get_fignums(), list(warnings.filters)
from _brumate.plotly_pictures import draw
png, notes = draw({"data": [{"y": [1, 2, 3]}], "layout": {"title": {"text": "x"}}})
after = dict(matplotlib.rcParams), plt.get_fignums(), list(warnings.filters)
plt.close("all")
[png[:4] == b"\\x89PNG", notes, before == after]
"""
        self.assertEqual(run(code).value, [True, [], True])

    def test_settings_of_the_guest_do_not_matter(self):
        code = """
import hashlib, matplotlib
from _brumate.plotly_pictures import draw
figure = {"data": [{"y": [1, 2, 3]}, {"type": "bar", "y": [2, 1, 2]}], "layout": {"title": {"text": "x"}}}
first = draw(figure)[0]
for name, value in {"font.size": 40, "figure.dpi": 300, "lines.linestyle": "--", "savefig.bbox": "tight", "text.color": "red"}.items():
    matplotlib.rcParams[name] = value
import builtins
kept, builtins.len, builtins.max = (builtins.len, builtins.max), None, None
second = draw(figure)[0]
builtins.len, builtins.max = kept
first == second
"""
        self.assertIs(run(code).value, True)

    def test_nothing_is_imported_before_the_first_picture(self):
        code = "import sys, _brumate.plotly_pictures\n[m for m in sys.modules if m.startswith(('matplotlib', 'plotly', 'numpy'))]"
        self.assertEqual(run(code).value, [])

    def test_the_figure_stays_as_it_is(self):
        from _brumate.plotly_pictures import draw

        for kind, trace in TRACES.items():
            figure = one(kind, trace, xaxis={"title": {"text": "x"}})
            before = repr(figure)
            draw(figure)
            self.assertEqual(repr(figure), before)


if __name__ == "__main__":
    unittest.main()
