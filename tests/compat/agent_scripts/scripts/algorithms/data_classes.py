"""Dataclasses, protocols, generics and pattern matching in a small shop."""

from __future__ import annotations

import dataclasses
import enum
import functools
import operator
from collections import ChainMap, OrderedDict, UserDict, namedtuple
from typing import Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

T = TypeVar('T')


class Size(enum.IntFlag):
    SMALL = enum.auto()
    LARGE = enum.auto()


@dataclasses.dataclass(order=True, slots=True, frozen=True)
class Item:
    price: float
    name: str = dataclasses.field(compare=False)
    size: Size = Size.SMALL
    tags: tuple[str, ...] = ()


class Stack(Generic[T]):
    def __init__(self, *values: T) -> None:
        self.values = list(values)

    def __repr__(self) -> str:
        return f'Stack{self.values}'

    def __matmul__(self, other):
        return Stack(*self.values, *other.values)

    def __len__(self):
        return len(self.values)


@runtime_checkable
class Sized2(Protocol):
    def __len__(self) -> int: ...


class Point(NamedTuple):
    x: int
    y: int = 0


def describe(value):
    match value:
        case Item(name=name, size=Size.LARGE):
            return f'large {name}'
        case Item(price, name) if price > 10:
            return f'dear {name}'
        case {'kind': 'x', **rest}:
            return f'x and {rest}'
        case [first, *_, last]:
            return f'{first}..{last}'
        case Point(x=0) | (0, _):
            return 'on axis'
        case str() | bytes() as text:
            return f'text {text!r}'
        case None:
            return 'nothing'
        case _:
            return 'other'


items = [Item(2.5, 'tea'), Item(14, 'cake', Size.LARGE), Item(20, 'pie', tags=('hot',)), Item(2.5, 'milk')]
print(
    sorted(items),
    max(items).name,
    items[0] == items[3],
    hash(items[0]) == hash(items[3]),
    dataclasses.replace(items[0], price=3),
)
print([describe(v) for v in (*items, {'kind': 'x', 'y': 1}, [1, 2, 3], Point(0, 5), 'a', None, 1.5)])
print(
    dataclasses.asdict(items[2]),
    Size(3),
    Size.SMALL | Size.LARGE,
    Size.LARGE in Size(3),
    repr(Size(0)),
    [f.name for f in dataclasses.fields(Item)],
)
print(
    Stack(1) @ Stack(2, 3),
    isinstance(Stack(), Sized2),
    len(Stack(1)),
    Stack[int].__args__,
    functools.reduce(operator.mul, range(1, 6)),
)
print(
    ChainMap({'a': 1}, {'a': 2, 'b': 3})['b'],
    OrderedDict(a=1, b=2).popitem(last=False),
    namedtuple('P', 'x y', defaults=[0])(1),
    Point(1)._asdict(),
)
for bad in (
    lambda: setattr(items[0], 'price', 1),
    lambda: Item(),
    lambda: Size['HUGE'],
    lambda: Point(),
    lambda: items[0].nothing,
    lambda: Item(1, 'a') < 3,
):
    try:
        bad()
    except Exception as error:
        print(type(error).__name__, error)
