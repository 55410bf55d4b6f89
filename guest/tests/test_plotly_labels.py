"""Labels of plotly figures: numbers, dates, marks in texts, kinds of columns, axes."""

import datetime
import unittest

from plotly_figures import (
    needs_plotly,
)


@needs_plotly
class Labels(unittest.TestCase):
    def test_numbers(self):
        from brumate_plotly.figure.formats import compact, number

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
        from brumate_plotly.figure import columns
        from brumate_plotly.figure.formats import date

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
        from brumate_plotly.figure.columns import kind

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
        from brumate_plotly.drawing.markup import flat, lines

        self.assertEqual(flat("<b>a</b> &lt; <a href='x'>b</a><br>c <unknown>d"), "a < b c d")
        (bold, plain), (small,) = lines("<b>a</b>b<br><sup>c</sup>")
        self.assertTrue(bold.bold and not plain.bold and small.rise > 0 and small.scale < 1)

    def test_labels_of_axes(self):
        from brumate_plotly.axes.axis import Axis
        from brumate_plotly.axes.ticks import ticks

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


if __name__ == "__main__":
    unittest.main()
