"""Where code comes from, looked up once for all frames of a traceback."""

from ..pristine import __builtins__

import contextlib
import inspect


@contextlib.contextmanager
def looked_up_once():
    """Inside, `inspect` answers for further frames of the same code what it found for the first.

    IPython asks for every frame, and each question goes through all modules: seconds for a recursion without end.
    """
    functions = {name: getattr(inspect, name) for name in ("getmodule", "getsourcelines")}
    for name, function in functions.items():
        setattr(inspect, name, _once(function))
    try:
        yield
    finally:
        for name, function in functions.items():
            setattr(inspect, name, function)


def _once(function):
    # Codes are equal in spite of different files, so they are told apart by what they are; each is kept alive.
    found = {}

    def look_up(thing, *arguments):
        if not inspect.isframe(thing):
            return function(thing, *arguments)
        code = thing.f_code
        key = (id(code), *arguments)
        if key not in found:
            found[key] = (function(thing, *arguments), code)
        return found[key][0]

    return look_up
