"""Python code that never ends by itself and does nothing against being stopped."""

import sys


def loop():
    while True:
        pass


def comprehension():
    sum(1 for _ in iter(int, 1))


def calls():
    def again():
        return None

    while True:
        again()


def exceptions():
    while True:
        try:
            raise ValueError
        except ValueError:
            pass


def generator():
    def numbers():
        while True:
            yield 1

    for _ in numbers():
        pass


def sleep():
    import time

    time.sleep(10**8)


def select():
    import select

    select.select([], [], [])


def event():
    import threading

    threading.Event().wait(10**6)


def coroutine():
    import asyncio

    async def spin():
        while True:
            await asyncio.sleep(0)

    asyncio.run(spin())


def future():
    import asyncio

    async def wait():
        await asyncio.get_running_loop().create_future()

    asyncio.run(wait())


def imports():
    # The body of a module is as interruptible as any other code.
    import pathlib

    pathlib.Path("spinning.py").write_text("while True: pass\n")
    import spinning  # noqa: F401


def finalizer():
    # An exception that leaves `__del__` is printed and dropped: the next interrupt has to stop what follows.
    class Sticky:
        def __del__(self):
            while True:
                pass

    while True:
        Sticky()


globals()[sys.argv[1]]()
