"""Code that wants all the memory there is."""

import sys


def at_once():
    bytearray(2 << 30)


def pieces():
    kept = []
    while True:
        kept.append(bytes(8 << 20))


def small_objects():
    kept = []
    while True:
        kept.append([object() for _ in range(1000)])


def text():
    piece = "x"
    while True:
        piece += piece


def wide_text():
    "\U0001f40d" * (1 << 29)


def integer():
    1 << (1 << 33)


def dictionary():
    kept = {}
    number = 0
    while True:
        kept[number] = str(number) * 10
        number += 1


def nested():
    value = ()
    while True:
        value = (value, bytes(1 << 20))


def numpy_zeros():
    import numpy

    numpy.zeros(10**9)


def numpy_pieces():
    import numpy

    kept = []
    while True:
        kept.append(numpy.ones(1 << 20))


def memory_map():
    import mmap

    kept = []
    while True:
        kept.append(mmap.mmap(-1, 16 << 20))


def malloc():
    # C code is told that there is no more, as Python is.
    import ctypes

    allocate = ctypes.CDLL(None).malloc
    allocate.restype = ctypes.c_void_p
    while allocate(4 << 20):
        pass
    raise MemoryError


def sbrk():
    import ctypes

    grow = ctypes.CDLL(None).sbrk
    grow.restype = ctypes.c_ssize_t
    while grow(16 << 20) != -1:
        pass
    raise MemoryError


def expansion():
    import zlib

    bomb = zlib.compressobj(9)
    data = b"".join(bomb.compress(bytes(1 << 20)) for _ in range(2000)) + bomb.flush()
    zlib.decompress(data)


def compiled():
    compile("(" + "1," * 100_000_000 + ")", "bomb", "eval")


globals()[sys.argv[1]]()
