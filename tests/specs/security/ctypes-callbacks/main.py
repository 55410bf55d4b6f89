"""Python functions called from C: freed, failing, endless, and too many."""

import ctypes
import gc
import sys

library = ctypes.CDLL(None)
Compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


def numbers():
    return (ctypes.c_int * 1000)(*range(1000, 0, -1))


def freed():
    # The address outlives the callback.
    address = ctypes.cast(Compare(lambda a, b: 0), ctypes.c_void_p).value
    gc.collect()
    for _ in range(100):
        Compare(lambda a, b: 1)
    library.qsort(numbers(), 1000, 4, ctypes.c_void_p(address))


def freed_while_called():
    holder = []

    def compare(a, b):
        holder.clear()
        gc.collect()
        return 0

    holder.append(Compare(compare))
    library.qsort(numbers(), 1000, 4, holder[0])


def raising():
    library.qsort(numbers(), 20, 4, Compare(lambda a, b: 1 // 0))
    print("ok")


def exiting():
    import os

    library.qsort(numbers(), 1000, 4, Compare(lambda a, b: os._exit(17)))


def unordered():
    import random

    library.qsort(numbers(), 1000, 4, Compare(lambda a, b: random.choice([-1, 0, 1])))
    print("ok")


def wrong_signature():
    # Called with two pointers, made for other arguments.
    other = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: x)
    library.qsort(numbers(), 1000, 4, other)


def wrong_result():
    library.qsort(numbers(), 100, 4, Compare(lambda a, b: "text"))
    print("ok")


def flood():
    # Slots of the function table are bounded; at the bound there is an error.
    kept = []
    try:
        while True:
            kept.append(Compare(lambda a, b: 0))
    except (MemoryError, OSError):
        kept.clear()
        print("ok")


def flood_and_forget():
    # Freed slots are used again.
    for _ in range(300_000):
        Compare(lambda a, b: 0)
    print("ok")


def many_signatures():
    kinds = [ctypes.c_int, ctypes.c_double, ctypes.c_longlong, ctypes.c_float, ctypes.c_void_p]
    import itertools

    for arguments in itertools.islice(itertools.product(kinds, repeat=7), 0, None, 40):
        ctypes.CFUNCTYPE(ctypes.c_int, *arguments)(lambda *values: 0)(*[0] * 7)
    print("ok")


def long_signature():
    kind = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_longlong] * 900)
    assert kind(lambda *values: len(values))(*range(900)) == 900
    print("ok")


def endless():
    library.qsort(numbers(), 1000, 4, Compare(lambda a, b: endless()))


def structures():
    class Pair(ctypes.Structure):
        _fields_ = [("a", ctypes.c_longlong), ("b", ctypes.c_double), ("c", ctypes.c_char * 100)]

    kind = ctypes.CFUNCTYPE(ctypes.c_int, Pair, Pair)
    assert kind(lambda a, b: a.a + b.a)(Pair(1), Pair(2)) == 3
    print("ok")


def finalizer():
    # A callback that runs while its machine ends.
    import atexit

    callback = Compare(lambda a, b: 0)
    atexit.register(lambda: library.qsort(numbers(), 10, 4, callback))
    library.atexit(ctypes.CFUNCTYPE(None)(lambda: None))
    print("ok")


globals()[sys.argv[1]]()
