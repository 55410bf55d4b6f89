import copy
import json
import typing
from dataclasses import KW_ONLY, FrozenInstanceError, InitVar, dataclass, field, fields, replace
from enum import Enum, Flag, IntEnum, StrEnum, auto, unique
from typing import (
    Annotated,
    Generic,
    Literal,
    NamedTuple,
    Protocol,
    Self,
    TypedDict,
    TypeVar,
    get_args,
    get_type_hints,
    runtime_checkable,
)


class Priority(IntEnum):
    LOW = auto()
    HIGH = auto()


class State(StrEnum):
    OPEN = auto()
    DONE = 'finished'


class Access(Flag):
    READ = auto()
    WRITE = auto()
    ALL = READ | WRITE


@dataclass(frozen=True, slots=True)
class Task:
    title: str
    priority: Priority = Priority.LOW
    _: KW_ONLY
    tags: tuple[str, ...] = ()
    raw: InitVar[str | None] = None
    length: int = field(init=False, repr=False, default=0)

    def __post_init__(self, raw):
        object.__setattr__(self, 'length', len(raw or self.title))


@runtime_checkable
class Closable(Protocol):
    def close(self) -> None: ...


T = TypeVar('T')
task = Task('Write', Priority.HIGH, tags=('a',), raw='xyz')
print(task, task.length, hash(task) == hash(copy.copy(task)), replace(task, title='Read', raw=None))
print([f.name for f in fields(Task)], get_type_hints(Task)['tags'], Task.__slots__)
print(repr(State.DONE), str(State.OPEN), list(Access.ALL), Access.READ | Access.WRITE, ~Access.READ, repr(Access(0)))
print(json.dumps({'state': State.DONE, 'priority': Priority.HIGH}), Priority['LOW'] < 2, f'{Priority.HIGH:03d}')
print(
    isinstance(open(__file__), Closable),
    get_args(Literal['a', 2]),
    Annotated[int, 'meta'].__metadata__,
    typing.Union[int, None],
)
for action in (
    lambda: setattr(task, 'title', 'x'),
    lambda: State('nope'),
    lambda: Task(),
    lambda: Priority['MID'],
    lambda: task.missing,
):
    try:
        action()
    except (FrozenInstanceError, ValueError, TypeError, KeyError, AttributeError) as e:
        print(f'{type(e).__name__}: {e}')


@dataclass
class Broken:
    items: list = []
