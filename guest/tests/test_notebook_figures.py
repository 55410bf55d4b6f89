"""Figures of notebook cells: matplotlib's and plotly's are captured once per cell and change; large pictures are made smaller."""

import base64
import importlib.util
import json
import os
import struct
import tempfile
import unittest
import zlib

from support import bundles, cells, run

HEAD = "import matplotlib.pyplot as plt\n"


@unittest.skipIf(any(importlib.util.find_spec(name) is None for name in ("IPython", "matplotlib")), "not installed")
class Figures(unittest.TestCase):
    def test_forms(self):
        config = "%config InlineBackend."
        for line, forms in (
            ("", ["image/png"]),
            ("figure_format = 'retina'", ["image/png"]),
            ("figure_format = 'jpeg'", ["image/jpeg"]),
            ("figure_format = 'svg'", ["image/png", "image/svg+xml"]),
            ("figure_formats = ['png', 'pdf']", ["application/pdf", "image/png"]),
        ):
            (data,) = bundles(cells(f"{HEAD}{config + line if line else ''}\nplt.plot([1, 2])\nplt.show()"))
            self.assertEqual(sorted(data), [*forms, "text/plain"], line)

    def test_arguments_of_drawing(self):
        sizes = []
        for line in ("{'bbox_inches': 'tight'}", "{'bbox_inches': None}", "{'bbox_inches': None, 'dpi': 50}"):
            code = f"%config InlineBackend.print_figure_kwargs = {line}\nplt.plot([1, 2])\nplt.show()"
            (data,) = bundles(cells(HEAD + code))
            sizes.append(struct.unpack(">II", base64.b64decode(data["image/png"])[16:24]))
        self.assertEqual(sizes[1:], [(640, 480), (320, 240)])
        self.assertLess(sizes[0][0], 640)

    def test_saved_ones_are_not_drawn_again(self):
        draw = "fig, ax = plt.subplots()\nax.plot([1, 2])\n"
        count = "import _brumate.figure_formats as f\ndrawn, draw = [], f.draw\nf.draw = lambda figure: drawn.append(1) or draw(figure)"
        for code, drawn, shown in (
            ("fig.savefig('a.png')\nplt.show()", 0, 1),
            ("fig.savefig('a.jpg')\nfig", 0, 1),
            ("fig.savefig('a.png')", 0, 1),
            ("fig.savefig('a.png')\nax.set_title('x')", 1, 1),
            ("fig.savefig('a.png', dpi=20)", 1, 1),
            ("fig.savefig('a.pdf')", 1, 1),
            ("fig.savefig('a.png', format='svg')", 1, 1),
            ("fig.savefig('a.png')\nopen('a.png', 'w').close()", 1, 1),
            ("fig\nax.plot([2, 1])\nfig.savefig('a.png')", 0, 1),
            ("plt.show()\nax.plot([2, 1])\nfig.savefig('a.png')", 1, 2),
        ):
            with tempfile.TemporaryDirectory() as directory:
                first = f"{HEAD}import os; os.chdir({directory!r})\n{count}"
                result = cells(first, f"{draw}{code};None", "print(len(drawn))")
                self.assertEqual((result.output, len(_all_bundles(result))), (f"{drawn}\n", shown), code)

    def test_once_per_cell_and_change(self):
        begin = "fig, ax = plt.subplots()\nax.plot([1, 2])\n"
        for code, count in [
            ("plt.show()\nfig", 1),
            ("display(fig)\ndisplay(fig)", 1),
            ("display(fig)\nplt.show()", 1),
            ("fig.savefig('a.png')\nplt.show()", 1),
            ("display(fig)\nfig.savefig('a.png')", 1),
            ("plt.show()\nax.plot([2, 1])\ndisplay(fig)", 2),
            ("plt.show()\nax.plot([2, 1])", 2),
            ("display(fig)\nax.plot([2, 1])\nplt.show()", 2),
            ("plt.close()", 0),
            ("plt.close('all')", 0),
            ("display(fig)\nplt.close(fig)", 1),
            ("plt.subplots(2, 2)", 2),
        ]:
            pictures = [data for data in _all_bundles(cells(HEAD + begin + code)) if "image/png" in data]
            self.assertEqual(len(pictures), count, code)

    def test_later_cells(self):
        begin = HEAD + "fig, ax = plt.subplots()\nax.plot([1, 2])\nNone"
        for codes, count in [
            (["1"], 1),
            (["ax.get_title()", "fig.get_size_inches()"], 1),
            (["fig.savefig('a.png', dpi=300)", "1"], 1),
            (["ax.plot([2, 1])\nNone", "1"], 2),
            (["ax.set_title('a')", "ax.set_title('b')"], 3),
            (["ax.lines[0].set_ydata([3, 4])"], 2),
            (["ax.set_title('a')\ndisplay(fig)"], 2),
            (["fig"], 2),
            (["del fig, ax\nplt.plot([5])\nNone", "1"], 2),
        ]:
            pictures = [data for data in _all_bundles(cells(begin, *codes)) if "image/png" in data]
            self.assertEqual(len(pictures), count, codes)

    def test_alike_is_not_the_same(self):
        code = "for _ in range(3):\n    plt.plot([1, 2])\n    plt.show()"
        self.assertEqual(len(_all_bundles(cells(HEAD + code))), 3)

    @unittest.skipIf(importlib.util.find_spec("seaborn") is None, "seaborn is not installed")
    def test_seaborn(self):
        code = "import seaborn as sns, pandas as pd\nd = pd.DataFrame({'a': [1, 2], 'b': [3, 1]})\n"
        for plot in (
            "sns.lineplot(d, x='a', y='b')",
            "g = sns.relplot(d, x='a', y='b')\ng",
            "g = sns.pairplot(d)\ng.figure",
            "sns.barplot(d, x='a', y='b')\nplt.show()",
        ):
            pictures = [data for data in _all_bundles(cells(HEAD + code + plot)) if "image/png" in data]
            self.assertEqual(len(pictures), 1, plot)

    def test_captured(self):
        result = cells("%%capture c\n" + HEAD + "plt.plot([1])", "len(c.outputs)")
        self.assertEqual(bundles(result), [])
        # What plot() returned, and the figure.
        self.assertEqual(bundles(result, "ExecuteResult"), [{"text/plain": "2"}])

    def test_retina(self):
        width = [
            _width(data)
            for data in bundles(
                cells(
                    HEAD + "plt.plot([1]);", "%config InlineBackend.figure_format = 'retina'", HEAD + "plt.plot([1]);"
                )
            )
        ]
        self.assertAlmostEqual(width[1] / width[0], 2, places=1)

    def test_a_figure_that_cannot_be_drawn(self):
        result = cells(HEAD + "plt.plot([1])\nplt.title(r'$\\frac$')\n5;", "1")
        self.assertEqual(bundles(result, "ExecuteResult"), [{"text/plain": "1"}])
        self.assertIn("ParseException", json.dumps(result.all) + result.output)


@unittest.skipIf(importlib.util.find_spec("PIL") is None, "pillow is not installed")
class Pictures(unittest.TestCase):
    def test_bounds(self):
        from _brumate import pictures

        noise = os.urandom(3 * 1000 * 1000)
        for size, pixels, smaller in [
            ((10, 10), None, False),
            ((1568, 20), None, False),
            ((3000, 20), None, True),
            ((1000, 1000), noise, True),
        ]:
            data = {"image/png": _encode(_png(*size, pixels))}
            pictures.fit(data)
            self.assertEqual("application/vnd.brumate.original+png" in data, smaller, size)
            self.assertLessEqual(_width(data), pictures.MAX_SIDE)
            self.assertLessEqual(len(data["image/png"]) * 3 // 4, pictures.MAX_BYTES)

    def test_what_cannot_be_read_keeps_its_original(self):
        from _brumate import pictures

        for broken in (_png(3000, 20)[:60], _png(100_000, 100_000, b"")):
            data = {"image/png": _encode(broken)}
            pictures.fit(data)
            self.assertEqual(list(data), ["application/vnd.brumate.original+png"])
        data = {"image/png": "no base64!"}
        pictures.fit(data)
        self.assertEqual(data, {"image/png": "no base64!"})


@unittest.skipIf(any(importlib.util.find_spec(name) is None for name in ("IPython", "plotly")), "not installed")
class Plotly(unittest.TestCase):
    CODE = "import plotly.graph_objects as go\nfig = go.Figure(go.Bar(y=[1, 2]))\n"

    def test_forms(self):
        for code in (
            "fig",
            "fig.show()",
            "fig.show('notebook')",
            "import plotly.io as pio\npio.renderers.default = 'browser'\nfig.show()",
            "display(fig)",
        ):
            (data,) = bundles(cells(self.CODE + code))
            kinds = ["application/vnd.plotly.v1+json", "image/png", "text/html", "text/plain"]
            self.assertEqual(sorted(data), kinds)
            self.assertEqual(json.loads(data["application/vnd.plotly.v1+json"])["data"][0]["type"], "bar")
            self.assertEqual(data["text/plain"], "plotly Figure with 1 trace: bar")
            self.assertTrue(base64.b64decode(data["image/png"]).startswith(b"\x89PNG"))

    def test_once_per_cell_and_change(self):
        for code, count in [
            ("fig.show()\nfig", 1),
            ("fig.show()\nfig.show()", 1),
            ("fig.show()\nfig.add_bar(y=[3])\nfig.show()", 2),
            ("fig", 1),
            ("None", 0),
        ]:
            self.assertEqual(
                len([data for data in _all_bundles(cells(self.CODE + code)) if len(data) > 1]), count, code
            )

    def test_a_page_has_all_it_needs(self):
        from plotly.offline import get_plotlyjs

        code = self.CODE + "fig.update_layout(title='</script><!-- ü')\nfig.show()"
        (data,) = bundles(cells(code))
        page = data["text/html"]
        self.assertLess(len(page), 2_500_000)
        packed = page.partition('id="plotly.js-deflate-base64">')[2].partition("<")[0]
        self.assertEqual(zlib.decompress(base64.b64decode(packed)).decode(), get_plotlyjs())
        figure = json.loads(page.partition('id="data">')[2].partition("<")[0])
        self.assertEqual(figure["layout"]["title"]["text"], "</script><!-- ü")
        self.assertNotIn("http", page.replace(packed, "").replace(json.dumps(figure), ""))

    def test_outside_of_notebooks(self):
        (data,) = bundles(run(self.CODE + "fig.show()"))
        self.assertIn("text/html", data)

    def test_bounds(self):
        (data,) = bundles(cells(self.CODE + "go.Figure(go.Scatter(y=[n / 7 for n in range(400_000)])).show()"))
        self.assertEqual(sorted(data), ["image/png", "text/plain"])
        self.assertIn("too large", data["text/plain"])


def _all_bundles(result):
    """The mime bundles of all cells, displayed ones and results."""
    return [data for event in result.events for shown in event.values() if (data := shown.get("data"))]


def _png(width, height, pixels=None):
    """A picture of RGB pixels, black ones unless they are given."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    pixels = bytes(3 * width * height) if pixels is None else pixels
    rows = b"".join([b"\0" + pixels[3 * width * y : 3 * width * (y + 1)] for y in range(height)]) if pixels else b""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def _encode(png):
    return base64.b64encode(png).decode()


def _width(data):
    """The width that a bundle's PNG says."""
    return int.from_bytes(base64.b64decode(data["image/png"][:32])[16:20], "big")


if __name__ == "__main__":
    unittest.main()
