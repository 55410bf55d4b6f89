"""Classes whose values `test_values.py` writes: derived from the builtin types, or with what the writer looks at."""

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import functools
import pathlib
import re
import typing
import uuid


class Color(enum.Enum):
    RED = 1
    NAME = "x"
    PAIR = (1, 2)


class Nested(enum.Enum):
    LIST = [1, 2]
    DICT = {"a": 1}
    NONE = None
    MEMBER = Color.RED


class Level(enum.IntEnum):
    LOW = 1


class Tag(enum.StrEnum):
    A = "sa"


class Number(int, enum.Enum):
    ONE = 1


class Share(float, enum.Enum):
    HALF = 0.5


class Day(dt.date, enum.Enum):
    NEW_YEAR = (2020, 1, 1)


class Word(enum.StrEnum):
    X = "x"

    def __str__(self):
        return "no"


class Right(enum.Flag):
    READ = 1
    WRITE = 2


class Bit(enum.IntFlag):
    LOW = 1
    HIGH = 2


@dataclasses.dataclass
class Point:
    x: int
    _y: int = 2
    next: object = None
    shared: typing.ClassVar[int] = 3
    given: dataclasses.InitVar[int] = 3


@dataclasses.dataclass
class Child(Point):
    more: int = 9


@dataclasses.dataclass(slots=True)
class Slotted:
    a: int
    b: list


@dataclasses.dataclass(slots=True)
class SlottedChild(Slotted):
    c: int = 2


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: int = 1

    def __repr__(self):
        return "repr"

    def __str__(self):
        return "str"


@dataclasses.dataclass(order=True, slots=True, frozen=True)
class Ordered:
    a: int = 1
    b: float = float("inf")


@dataclasses.dataclass
class Hidden:
    a: int
    b: str = dataclasses.field(default="x", repr=False)
    c: list = dataclasses.field(default_factory=list, compare=False)
    d: int = dataclasses.field(default=5, init=False)


@dataclasses.dataclass(kw_only=True)
class Named:
    a: int
    b: Frozen = dataclasses.field(default_factory=Frozen)


@dataclasses.dataclass
class Fieldless:
    pass


@dataclasses.dataclass
class Cached:
    a: int = 1

    @functools.cached_property
    def later(self):
        return 4


def cached():
    """An object whose `__dict__` has more than its fields."""
    value = Cached()
    assert value.later == 4
    value.extra = 5
    return value


class Shown:
    def __repr__(self):
        return "Shown!"

    def __str__(self):
        return "no"


class Slots:
    __slots__ = ("a",)

    def __repr__(self):
        return "Slots!"


class Convertible:
    def __json__(self):
        return 1

    def __index__(self):
        return 3

    def to_dict(self):
        return {}

    def __repr__(self):
        return "Convertible!"


class Meta(type):
    def __repr__(cls):
        return "Meta!"


class OfMeta(metaclass=Meta):
    pass


class Iterable:
    def __iter__(self):
        return iter([1])

    def __repr__(self):
        return "Iterable!"


class Iterator:
    def __init__(self):
        self.left = 2

    def __iter__(self):
        return self

    def __next__(self):
        if not self.left:
            raise StopIteration
        self.left -= 1
        return self.left


class Mapping(collections.abc.Mapping):
    def __getitem__(self, key):
        return 1

    def __iter__(self):
        return iter(["a"])

    def __len__(self):
        return 1

    def __repr__(self):
        return "Mapping!"


class MyInt(int):
    def __repr__(self):
        return "no"


class MyFloat(float):
    def __repr__(self):
        return "no"


class MyStr(str):
    __slots__ = ()

    def __str__(self):
        return "no"


class MyComplex(complex):
    def __repr__(self):
        return "no"


class MyBytes(bytes):
    def decode(self, *_):
        return "no"


class MyArray(bytearray):
    pass


class MyList(list):
    def __iter__(self):
        return iter(["no"])


class MyTuple(tuple):
    __slots__ = ()

    def __iter__(self):
        return iter(["no"])


class MySet(set):
    def __iter__(self):
        return iter([9])


class MyDeque(collections.deque):
    def __iter__(self):
        return iter([9])


class MyDict(dict):
    def items(self):
        return [("no", 1)]


class MyDecimal(decimal.Decimal):
    def __str__(self):
        return "as said"


class MyFraction(fractions.Fraction):
    def __str__(self):
        return "as said"


class MyPath(type(pathlib.Path())):
    def __str__(self):
        return "as said"


class MyUUID(uuid.UUID):
    def __str__(self):
        return "no"


class MyDate(dt.date):
    def isoformat(self):
        return "no"


class MyDateTime(dt.datetime):
    def isoformat(self, *_):
        return "no"


class MyTime(dt.time):
    def isoformat(self, *_):
        return "no"


class MyDelta(dt.timedelta):
    def total_seconds(self):
        return 5.0000005


class Zone(dt.tzinfo):
    """A zone with an offset in hours, or none."""

    def __init__(self, hours):
        self.hours = hours

    def utcoffset(self, _):
        return None if self.hours is None else dt.timedelta(hours=self.hours)


class Record(typing.NamedTuple):
    x: int
    y: str = "d"


class Options(typing.TypedDict):
    a: int


class Failure(Exception):
    pass


Pair = collections.namedtuple("Pair", "a b")


def squeeze(text):
    """JSON text without the line breaks and indents of its layout."""
    return re.sub(r",?\n *", lambda found: found[0][: found[0].index("\n")], text)
