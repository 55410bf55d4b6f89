"""Code that wants all the memory there is."""

import sys


def at_once():
    bytearray(1 << 30)


def pieces():
    kept = []
    while True:
        kept.append(bytes(8 << 20))


def text():
    pieces = ["x"]
    while True:
        pieces.append(pieces[-1] + pieces[-1])


def wide_text():
    "\U0001f40d" * (1 << 29)


def appended():
    # CPython 3.14's in-place concatenation goes on with an invalid object when it fails. That harms nobody else.
    piece = "x"
    while True:
        piece = piece + piece


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

    numpy.zeros(10**8)


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
    import gzip

    gzip.decompress(gzip.compress(bytes(1 << 20)) * 1000)


def compiled():
    compile("(" + "1," * 100_000_000 + ")", "bomb", "eval")


globals()[sys.argv[1]]()
