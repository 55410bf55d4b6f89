"""Returned values beside the real function: `pydantic_core.to_json(value, indent=2, fallback=...)`."""

import collections
import dataclasses
import datetime as dt
import decimal
import fractions
import ipaddress
import itertools
import pathlib
import random
import re
import struct
import typing
import unittest
import uuid
import zoneinfo

import support  # noqa: F401  (puts the package on the path)
from _brumate import scalars
from _brumate.values import to_json
from value_classes import Color, Frozen, MyFloat, MyInt, MyList, Pair, Point, Shown, Slotted
from value_table import ITERATORS, REFUSED, TABLE

try:
    import pydantic
    import pydantic_core
except ImportError:
    raise unittest.SkipTest("pydantic is not installed")
try:
    import numpy
except ImportError:
    numpy = None
try:
    import pandas
except ImportError:
    pandas = None


class Model(pydantic.BaseModel):
    number: int = 1
    when: dt.datetime = dt.datetime(2020, 1, 1)
    some: set = {1}
    keys: dict = {1: 2}
    secret: pydantic.SecretStr = pydantic.SecretStr("a")
    nothing: float = float("nan")


class Any(pydantic.BaseModel):
    a: typing.Any


class Constants(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(
        extra="allow", ser_json_inf_nan="constants", ser_json_bytes="base64", ser_json_timedelta="float"
    )
    b: bytes = b"\xff"
    t: dt.timedelta = dt.timedelta(1.5)
    f: float = float("nan")


class Aliased(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(serialize_by_alias=True)
    a: int = pydantic.Field(1, alias="b", serialization_alias="sb")
    left_out: int = pydantic.Field(2, exclude=True)

    @pydantic.computed_field
    @property
    def computed(self) -> int:
        return 7

    @pydantic.field_serializer("a")
    def written(self, value):
        return f"<{value}>"


class Custom(pydantic.BaseModel):
    @pydantic.model_serializer
    def written(self):
        return {"custom": 1}


class Typed(pydantic.BaseModel):
    _private: int = 1
    d: decimal.Decimal = decimal.Decimal("1.50")
    u: uuid.UUID = uuid.UUID(int=1)
    p: pathlib.Path = pathlib.Path("/x")
    e: Color = Color.RED
    b: bytes = b"x"
    t: dt.time = dt.time(1)
    td: dt.timedelta = dt.timedelta(1)


class Hashable(pydantic.BaseModel, frozen=True):
    a: int = 1


class Root(pydantic.RootModel[list[int]]):
    pass


@pydantic.dataclasses.dataclass
class Data:
    x: int = 1
    when: dt.date = dt.date(2020, 1, 1)
    nothing: float = float("nan")


# What a field of any type may hold.
FIELDS = [
    1e16, 1e-7, float("inf"), [float("nan"), {"x": float("inf")}], 2**70, "x\ny", b"x", None, {1.5: 1, Color.RED: 2},
    {float("nan"): 1}, {1e-7: 1}, {1: 2, None: 3, (1, 2): 4}, {1}, collections.deque([1]), MyList([1]), MyInt(3),
    MyFloat(1.5), 1 + 2j, complex(1e16, 1), fractions.Fraction(1, 2), decimal.Decimal("nan"), dt.timedelta(1, 1),
    dt.datetime(2020, 1, 1, tzinfo=dt.UTC), collections.OrderedDict(b=1), range(2), re.compile("a"), Color.RED,
    ipaddress.ip_address("::1"), pydantic.SecretStr("x"), Frozen(), Point(1), Slotted(1, [2]), Pair(1, 2),
    ValueError("x"), int, ..., Shown(), [Shown(), {"x": Shown()}], Model(), [Data()], Any(a=Shown()), Any,
]  # fmt: skip

OBJECTS = [
    Model(), [Model()], Model, Constants(), Constants(z=5), Aliased(b=3), Custom(), Typed(), Root([1]), Data(),
    {"a": Data(2)}, {Hashable(): 1}, [Data(), Model()], pydantic.AnyUrl("http://a.b/c?d=e"),
    {pydantic.AnyUrl("http://a.b/"): 1}, {pydantic.SecretStr("a"): 1}, pydantic.SecretBytes(b"a"), pydantic.ByteSize(5),
    pydantic_core.Url("http://a/b"), {pydantic_core.Url("http://a/b"): 1}, pydantic_core.MultiHostUrl("http://a,b/c"),
    pydantic_core.PydanticUndefined, Model.model_json_schema(), Model.model_fields["number"],
]  # fmt: skip


def fallback(value):
    kind = type(value)
    if kind.__module__ == "numpy":
        return value.tolist() if kind.__name__ in ("ndarray", "matrix") else value.item()
    return repr(value)


def real(value):
    return pydantic_core.to_json(value, indent=2, fallback=fallback).decode()


class Beside(unittest.TestCase):
    def same(self, values):
        for value in values:
            with self.subTest(value=value):
                self.assertEqual(to_json(value), real(value))

    def test_the_table(self):
        values = [value for value, _ in TABLE]
        self.assertGreater(len(values), 200)
        self.same(values)
        for make, _ in ITERATORS:
            self.assertEqual(to_json(make()), real(make()))

    def test_what_is_refused(self):
        for value, _ in REFUSED:
            with self.subTest(value=value), self.assertRaises(pydantic_core.PydanticSerializationError):
                real(value)

    def test_pydantic_objects(self):
        self.same(OBJECTS)
        self.same(Any(a=value) for value in FIELDS)

    def test_zones_by_name(self):
        try:
            zones = [zoneinfo.ZoneInfo(name) for name in ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu")]
        except zoneinfo.ZoneInfoNotFoundError:
            self.skipTest("no time zones here")
        days = [(1890, 1, 1), (2020, 1, 1, 12), (2020, 7, 1, 12, 30), (2020, 10, 25, 2, 30)]
        self.same(
            dt.datetime(*day, fold=fold, tzinfo=zone) for day, fold, zone in itertools.product(days, (0, 1), zones)
        )
        self.same([dt.time(12, tzinfo=zones[1]), zones[1]])

    def test_random_numbers(self):
        source = random.Random(7)

        def one():
            if source.random() < 0.5:
                return source.uniform(-10, 10) * 10.0 ** source.randint(-9, 20)
            return struct.unpack("d", source.randbytes(8))[0]

        for _ in range(20_000):
            value = one()
            self.assertEqual(scalars.floating(value), pydantic_core.to_json(value).decode())
        for _ in range(3_000):
            self.same([complex(one(), one())])

    def test_random_durations_and_offsets(self):
        class Delta(dt.timedelta):
            pass

        source = random.Random(8)
        for _ in range(3_000):
            days = source.choice([1, 10, 1000, 10**6])
            parts = (
                source.randint(-days, days),
                source.randint(0, 86399),
                source.choice([0, 1, source.randrange(10**6)]),
            )
            self.same([dt.timedelta(*parts), Delta(*parts)])
            fraction = source.choice([0, 0, 1, -1, 499999, 500000, 500001])
            offset = dt.timedelta(seconds=source.randint(-86000, 86000), microseconds=fraction)
            self.same([dt.datetime(2020, 1, 1, tzinfo=dt.timezone(offset)), dt.time(1, tzinfo=dt.timezone(offset))])

    @unittest.skipIf(numpy is None, "numpy is not installed")
    def test_numpy(self):
        np = numpy
        arrays = [
            np.arange(3), np.zeros((2, 0)), np.eye(2), np.array([True]), np.array([1 + 2j]), np.array([1, 2], dtype="f4"),
            np.array(["2020-01-01"], dtype="M8[D]"), np.array([1], dtype="m8[s]"), np.array([b"a"]), np.array(5),
            np.array([None, 1], dtype=object), np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]), np.array(["é"]),
            np.array([[pathlib.Path("/a"), decimal.Decimal(1)]], dtype=object), np.matrix([[1, 2]]), np.array([np.nan]),
        ]  # fmt: skip
        scalars_of_numpy = [
            np.int8(-3), np.uint64(2**64 - 1), np.float16(0.1), np.float32(1e-5), np.float64("nan"), np.bool_(False),
            np.complex64(1 + 2j), np.str_("é"), np.bytes_(b"x"), np.datetime64("2020-01-01T01:02:03.5"), np.void(b"ab"),
            np.datetime64("NaT"), np.datetime64("2020-01-01T00:00:00.123456789"), np.timedelta64(1, "D"), np.nan,
            np.timedelta64("NaT"), np.timedelta64(5), np.dtype("f8"), np.ndarray, np.random.default_rng,
        ]  # fmt: skip
        self.same(arrays + scalars_of_numpy)
        self.same([{"a": arrays}, Any(a=arrays), [Any(a=value) for value in scalars_of_numpy]])
        keys = [
            np.str_("a"),
            np.float64(1e-5),
            np.float32(0.1),
            np.bool_(True),
            np.int8(1),
            np.datetime64("2020-01-01"),
        ]
        self.same({key: 1} for key in keys)

    @unittest.skipIf(pandas is None, "pandas is not installed")
    def test_pandas(self):
        pd = pandas
        frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
        times = [
            pd.Timestamp("2020-01-01 01:02:03.123456789"), pd.Timestamp("2020-01-01", tz="UTC"), pd.Timedelta(1, "D"),
            pd.Timestamp("2020-01-01", tz="Europe/Berlin"), pd.Timedelta(500, "ns"), -pd.Timedelta(1500, "ns"),
        ]  # fmt: skip
        self.same(times + [{time: 1} for time in times])
        self.same(
            [
                frame, pd.DataFrame(), frame.a, pd.Series([1.5, None]), frame.index, pd.MultiIndex.from_tuples([(1, 2)]),
                pd.DatetimeIndex(["2020-01-01"]), pd.Categorical(["a"]), pd.array([1, None], dtype="Int64"), pd.NA,
                pd.Period("2020-01"), pd.Interval(1, 2), frame.to_dict(), frame.to_dict("records"), frame.a.dtype,
                frame.a.sum(), frame.describe().loc["mean"].to_dict(), {pd.NA: 1}, {pd.Period("2020"): 1}, frame.values,
            ]
        )  # fmt: skip
        self.same([list(frame.itertuples()), frame.groupby("a").size().to_dict(), frame.a.value_counts().to_dict()])
        # Refused: a time that is none.
        self.assertEqual([to_json(pd.NaT), to_json({pd.NaT: 1})], ['"NaT"', '{\n  "NaT": 1\n}'])


class Dataclasses(unittest.TestCase):
    def test_fields_that_are_gone(self):
        @dataclasses.dataclass
        class Partial:
            a: int = 1
            b: int = 2

        value = Partial()
        del value.__dict__["b"]
        self.assertEqual(to_json(value), real(value))


if __name__ == "__main__":
    unittest.main()
