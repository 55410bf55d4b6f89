"""The examples in the documentation of the package."""

import doctest
import pathlib
import re
import unittest

from brumate import AsyncSandbox, Sandbox, _async, _sandbox

from . import OPTIONS


class Examples(unittest.TestCase):
    def test_docstrings(self):
        for module in (_sandbox, _async):
            result = doctest.testmod(module)
            self.assertGreater(result.attempted, 0)
            self.assertEqual(result.failed, 0)

    def test_the_first_example_of_the_readme(self):
        text = pathlib.Path(__file__).parent.parent.joinpath("README.md").read_text()
        example = re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]
        import pandas

        prices = pathlib.Path("prices.csv")
        names = {"dataframe": pandas.DataFrame({"price": [1.5, 2.5]})}
        prices.write_text("a,b\n")
        try:
            exec(example, names)
        finally:
            prices.unlink()
        self.assertTrue(names["result"].figures[0].png.startswith(b"\x89PNG"))

    def test_each_method_has_a_text(self):
        for kind in (Sandbox, AsyncSandbox, _sandbox.Session, _async.AsyncSession):
            for name, member in vars(kind).items():
                if callable(member) and not name.startswith("_"):
                    self.assertTrue(member.__doc__, f"{kind.__name__}.{name}")

    def test_both_interfaces_have_the_same_methods(self):
        others = {"eval", "get", "set"}
        for one, other in ((Sandbox, AsyncSandbox), (_sandbox.Session, _async.AsyncSession)):
            names = [{name for name in dir(kind) if not name.startswith("_")} - others for kind in (one, other)]
            self.assertEqual(*names)
        self.assertTrue(OPTIONS)


if __name__ == "__main__":
    unittest.main()
