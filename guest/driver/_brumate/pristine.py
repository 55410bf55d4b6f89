"""A private copy of the builtins, so that guest code which patches them cannot break the driver.

A function looks its builtins up in the mapping that its globals named `__builtins__` when it was defined. Every module
of the driver therefore starts with `from .pristine import __builtins__`: its functions keep working after
`builtins.len = None`. The shell, the plotting library and the standard library see the live builtins: [`Repaired`] puts
the originals back for the time of a call.
"""

import builtins
from operator import is_ as _is

__builtins__ = ORIGINALS = dict(vars(builtins))

_LIVE = vars(builtins)
_ITEMS = tuple(item for item in ORIGINALS.items() if item[0] not in ("_", "__doc__"))
_NAMES = tuple(name for name, _ in _ITEMS)
_VALUES = tuple(value for _, value in _ITEMS)
_MISSING = object()


def repair():
    """Restores every builtin that was replaced or deleted; returns the replaced ones for [`restore`]."""
    live = _LIVE
    get = live.get
    # The usual case, without a line of Python for each of them.
    if all(map(_is, map(get, _NAMES), _VALUES)):
        return None
    changed = None
    for name, original in _ITEMS:
        if get(name) is not original:
            if changed is None:
                changed = {}
            changed[name] = get(name, _MISSING)
            live[name] = original
    return changed


def restore(changed):
    """Puts the guest's own replacements back (a session's patches outlive one cell)."""
    for name, value in changed.items():
        if value is _MISSING:
            _LIVE.pop(name, None)
        else:
            _LIVE[name] = value


class _Doors:
    # The innermost [`Repaired`] that is open, unless guest code runs inside of it.
    innermost = None


def close_doors():
    """Forgets doors that an interrupt has left open. Called when a run starts."""
    _Doors.innermost = None


class Repaired:
    """A door to code that uses the live builtins: inside they are the original ones, and the guest's own afterwards.

    Opening it needs no builtin: a function of a module with live builtins may begin with it.
    """

    __slots__ = ("changed", "outer")

    def __enter__(self):
        self.changed = repair()
        self.outer, _Doors.innermost = _Doors.innermost, self

    def __exit__(self, *_error):
        _Doors.innermost = self.outer
        if self.changed:
            restore(self.changed)


class GivenBack:
    """Guest code that runs behind a [`Repaired`] has the guest's builtins inside of this."""

    __slots__ = ("door",)

    def __enter__(self):
        self.door, _Doors.innermost = _Doors.innermost, None
        if self.door is not None and self.door.changed:
            restore(self.door.changed)

    def __exit__(self, *_error):
        if self.door is not None:
            self.door.changed = repair()
        _Doors.innermost = self.door
