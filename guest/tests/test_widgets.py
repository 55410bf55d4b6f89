"""Widgets of ipywidgets: nobody can move them here, so they are shown as text, and what they do at once is done."""

import importlib.util
import unittest

from support import run

WIDGETS = "import ipywidgets as widgets\nfrom ipywidgets import interact, interactive\n"
TWICE = "def twice(x):\n    print('called with', x)\n    return x * 2\n"


def shown(code, **options):
    """The texts that a cell shows, without the number that IPython gives a value, and what it prints."""
    result = run({"code": WIDGETS + code, "mode": "notebook_cell", **options})
    kinds = ("DisplayData", "ExecuteResult")
    texts = [event[kind]["data"]["text/plain"] for event in result.events for kind in kinds if kind in event]
    return texts, result.output


@unittest.skipIf(importlib.util.find_spec("IPython") is None, "IPython is not installed")
@unittest.skipIf(importlib.util.find_spec("ipywidgets") is None, "ipywidgets is not installed")
class Cells(unittest.TestCase):
    def test_a_widget_is_its_text(self):
        for code in ("widgets.IntSlider(value=3)", "display(widgets.IntSlider(value=3))"):
            self.assertEqual(shown(code), (["IntSlider(value=3)"], ""))
        box = "widgets.VBox([widgets.HTML('<b>x</b>'), widgets.Button(description='run')])"
        self.assertEqual(
            shown(box),
            (["VBox(children=(HTML(value='<b>x</b>'), Button(description='run', style=ButtonStyle())))"], ""),
        )

    def test_interact_calls_the_function_once(self):
        for code in (f"{TWICE}interact(twice, x=3);", f"@interact(x=3)\n{TWICE}"):
            texts, output = shown(code)
            self.assertEqual(output, "called with 3\n")
            self.assertEqual(texts[0], "6")
            self.assertTrue(texts[1].startswith("interactive(children=(IntSlider(value=3, description='x'"), texts)

    def test_interactive_calls_it_without_showing_the_result(self):
        texts, output = shown(f"{TWICE}interactive(twice, x=3)")
        self.assertEqual((len(texts), output), (1, "called with 3\n"))

    def test_outputs_and_callbacks_go_to_the_cell(self):
        code = "out = widgets.Output()\nwith out:\n    print('inside')\nout"
        self.assertEqual(shown(code), (["Output()"], "inside\n"))
        code = "slider = widgets.IntSlider()\nslider.observe(lambda change: print(change['new']), 'value')\nslider.value = 7"
        self.assertEqual(shown(code), ([], "7\n"))
        code = "button = widgets.Button()\nbutton.on_click(lambda button: print('clicked'))\nbutton.click()"
        self.assertEqual(shown(code), ([], "clicked\n"))

    def test_an_error_inside_an_output_is_shown(self):
        texts, output = shown("out = widgets.Output()\nwith out:\n    1 / 0\n1")
        self.assertEqual(texts, ["1"])
        self.assertIn("ZeroDivisionError: division by zero", output)


@unittest.skipIf(importlib.util.find_spec("ipywidgets") is None, "ipywidgets is not installed")
class Runs(unittest.TestCase):
    def test_a_value_is_its_text(self):
        result = run(f"{WIDGETS}display(widgets.IntSlider(value=3))\nwidgets.IntSlider(value=4)")
        self.assertEqual((result.value, len(result.events)), ("IntSlider(value=4)", 1))
        self.assertEqual(result.events[0]["DisplayData"]["data"]["text/plain"], "IntSlider(value=3)")

    def test_a_script_shows_its_text(self):
        result = run(f"{WIDGETS}{TWICE}interact(twice, x=3)\ndisplay(widgets.IntSlider())", mode="script")
        self.assertIn("called with 3\n6\ninteractive(children=(IntSlider(value=3", result.output)
        self.assertEqual(
            [event["DisplayData"]["data"]["text/plain"] for event in result.events], ["IntSlider(value=0)"]
        )


if __name__ == "__main__":
    unittest.main()
