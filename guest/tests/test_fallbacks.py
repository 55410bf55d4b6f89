"""Cells that do something else instead of failing: forms that cannot be made, missing windows, live displays."""

import unittest

from support import bundles, cells

try:
    import IPython  # noqa: F401
    import matplotlib  # noqa: F401
except ImportError:
    IPython = None
try:
    import rich
except ImportError:
    rich = None


@unittest.skipIf(IPython is None, "needs IPython and matplotlib")
class Fallbacks(unittest.TestCase):
    def test_forms_that_fail(self):
        forms = ("html", "markdown", "svg", "png", "latex", "json", "mimebundle")
        codes = [
            f"class A:\n    def _repr_{form}_(self, **options): raise ValueError('no {form}')\n"
            "    def __repr__(self): return 'plain'\nA()"
            for form in forms
        ]
        failing = "class B:\n    def __repr__(self): raise ValueError('none')\nB()"
        result = cells(*codes, failing)
        self.assertEqual([bundle["text/plain"] for bundle in bundles(result, "ExecuteResult")], ["plain"] * len(forms))
        for form, ended in zip(forms, result.all[:-1], strict=True):
            self.assertIsNone(ended["Returned"])
            self.assertIn(f"ValueError: no {form}", result.output)
        self.assertEqual(result.raised["evalue"], "none")

    def test_windows(self):
        codes = [
            f"%matplotlib {name}\nimport matplotlib\nmatplotlib.get_backend()"
            for name in ("widget", "notebook", "qt", "TK")
        ]
        result = cells(*codes, "%gui qt\n1")
        self.assertEqual(result.output.count("figures are shown below the cell"), len(codes) + 1)
        shown = [bundle["text/plain"] for bundle in bundles(result, "ExecuteResult")]
        self.assertEqual(shown, ["'module://_brumate.mpl_backend'"] * len(codes) + ["1"])

    @unittest.skipIf(rich is None, "needs rich")
    def test_live_displays(self):
        result = cells(
            "from rich.progress import track\nfor x in track(range(30), description='Work'): pass\nprint('after')",
            "from rich.live import Live\nfrom rich.table import Table\nwith Live(refresh_per_second=50) as live:\n"
            "    for n in range(3):\n        table = Table(title='Table')\n        table.add_row(f'row {n}')\n"
            "        live.update(table)",
            "from rich.console import Console\nwith Console().status('busy'): pass",
            emulate=True,
        )
        shown = [bundle["text/plain"] for bundle in bundles(result)]
        self.assertEqual([("100%" in text, "row 2" in text) for text in shown], [(True, False), (False, True)])
        self.assertEqual(result.output, "after\n")


if __name__ == "__main__":
    unittest.main()
