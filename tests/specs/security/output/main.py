"""Code that prints without end, in every way."""

import os
import sys


def stdout():
    while True:
        print("x" * 1000)


def stderr():
    while True:
        print("x" * 1000, file=sys.stderr)


def one_line():
    sys.stdout.write("x" * (64 << 20))


def descriptor():
    block = b"y" * (1 << 20)
    for _ in range(512):
        os.write(1, block)


def vectors():
    for _ in range(512):
        os.writev(2, [b"v" * 4096] * 256)


def duplicates():
    copies = [os.dup(1) for _ in range(100)]
    for _ in range(1000):
        for copy in copies:
            os.write(copy, b"d" * 100)


def c_code():
    import ctypes

    puts = ctypes.CDLL(None).puts
    for _ in range(100_000):
        puts(b"c" * 100)
    ctypes.CDLL(None).fflush(None)


def logging():
    import logging

    for _ in range(20_000):
        logging.error("l" * 100)


def invalid():
    os.write(1, bytes(range(128, 256)) * 1000)


def message():
    sys.exit("m" * (64 << 20))


def exception():
    raise ValueError("e" * (16 << 20))


def notes():
    error = ValueError("noted")
    for number in range(200_000):
        error.add_note(f"note {number} " + "n" * 100)
    raise error


globals()[sys.argv[1]]()
