"""C code that runs for hours inside one call. What does not look for interrupts is killed."""

import sys


def regex():
    import re

    re.match(r"(a+)+$", "a" * 64 + "b")


def regex_scan():
    import re

    re.search(r"(?:.*.*)*x", "y" * 200_000)


def power():
    10**10**8


def power_of_powers():
    3 ** (10**9)


def range_sum():
    sum(range(10**12))


def factorial():
    import math

    math.factorial(10**8)


def decimal():
    import decimal

    decimal.getcontext().prec = 50_000_000
    decimal.Decimal(2).sqrt()


def any_repeat():
    import itertools

    any(itertools.repeat(0))


def deque():
    import collections
    import itertools

    collections.deque(itertools.count(), maxlen=0)


def contains():
    import itertools

    -1 in itertools.cycle([0])


def text():
    # Quadratic at the least: each of a million positions is compared for half a million characters.
    ("a" * 1_000_000).replace("a" * 500_000 + "b", "")
    while True:
        ("ab" * 4_000_000).count("ba" * 1_000_000 + "c")


def crc():
    import zlib

    data = bytes(200 << 20)
    for _ in iter(int, 1):
        zlib.crc32(data)


def deflate():
    import zlib

    data = bytes(range(256)) * (400 << 10)
    while True:
        zlib.compress(data, 9)


def lzma():
    import lzma

    lzma.compress(bytes(range(256)) * (200 << 10), preset=9 | lzma.PRESET_EXTREME)
    lzma.compress(b"ab" * (40 << 20), preset=9 | lzma.PRESET_EXTREME)
    while True:
        lzma.compress(b"ab" * (40 << 20), preset=9 | lzma.PRESET_EXTREME)


def sqlite():
    import sqlite3

    query = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    sqlite3.connect(":memory:").execute(query).fetchall()


def callback():
    # C code that calls back into Python for ever.
    import functools
    import itertools

    functools.reduce(lambda a, b: a, itertools.count())


def numpy_matmul():
    import numpy

    a = numpy.ones((6000, 6000))
    while True:
        a @ a


def numpy_sort():
    import numpy

    a = numpy.arange(30_000_000)[::-1].copy()
    while True:
        numpy.sort(a, kind="stable")


def numpy_linalg():
    import numpy

    a = numpy.random.default_rng(0).random((3000, 3000))
    while True:
        numpy.linalg.eig(a)


def ctypes_loop():
    # strlen over memory without a zero, again and again, by the C library itself.
    import ctypes

    buffer = ctypes.create_string_buffer(b"x" * (256 << 20))
    strlen = ctypes.CDLL(None).strlen
    while True:
        strlen(buffer)


globals()[sys.argv[1]]()
