"""Mime bundles: `display()` and the rich form of a run's value."""

import base64
import unittest

from support import run


def bundles(result):
    return [event["DisplayData"]["data"] for event in result.events]


class Display(unittest.TestCase):
    def test_plain(self):
        result = run("display(1, 'a')\ndisplay([1])\ndisplay()")
        self.assertEqual(bundles(result), [{"text/plain": text} for text in ("1", "'a'", "[1]")])
        self.assertIsNone(result.json)

    def test_methods(self):
        code = (
            "class A:\n"
            "    def _repr_html_(self): return '<b>é</b>'\n"
            "    def _repr_png_(self): return b'\\x89PNG'\n"
            "    def _repr_jpeg_(self): return 'YQ=='\n"
            "    def _repr_json_(self): return {'a': [1]}\n"
            "    def _repr_latex_(self): return ('$x$', {'meta': 1})\n"
            "    def _repr_markdown_(self): return None\n"
            "    def _repr_svg_(self): 1/0\n"
            "    _repr_pdf_ = 5\n"
            "    def __repr__(self): return 'A!'\n"
            "display(A())"
        )
        (data,) = bundles(run(code))
        self.assertEqual(
            data,
            {
                "text/html": "<b>é</b>",
                "image/png": base64.b64encode(b"\x89PNG").decode(),
                "image/jpeg": "YQ==",
                "application/json": '{\n  "a": [\n    1\n  ]\n}',
                "text/latex": "$x$",
                "text/plain": "A!",
            },
        )

    def test_mimebundle(self):
        code = (
            "class A:\n    def _repr_mimebundle_(self, include=None, exclude=None):\n"
            "        return {'text/plain': 'p', 'application/vnd.x+json': {'k': 1}, 'text/html': None, 5: 'x'}, {}\n"
            "    def _repr_html_(self): return 'h'\n"
            "display(A())"
        )
        self.assertEqual(
            bundles(run(code)), [{"text/plain": "p", "application/vnd.x+json": '{\n  "k": 1\n}', "text/html": "h"}]
        )

    def test_mocks_and_classes(self):
        code = "from unittest.mock import MagicMock\ndisplay(MagicMock(name='m'))\nclass A:\n    def _repr_html_(self): return 'h'\ndisplay(A)"
        for data in bundles(run(code)):
            self.assertEqual(list(data), ["text/plain"])

    def test_options_of_ipython(self):
        self.assertEqual(len(run("display(1, metadata={}, raw=False, clear=True)").events), 1)

    def test_repr_that_raises(self):
        raised = run("class A:\n    def __repr__(self): 1/0\ndisplay(A())").raised
        self.assertEqual(raised["ename"], "ZeroDivisionError")

    def test_bounds(self):
        from _brumate import channel, display

        result = run(f"for i in range({channel.MAX_FRAMES_PER_RUN + 500}): display(i)\n'end'")
        self.assertEqual((len(result.events), result.value), (channel.MAX_FRAMES_PER_RUN, "end"))
        code = "class A:\n    def _repr_html_(self): return 'x' * 20_000_000\n    def __repr__(self): return 'y' * 20_000_000\ndisplay(A())"
        (data,) = bundles(run(code))
        self.assertEqual(list(data), ["text/plain"])
        self.assertLess(len(data["text/plain"]), display.MAX_PLAIN_CHARS + 200)

    def test_surrogates(self):
        self.assertEqual(
            bundles(run("class A:\n    def __repr__(self): return '\\ud800'\ndisplay(A())")),
            [{"text/plain": "\\ud800"}],
        )

    def test_no_channel(self):
        from _brumate import channel

        channel.open_channel(-1)
        self.assertFalse(channel.emit("DisplayData", {"text/plain": "x"}))

    def test_display_hidden_by_a_name_of_the_guest(self):
        self.assertEqual(run("display = 5\ndisplay").value, 5)


class Value(unittest.TestCase):
    CODE = "class A:\n    def _repr_html_(self): return 'h'\n    def __repr__(self): return 'A!'\nA()"

    def test_only_when_asked_for(self):
        self.assertEqual(run(self.CODE).events, [])
        result = run(self.CODE, rich=True)
        self.assertEqual(result.events, [{"ExecuteResult": {"data": {"text/html": "h", "text/plain": "A!"}}}])
        self.assertEqual(result.value, "A!")

    def test_none_and_scripts_have_none(self):
        self.assertEqual(run("None", rich=True).events, [])
        self.assertEqual(run("5", rich=True, mode="script").events, [])


if __name__ == "__main__":
    unittest.main()
