"""Slots of CPython's types that hold a function of another type than the interpreter calls them with.

Machine code does not notice a result that nobody reads. WebAssembly checks the type at each indirect call, and a wrong
one ends the interpreter.
"""

from .pristine import __builtins__

import operator
import sys

# Where fields of `PyTypeObject` are, in bytes, when pointers have four of them.
_BASICSIZE, _FLAGS, _TRAVERSE, _CLEAR = 16, 84, 92, 96


def patch():
    """Empties `tp_clear` of `operator.methodcaller`, which CPython declares with no result; the collector wants an int.

    `tp_traverse` stays, so cycles through a methodcaller are found. They are broken elsewhere: what it holds never
    changes, so that no cycle has only methodcallers, tuples and strings in it.
    """
    if sys.platform != "emscripten" or sys.maxsize != 2**31 - 1:
        return
    try:
        import _ctypes
    except ImportError:
        return

    class Word(_ctypes._SimpleCData):
        _type_ = "I"

    def word(type_, offset):
        return Word.from_address(id(type_) + offset)

    if _is_layout(lambda type_, offset: word(type_, offset).value):
        word(operator.methodcaller, _CLEAR).value = 0


def _is_layout(read):
    """Whether the fields are where this module thinks, as far as types whose slots are known can tell."""
    one, other = type("one", (), {}), type("other", (), {})
    known = (operator.methodcaller, operator.itemgetter, list, tuple, int, one)
    return (
        all(read(type_, _BASICSIZE) == type_.__basicsize__ for type_ in known)
        and all(read(type_, _FLAGS) == type_.__flags__ for type_ in known)
        # Classes of Python share their functions; a tuple has nothing to clear, and a number nothing to visit either.
        and read(one, _TRAVERSE) == read(other, _TRAVERSE) != read(one, _CLEAR) == read(other, _CLEAR) != 0
        and read(tuple, _TRAVERSE) != 0 == read(tuple, _CLEAR) == read(int, _TRAVERSE) == read(int, _CLEAR)
        and all(read(type_, _TRAVERSE) and read(type_, _CLEAR) for type_ in (list, operator.itemgetter))
        and read(operator.methodcaller, _TRAVERSE) != 0
    )
