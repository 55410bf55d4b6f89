"""Code that prints without end, in every way."""

import json
import os
import sys

# Where the driver of the guest sends its events.
EVENTS = 1000


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


def frame(event):
    return json.dumps(event).encode() + b"\n"


def forged_streams():
    # Output that goes past the place where it is counted is counted again.
    text = frame({"Stream": {"name": "stdout", "text": "s" * 10_000}})
    for _ in range(2000):
        os.write(EVENTS, text)


def forged_displays():
    for _ in range(2000):
        os.write(EVENTS, frame({"DisplayData": {"data": {"text/plain": "d" * 10_000}}}))


def forged_states():
    block = frame({"Status": {"busy": False}}) * 1000
    for _ in range(200):
        os.write(EVENTS, block)
    os.write(EVENTS, frame({"Error": {"ename": "E", "evalue": "", "traceback": ""}}))
    os.write(EVENTS, frame({"ExecuteResult": {"data": {}}}))


def garbage():
    block = os.urandom(1 << 20)
    for _ in range(100):
        os.write(EVENTS, block)
    for line in [b"\n", b"{}\n", b"null\n", b"[" * 100_000 + b"\n", b'{"Done":{}}\n', b'"Hello"\n', b"\xff\n", b"\0\n"]:
        os.write(EVENTS, line)
    os.write(EVENTS, b'{"Stream":{"name":"stdin","text":""}}\n{"Stream":{"name":"stdout"}}\n')


def endless_frame():
    # A frame without an end, longer than any that is kept.
    block = b"x" * (8 << 20)
    os.write(EVENTS, b'{"DisplayData":{"data":{"text/plain":"')
    for _ in range(64):
        os.write(EVENTS, block)


def displays():
    for _ in range(5000):
        display("d" * 1000)  # noqa: F821


def descriptor_games():
    # Another file in the place of the events, and of the streams.
    other = os.open("other", os.O_CREAT | os.O_RDWR)
    os.dup2(other, EVENTS)
    os.dup2(other, 1)
    print("not to be seen")
    display("not to be seen")  # noqa: F821
    os.close(EVENTS)
    os.close(1)
    os.close(0)
    os.write(2, b"still here\n")


globals()[sys.argv[1]]()
