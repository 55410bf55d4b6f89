"""Returned values against expected texts. `test_values_pydantic.py` compares these with what pydantic_core makes of them."""

import itertools
import json
import os
import tempfile
import unittest

import support  # noqa: F401  (puts the package on the path)
from _brumate import values
from _brumate.values import to_json
from value_classes import squeeze
from value_table import ITERATORS, REFUSED, TABLE

try:
    import numpy
except ImportError:
    numpy = None


class Table(unittest.TestCase):
    def test_texts(self):
        for value, expected in TABLE + REFUSED:
            with self.subTest(value=value):
                text = to_json(value)
                self.assertEqual(squeeze(text), expected)
                json.loads(text)

    @unittest.skipIf(numpy is None, "numpy is not installed")
    def test_numpy(self):
        np = numpy
        table = [
            (np.array([[1, 2], [3, 4]]), "[[1,2],[3,4]]"),
            (np.array([1.5, np.nan]), "[1.5,NaN]"),
            (np.int64(3), "3"),
            (np.float64(2.5), "2.5"),
            (np.float32(0.1), "0.10000000149011612"),
            (np.bool_(True), "true"),
            (np.array(5), "5"),
            (np.array([]), "[]"),
            (np.array(["a"]), '["a"]'),
            (np.str_("s"), '"s"'),
            (np.bytes_(b"a"), '"a"'),
            (np.datetime64("2020-01-01"), '"2020-01-01"'),
            (np.timedelta64(5, "s"), '"PT5S"'),
            (np.complex128(1 + 2j), '"1+2j"'),
            (np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]), "[[1,2.0]]"),
            (np.array([print], dtype=object), '["<built-in function print>"]'),
            (np.longdouble(1.5), "1.5"),
            (np.dtype("i4"), "\"dtype('int32')\""),
            ({np.int64(1): np.array([1])}, '{"1": [1]}'),
            ([np.int64(1), {"a": np.array([1])}], '[1,{"a": [1]}]'),
        ]
        for value, expected in table:
            with self.subTest(value=value):
                self.assertEqual(squeeze(to_json(value)), expected)
        self.assertIn("function sum", to_json(np.sum))
        self.assertIn("too large to return", to_json(np.zeros(values.MAX_JSON_CHARS)))


class Iterators(unittest.TestCase):
    def test_consumed(self):
        for make, expected in ITERATORS:
            with self.subTest(expected):
                self.assertEqual(squeeze(to_json(make())), expected)

    def test_endless(self):
        self.assertIn("count too large to return", to_json(itertools.count()))

    def test_files(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "file")
            with open(path, "w", encoding="utf-8") as file:
                file.write("one\ntwo\n")
                self.assertIn("TextIOWrapper", to_json(file))
            with open(path, encoding="utf-8") as file:
                self.assertEqual(json.loads(to_json(file)), ["one\n", "two\n"])
            self.assertIn("TextIOWrapper", to_json(file))


class Limits(unittest.TestCase):
    def test_cycle(self):
        loop = [1]
        loop.append(loop)
        self.assertEqual(json.loads(to_json(loop)), [1, "[1, [...]]"])
        loop = {}
        loop["me"] = [loop]
        self.assertEqual(json.loads(to_json(loop)), {"me": ["{'me': [{...}]}"]})

    def test_same_object_twice_is_no_cycle(self):
        inner = [1]
        self.assertEqual(json.loads(to_json([inner, inner])), [[1], [1]])

    def test_depth(self):
        deep = []
        for _ in range(values.MAX_DEPTH * 2):
            deep = [deep]
        text = to_json(deep)
        self.assertEqual(text.count("[\n"), values.MAX_DEPTH)
        json.loads(text)

    def test_very_deep(self):
        deep = []
        for _ in range(200_000):
            deep = [deep]
        text = to_json(deep)
        self.assertIn("<list nested too deeply>", text)
        while deep:
            deep = deep.pop()

    def test_large(self):
        for value in (
            list(range(2_000_000)),
            {str(i): i for i in range(1_000_000)},
            ["x" * 1000] * 10_000,
            "é" * (values.MAX_JSON_CHARS + 1),
            "\x01" * (values.MAX_JSON_CHARS - 1),
            ["\x01" * (values.MAX_JSON_CHARS - 1)],
            b"x" * (values.MAX_JSON_CHARS + 1),
            b"\xff" * (values.MAX_JSON_CHARS + 1),
        ):
            with self.subTest(kind=type(value)):
                text = to_json(value)
                self.assertLess(len(text), values.MAX_JSON_CHARS)
                self.assertIn(f"{type(value).__name__} too large to return", json.loads(text))

    def test_large_integers(self):
        self.assertEqual(to_json(10**5000), "1" + "0" * 5000)
        self.assertEqual(to_json([-(10**5000)]), "[\n  -1" + "0" * 5000 + "\n]")
        self.assertIn("too long to write out", to_json(1 << 10_000_000))
        self.assertIn("too long to write out", to_json({1 << 10_000_000: 1}))
        with self.assertRaises(ValueError):
            str(10**5000)  # the limit is back in place


if __name__ == "__main__":
    unittest.main()
