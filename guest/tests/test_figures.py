"""matplotlib figures become PNG events."""

import base64
import importlib.util
import tempfile
import unittest

from support import run

HEAD = "import matplotlib.pyplot as plt\n"


@unittest.skipIf(importlib.util.find_spec("matplotlib") is None, "matplotlib is not installed")
class Figures(unittest.TestCase):
    def pngs(self, code, **options):
        result = run(HEAD + code, **options)
        self.assertNotIn("Raised", result.ended, result.ended)
        data = [event["DisplayData"]["data"] for event in result.events]
        for bundle in data:
            self.assertTrue(base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG\r\n"))
            self.assertTrue(bundle["text/plain"].startswith("<Figure size "))
        self.assertEqual(result.output, "")
        return len(data)

    def test_show(self):
        self.assertEqual(self.pngs("plt.plot([1, 2])\nplt.show()"), 1)

    def test_left_open(self):
        self.assertEqual(self.pngs("plt.plot([1, 2])\nplt.figure()\nplt.plot([3])"), 2)

    def test_shown_ones_are_closed(self):
        code = "for i in range(3):\n    plt.plot([i])\n    plt.show()\nassert not plt.get_fignums()"
        self.assertEqual(self.pngs(code), 3)

    def test_figure_show(self):
        self.assertEqual(self.pngs("f, ax = plt.subplots()\nax.plot([1])\nf.show()\nplt.plot([2])"), 2)

    def test_block_argument(self):
        self.assertEqual(self.pngs("plt.plot([1])\nplt.show(block=True)"), 1)

    def test_closed_and_empty_ones_are_not_shown(self):
        self.assertEqual(self.pngs("plt.plot([1])\nplt.close()\nplt.figure()\nplt.show()"), 0)

    def test_saved_ones_are_shown_as_well(self):
        self.assertEqual(self.pngs("plt.plot([1])\nplt.savefig('x.png')"), 1)

    def test_saving_after_show_saves_what_was_shown(self):
        with tempfile.TemporaryDirectory() as directory:
            begin = f"import os; os.chdir({directory!r})\nplt.plot([1, 3])\nplt.title('one')\n"
            self.assertEqual(
                self.pngs(begin + "plt.savefig('a.png', dpi=50)\nplt.show()\nplt.savefig('b.png', dpi=50)"), 1
            )
            with open(f"{directory}/a.png", "rb") as a, open(f"{directory}/b.png", "rb") as b:
                self.assertEqual(a.read(), b.read())
            code = "plt.show()\nplt.figure(figsize=(1, 1))\nplt.savefig('c.png', dpi=50)"
            self.assertEqual(self.pngs(begin + code), 1)
            with open(f"{directory}/c.png", "rb") as file:
                self.assertEqual(file.read()[16:24], (50).to_bytes(4) * 2)

    def test_agg_chosen_by_the_guest(self):
        self.assertEqual(self.pngs("import matplotlib\nmatplotlib.use('Agg')\nplt.plot([1])"), 1)

    def test_display(self):
        self.assertEqual(self.pngs("f, ax = plt.subplots()\nax.plot([1])\ndisplay(f)\nplt.close(f)"), 1)

    def test_switched_off(self):
        self.assertEqual(self.pngs("plt.plot([1])", figures=False), 0)

    def test_shown_before_an_error(self):
        result = run(HEAD + "plt.plot([1])\n1/0")
        self.assertEqual((len(result.events), result.raised["ename"]), (1, "ZeroDivisionError"))

    def test_figure_that_cannot_be_drawn(self):
        result = run(HEAD + "plt.plot([1])\nplt.title(r'$\\frac$')\n5", "1")
        self.assertEqual((result.value, result.events), (1, []))
        self.assertIn("Exception ignored at the end of the run", result.output)

    def test_bounds(self):
        from _brumate import figures

        code = f"for i in range({figures.MAX_FIGURES + 5}):\n    plt.figure(figsize=(1, 1))\n    plt.plot([1])\n    plt.show()"
        self.assertEqual(self.pngs(code), figures.MAX_FIGURES)
        self.assertEqual(self.pngs("plt.figure(figsize=(300, 300))\nplt.plot([1])"), 1)

    def test_scripts_show_nothing(self):
        told = "brumate: the script showed {}, and nobody sees figures of a script (to keep {}, call {} and use --output-dir DIR)\n"
        one = told.format("a figure", "it", "plt.savefig('figure.png')")
        both = "plt.savefig('figure.png') or fig.write_html('figure.html')"
        plotly = "import plotly.graph_objects as go\nfig = go.Figure(go.Bar(y=[1]))\nfig.show()\n"
        with tempfile.TemporaryDirectory() as directory:
            begin = f"{HEAD}import os; os.chdir({directory!r})\nplt.plot([1, 2])\n"
            for code, expected in [
                ("", ""),
                ("plt.show()", one),
                ("plt.gcf().show()", one),
                ("plt.savefig('a.pdf')\nplt.show()", ""),
                ("plt.show()\nplt.savefig('a.png')", ""),
                ("plt.show()\nplt.figure()\nplt.show()", one),
                ("plt.show()\nplt.plot([1])\nplt.savefig('b.png')\nplt.show()", one),
                (
                    "plt.show()\nplt.plot([1])\nplt.show()",
                    told.format("2 figures", "them", "plt.savefig('figure.png')"),
                ),
                (f"plt.show()\n{plotly}", told.format("2 figures", "them", both)),
                (f"{plotly}fig.write_html('figure.html')", ""),
            ]:
                with self.subTest(code):
                    result = run(begin + code, mode="script")
                    self.assertEqual((result.output, result.events), (expected, []), result.ended)

    def test_order_with_output(self):
        result = run(HEAD + "print('a', end='')\nplt.plot([1])\nplt.show()\nprint('b')")
        self.assertEqual((result.output, len(result.events)), ("ab\n", 1))

    def test_session(self):
        result = run(HEAD + "plt.plot([1])", "plt.plot([2])", "1", mode="cell")
        self.assertEqual(len(result.events), 2)


class WithoutMatplotlib(unittest.TestCase):
    def test_nothing_is_imported(self):
        self.assertEqual(run("import sys\n[m for m in sys.modules if 'matplotlib' in m]").value, [])


if __name__ == "__main__":
    unittest.main()
