"""Cells end as they do in a real Jupyter kernel: `golden/notebook.json`, see `notebook_cells.py`."""

import importlib.util
import json
import os
import unittest

from notebook_cells import CELLS, bundle, normal
from support import TESTS, run

_NEEDED = ("IPython", "numpy", "pandas", "sympy", "matplotlib_inline")


def _printed(expected):
    """An error that is not the cell's own goes to stderr: the cell ended well."""
    return {**expected, "error": None, "text": sorted(expected["error"]["text"].split())}


def _line_of_cause(expected):
    """A kernel takes the line that the frame is at now for the one that raised the cause."""
    text = expected["error"]["text"]
    head = "Cell In[52], line 4\n      2     1/0\n      3 except ZeroDivisionError as error:\n----> 4     raise ValueError('second') from error\n"
    assert head in text, text
    text = text.replace(
        head, "Cell In[52], line 2\n      1 try:\n----> 2     1/0\n      3 except ZeroDivisionError as error:\n", 1
    )
    text = text.replace("Cell In[52], line 4\n      1 try:\n", "Cell In[52], line 4\n", 1)
    return {**expected, "error": {**expected["error"], "text": text}}


# stack_data shows more or less of a one-line method, by the order of a set: only name and message are compared.
UNSTABLE = "class Bad:\n    def __repr__(self): raise RuntimeError('no repr')\nBad()"


# Where we mean to differ: code → what becomes of the expectation.
DIFFERENT = {
    "%tb": _printed,
    "try:\n    1/0\nexcept ZeroDivisionError as error:\n    raise ValueError('second') from error": _line_of_cause,
}


MARK = "@@ next cell @@"
# Printed and displayed between two cells, outside of the shell: separates what they sent.
SEPARATOR = {"code": f"display({MARK!r}); print({MARK!r})", "mode": "cell"}


@unittest.skipIf(any(importlib.util.find_spec(name) is None for name in _NEEDED), "a package is not installed")
class Golden(unittest.TestCase):
    maxDiff = 5000

    def test_all_cells(self):
        with open(os.path.join(TESTS, "golden", "notebook.json"), encoding="utf-8") as file:
            golden = json.load(file)
        self.assertEqual([code for code, _ in golden], CELLS)
        for (code, cell), found in zip(golden, sent(), strict=True):
            expected = {key: cell[key] for key in ("displays", "result", "error")}
            # stdout and stderr share a pipe in these tests.
            expected["text"] = sorted((cell["out"] + "\n" + cell["err"]).split())
            if cell["error"] is not None and cell["error"]["text"] is None:
                # Told in the reply alone: a kernel prints these to stderr, we do not print what is reported.
                expected["text"] = found["text"]
                cell["error"]["text"] = found["error"] and found["error"]["text"]
            if code == UNSTABLE:
                cell["error"]["text"] = found["error"] and found["error"]["text"]
            expected = DIFFERENT.get(code, lambda same: same)(expected)
            with self.subTest(code=code):
                self.assertEqual(found, expected)


def sent():
    """What our shell makes of each cell, in the recorder's form."""
    requests = [request for code in CELLS for request in ({"code": code, "mode": "notebook_cell"}, SEPARATOR)]
    os.environ["COLUMNS"] = "80"
    result = run(*requests)
    texts = result.output.split(MARK + "\n")
    events = iter(result.events)
    for text, ended in zip(texts[:-1], result.all[::2], strict=True):
        cell = {"text": sorted(normal(text).split()), "displays": [], "result": None, "error": None}
        for event in events:
            ((kind, content),) = event.items()
            data = bundle(content["data"])
            if MARK in data["text/plain"]:
                break
            data.pop("application/vnd.brumate.display+json", None)
            if kind == "ExecuteResult":
                cell["result"] = data
            else:
                cell["displays"].append(data)
        if "Raised" in ended:
            error = ended["Raised"]
            cell["error"] = {
                "name": error["ename"],
                "value": normal(error["evalue"]),
                "text": normal(error["traceback"]),
            }
        yield cell


if __name__ == "__main__":
    unittest.main()
