"""A private copy of the builtins, so that guest code which patches them cannot break the driver.

A function looks its builtins up in the mapping that its globals named `__builtins__` when it was defined. Every module
of this package therefore starts with `from .pristine import __builtins__`: its functions keep working after
`builtins.len = None`. Standard library code that the driver calls (traceback, asyncio, ...) still sees the live
builtins; [`repaired`] puts the originals back for that time.
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
