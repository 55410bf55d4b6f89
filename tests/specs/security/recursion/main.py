"""Code that calls itself, in Python and through C.

What CPython bounds ends as RecursionError; what it does not bound may end the machine.
"""

import sys


def function():
    def again():
        return again()

    again()


def no_limit():
    sys.setrecursionlimit(2**31 - 1)
    function()


def methods():
    class Endless:
        def __getattr__(self, name):
            return getattr(self, name + "x")

        def __eq__(self, other):
            return other == self

        __hash__ = None

    assert Endless() == Endless()


def attribute():
    class Endless:
        def __getattr__(self, name):
            return getattr(self, name)

    Endless().x


def call():
    # `__call__` that is an instance, whose `__call__` is …
    class Endless:
        pass

    Endless.__call__ = Endless()
    Endless()()


def special():
    # Slot functions: C code that calls Python code that calls C code.
    class Number(int):
        def __index__(self):
            return range(self)[0]

        def __repr__(self):
            return str([self])

    sys.setrecursionlimit(10**9)
    repr(Number())


def sorting():
    class Item:
        def __lt__(self, other):
            return sorted([self, other]) and True

    sorted([Item(), Item()])


def mapping():
    sys.setrecursionlimit(10**9)

    def again(_):
        return list(map(again, [1]))

    again(1)


def reduction():
    import functools

    sys.setrecursionlimit(10**9)

    def again(a, b):
        return functools.reduce(again, [1, 2])

    again(1, 2)


def substitution():
    import re

    sys.setrecursionlimit(10**9)

    def again(match):
        return re.sub("a", again, "a")

    again(None)


def coroutines():
    import asyncio

    async def again():
        await again()

    asyncio.run(again())


def finalizers():
    # Each object makes the next one when it dies.
    class Phoenix:
        left = 100_000

        def __del__(self):
            Phoenix.left -= 1
            if Phoenix.left:
                Phoenix()

    Phoenix()
    print("ok")


def class_cycle():
    isinstance(
        1, type("Meta", (type,), {"__instancecheck__": lambda self, other: isinstance(other, self)})("C", (), {})
    )


def modules():
    import pathlib

    for number in range(2000):
        pathlib.Path(f"chain{number}.py").write_text(f"import chain{number + 1}\n")
    import chain0  # noqa: F401


def tracing():
    def tracer(frame, event, argument):
        sys.settrace(tracer)
        return again(frame)

    def again(frame):
        return again(frame)

    sys.settrace(tracer)
    function()


def callbacks():
    import ctypes

    sys.setrecursionlimit(10**9)
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)

    def again(number):
        return callback(number + 1)

    callback = kind(again)
    callback(0)
    print("ok")


globals()[sys.argv[1]]()
