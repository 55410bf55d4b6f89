"""plotly figures become pictures without a browser: each type of trace, odd figures, figures of plotly.express."""

import itertools
import random
import time
import unittest

import guest_path  # isort: split

import brumate_plotly
from plotly_figures import (
    MAP,
    ON_MAPS,
    TRACES,
    XS,
    YS,
    needs_plotly,
    odd_figures,
    odd_places,
    odd_values,
    one,
    picture,
    replaced,
)
from support import Replaced, run


@needs_plotly
class Pictures(unittest.TestCase):
    def has_color(self, pixels, color):
        red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
        self.assertTrue((pixels == [red, green, blue]).all(axis=2).any(), color)

    def test_sizes(self):
        sizes = {(300, 200): (300, 200), (None, None): (700, 500), (333, 777): (333, 777), (1, 1): (10, 10)}
        for (width, height), expected in sizes.items():
            pixels, _ = picture(one("scatter", TRACES["scatter"], width=width, height=height))
            self.assertEqual(pixels.shape[1::-1], expected)
        pixels, _ = picture(one("bar", TRACES["bar"], width=10**6, height=100))
        self.assertEqual(pixels.shape[:2], (100, brumate_plotly.MAX_SIDE))

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


@needs_plotly
class OfPlotly(unittest.TestCase):
    """Figures that plotly.express and plotly's own methods make."""

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
class Files(unittest.TestCase):
    CODE = """
import io, warnings
import plotly.graph_objects as go, plotly.io as pio
import kaleido
from PIL import Image
figure = go.Figure([go.Scatter(y=[1, 3, 2], mode="lines+markers"), go.Bar(y=[1, 2, 3])], {"width": 300, "height": 200})
map = go.Figure([go.Choropleth()])
sizes, heads, refused = [], {}, []
for format in ("png", "jpg", "jpeg", "webp"):
    figure.write_image("figure." + format, scale=2)
    sizes.append(Image.open("figure." + format).size)
sizes.append(Image.open(io.BytesIO(pio.to_image(figure, width=400))).size)
sizes.append(Image.open(io.BytesIO(kaleido.calc_fig_sync(figure.to_dict()))).size)
for format in ("svg", "pdf"):
    pio.write_image(figure, "figure." + format)
    data = open("figure." + format, "rb").read()
    heads[format] = b"<svg" in data or data[:5] == b"%PDF-"
for one, options in ((figure, {"format": "bmp"}), (figure, {"scale": 1000}), (map, {}), (go.Figure(), {})):
    try:
        refused.append(one.to_image(**options))
    except ValueError as error:
        refused.append(str(error))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    go.Figure([*figure.data, *map.data]).to_image()
[sizes, heads, refused, [str(one.message) for one in caught]]
"""

    def test_pictures_in_files(self):
        sizes, heads, refused, warned = run(self.CODE).value
        self.assertEqual(sizes, [[600, 400]] * 4 + [[400, 200], [300, 200]])
        self.assertEqual(heads, {"svg": True, "pdf": True})
        for text, part in zip(refused, ("as png, jpg", "at most", "(choropleth)", "write_html"), strict=True):
            self.assertIn(part, text)
        self.assertEqual(warned, ["not in the picture of the plotly figure: choropleth"])


@needs_plotly
class Surroundings(unittest.TestCase):
    """Drawing changes nothing else, and nothing else changes what is drawn."""

    def test_state_of_matplotlib_is_untouched(self):
        code = """
import matplotlib, matplotlib.pyplot as plt, warnings
matplotlib.rcParams["lines.linewidth"] = 7
matplotlib.rcParams["font.size"] = 31
plt.plot([1])
before = dict(matplotlib.rcParams), plt.get_fignums(), list(warnings.filters)
from brumate_plotly import draw
png, notes = draw({"data": [{"y": [1, 2, 3]}], "layout": {"title": {"text": "x"}}})
after = dict(matplotlib.rcParams), plt.get_fignums(), list(warnings.filters)
plt.close("all")
[png[:4] == b"\\x89PNG", notes, before == after]
"""
        self.assertEqual(run(code).value, [True, [], True])

    def test_builtins_of_the_guest_do_not_matter(self):
        figure = one("bar", {"x": ["a", "b"], "y": [1, 2]})
        expected = brumate_plotly.draw(figure)
        draw, replacement = brumate_plotly.draw, Replaced()
        with replacement:
            drawn = draw(figure)
            left = {**replacement.live}
        self.assertEqual(drawn, expected)
        self.assertEqual({name: left[name] for name in replacement.names}, replacement.names)

    def test_settings_of_the_guest_do_not_matter(self):
        code = """
import hashlib, matplotlib
from brumate_plotly import draw
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
        code = "import sys, brumate_plotly\n[m for m in sys.modules if m.startswith(('matplotlib', 'plotly', 'numpy'))]"
        self.assertEqual(run(code).value, [])

    def test_the_figure_stays_as_it_is(self):
        for kind, trace in TRACES.items():
            figure = one(kind, trace, xaxis={"title": {"text": "x"}})
            before = repr(figure)
            brumate_plotly.draw(figure)
            self.assertEqual(repr(figure), before)


if __name__ == "__main__":
    unittest.main()
