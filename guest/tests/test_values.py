"""Returned values against expected texts, and against pydantic_core where it is installed."""

import array
import collections
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import ipaddress
import itertools
import json
import pathlib
import re
import types
import typing
import unittest
import uuid

import support  # noqa: F401  (puts the package on the path)
from _brumate import scalars, values
from _brumate.values import to_json

try:
    import pydantic
    import pydantic_core
except ImportError:
    pydantic = pydantic_core = None
try:
    import numpy
except ImportError:
    numpy = None


class Color(enum.Enum):
    RED = 1
    NAME = "x"
    PAIR = (1, 2)


class Level(enum.IntEnum):
    LOW = 1


class Tag(enum.StrEnum):
    A = "sa"


@dataclasses.dataclass
class Point:
    x: int
    _y: int = 2
    next: object = None
    shared: typing.ClassVar[int] = 3
    given: dataclasses.InitVar[int] = 3


@dataclasses.dataclass(slots=True)
class Slotted:
    a: int
    b: list


class Shown:
    def __repr__(self):
        return "Shown!"


class MyInt(int):
    def __repr__(self):
        return "no"


class MyStr(str):
    __slots__ = ()


class MyDict(dict):
    pass


Pair = collections.namedtuple("Pair", "a b")
UTC = dt.UTC


def zone(**offset):
    return dt.timezone(dt.timedelta(**offset))


# (value, JSON text with the line breaks and indents taken out)
TABLE = [
    (5, "5"),
    (-3, "-3"),
    (2**200, str(2**200)),
    (True, "true"),
    (1.5, "1.5"),
    (1.0, "1.0"),
    (-0.0, "-0.0"),
    (1e15, "1000000000000000.0"),
    (1e16, "1e+16"),
    (1.5e300, "1.5e+300"),
    (1e-4, "0.0001"),
    (1e-5, "0.00001"),
    (-1.25e-5, "-0.0000125"),
    (1e-7, "1e-7"),
    (5e-324, "5e-324"),
    (123456789012345680.0, "1.2345678901234568e+17"),
    (float("nan"), "NaN"),
    (-float("inf"), "-Infinity"),
    ("", '""'),
    ('a"\\\n\t\x01\x7fé\u2028😀/', '"a\\"\\\\\\n\\t\\u0001\x7fé\u2028😀/"'),
    (b"abc", '"abc"'),
    (bytearray(b"hi"), '"hi"'),
    ([], "[]"),
    ([1, [], {}, [1]], "[1,[],{},[1]]"),
    ((1, 2), "[1,2]"),
    ({1}, "[1]"),
    (frozenset([2]), "[2]"),
    ({}, "{}"),
    ({"a": 1, 2: None}, '{"a": 1,"2": null}'),
    (Pair(1, 2), "[1,2]"),
    (collections.deque([1, 2]), "[1,2]"),
    (collections.OrderedDict(a=1), '{"a": 1}'),
    (collections.Counter("a"), '{"a": 1}'),
    (collections.ChainMap({"a": 1}), "\"ChainMap({'a': 1})\""),
    (types.MappingProxyType({"a": 1}), "\"mappingproxy({'a': 1})\""),
    (types.SimpleNamespace(a=1), '"namespace(a=1)"'),
    (dt.datetime(2020, 1, 2, 3, 4, 5), '"2020-01-02T03:04:05"'),
    (dt.datetime(2020, 1, 2, 3, 4, 5, 678), '"2020-01-02T03:04:05.000678"'),
    (dt.datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC), '"2020-01-02T03:04:05Z"'),
    (dt.datetime(2020, 1, 2, tzinfo=zone(hours=5, minutes=30)), '"2020-01-02T00:00:00+05:30"'),
    (dt.datetime(2020, 1, 2, tzinfo=zone(hours=-5, minutes=-30)), '"2020-01-02T00:00:00-05:30"'),
    (dt.datetime(2020, 1, 2, tzinfo=zone(seconds=3661)), '"2020-01-02T00:00:00+01:01"'),
    (dt.date(1, 1, 2), '"0001-01-02"'),
    (dt.time(1, 2, 3), '"01:02:03"'),
    (dt.time(1, 2, 3, 400000), '"01:02:03.400000"'),
    (dt.time(1, 2, 3, tzinfo=UTC), '"01:02:03Z"'),
    (dt.timedelta(0), '"PT0S"'),
    (dt.timedelta(days=1, seconds=3661), '"P1DT1H1M1S"'),
    (-dt.timedelta(seconds=1), '"-PT1S"'),
    (-dt.timedelta(days=2, microseconds=1500), '"-P2DT0.0015S"'),
    (dt.timedelta(days=400, hours=5), '"P1Y35DT5H"'),
    (dt.timedelta(hours=2, minutes=5), '"PT2H5M"'),
    (dt.timedelta(days=365), '"P1Y"'),
    (decimal.Decimal("1.10"), '"1.10"'),
    (decimal.Decimal("nan"), '"NaN"'),
    (uuid.UUID(int=5), '"00000000-0000-0000-0000-000000000005"'),
    (pathlib.Path("/a"), '"/a"'),
    (pathlib.PurePosixPath("/a/b"), "\"PurePosixPath('/a/b')\""),
    (Color.RED, "1"),
    (Color.PAIR, "[1,2]"),
    (Level.LOW, "1"),
    (Tag.A, '"sa"'),
    (Point(1), '{"x": 1,"_y": 2,"next": null}'),
    (Point(1, 2, Point(3)), '{"x": 1,"_y": 2,"next": {"x": 3,"_y": 2,"next": null}}'),
    (Slotted(1, [2]), '{"a": 1,"b": [2]}'),
    (Point, f"\"<class '{__name__}.Point'>\""),
    (range(3), '"range(0, 3)"'),
    ({1: 2}.keys(), '"dict_keys([1])"'),
    (1 + 2j, '"1+2j"'),
    (2j, '"2j"'),
    (complex(float("nan"), 1), '"NaN+1j"'),
    (ipaddress.ip_address("1.2.3.4"), '"1.2.3.4"'),
    (ipaddress.ip_network("::/64"), '"::/64"'),
    (re.compile("a+"), '"a+"'),
    (re.compile(b"a+"), "\"b'a+'\""),
    (fractions.Fraction(1, 3), '"1/3"'),
    (len, '"<built-in function len>"'),
    (int, "\"<class 'int'>\""),
    (Shown(), '"Shown!"'),
    ([Shown()], '["Shown!"]'),
    (MyInt(4), "4"),
    (MyStr("q"), '"q"'),
    (MyDict(a=1), '{"a": 1}'),
    (ValueError("bad"), "\"ValueError('bad')\""),
    (..., '"Ellipsis"'),
    (array.array("i", [1]), "\"array('i', [1])\""),
    ({None: 1}, '{"None": 1}'),
    ({True: 1}, '{"true": 1}'),
    ({1.5: 1}, '{"1.5": 1}'),
    ({float("nan"): 1}, '{"nan": 1}'),
    ({(1, "a"): 1}, '{"1,a": 1}'),
    ({(1, (2, None, True)): 1}, '{"1,2,None,true": 1}'),
    ({(): 1}, '{"": 1}'),
    ({b"a": 1}, '{"a": 1}'),
    ({Color.NAME: 1}, '{"x": 1}'),
    ({Color.PAIR: 1}, '{"1,2": 1}'),
    ({Level.LOW: 1}, '{"1": 1}'),
    ({Tag.A: 1}, '{"sa": 1}'),
    ({uuid.UUID(int=1): 1}, '{"00000000-0000-0000-0000-000000000001": 1}'),
    ({pathlib.Path("/a"): 1}, '{"/a": 1}'),
    ({decimal.Decimal("1.1"): 1}, '{"1.1": 1}'),
    ({dt.date(2020, 1, 1): 1}, '{"2020-01-01": 1}'),
    ({dt.timedelta(1): 1}, '{"P1D": 1}'),
    ({Shown(): 1}, '{"Shown!": 1}'),
    ({int: 1}, "{\"<class 'int'>\": 1}"),
    ({1j: 1}, '{"1j": 1}'),
    ({2**100: 1}, '{"1267650600228229401496703205376": 1}'),
]

# What pydantic refuses: its part is our repr().
OURS = [
    (b"\xff", "\"b'\\\\xff'\""),
    ("a\ud800b", '"a\\\\ud800b"'),
    ({frozenset([1]): 1}, '{"frozenset({1})": 1}'),
]


def squeeze(text):
    return re.sub(r",?\n *", lambda found: found[0][: found[0].index("\n")], text)


def fallback(value):
    kind = type(value)
    if kind.__module__ == "numpy":
        return value.tolist() if kind.__name__ in ("ndarray", "matrix") else value.item()
    return repr(value)


class Table(unittest.TestCase):
    def test_texts(self):
        for value, expected in TABLE + OURS:
            with self.subTest(value=value):
                text = to_json(value)
                self.assertEqual(squeeze(text), expected)
                json.loads(text)

    @unittest.skipIf(pydantic_core is None, "pydantic_core is not installed")
    def test_same_as_pydantic(self):
        for value, _ in TABLE:
            with self.subTest(value=value):
                real = pydantic_core.to_json(value, indent=2, fallback=fallback).decode()
                self.assertEqual(to_json(value), real)

    @unittest.skipIf(pydantic_core is None, "pydantic_core is not installed")
    def test_pydantic_objects(self):
        class Model(pydantic.BaseModel):
            number: int = 1
            when: dt.datetime = dt.datetime(2020, 1, 1)
            some: set = {1}
            keys: dict = {1: 2}
            secret: pydantic.SecretStr = pydantic.SecretStr("a")
            nothing: float = float("nan")

        class Root(pydantic.RootModel[list[int]]):
            pass

        @pydantic.dataclasses.dataclass
        class Data:
            x: int

        for value in (Model(), Root([1]), Data(1), [Model()], {"a": Data(2)}, pydantic.AnyUrl("http://a.b/c"), Model):
            with self.subTest(value=value):
                real = pydantic_core.to_json(value, indent=2, fallback=fallback).decode()
                self.assertEqual(to_json(value), real)

    @unittest.skipIf(pydantic_core is None, "pydantic_core is not installed")
    def test_floats_like_pydantic(self):
        import random
        import struct

        source = random.Random(7)
        for _ in range(20_000):
            (value,) = struct.unpack("d", source.randbytes(8))
            if source.random() < 0.5:
                value = source.uniform(-10, 10) * 10.0 ** source.randint(-9, 20)
            real = pydantic_core.to_json(value).decode()
            self.assertEqual(scalars.floating(value), real)

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
            (np.array([Shown()], dtype=object), '["Shown!"]'),
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
        self.assertEqual(squeeze(to_json(i for i in range(3))), "[0,1,2]")
        self.assertEqual(squeeze(to_json(map(str, [1]))), '["1"]')
        self.assertEqual(squeeze(to_json(iter([1]))), "[1]")

    def test_endless(self):
        self.assertIn("count too large to return", to_json(itertools.count()))

    def test_file_keeps_its_repr(self):
        with open(__file__, encoding="utf-8") as file:
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
