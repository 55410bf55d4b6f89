"""Real extension modules, damaged. Loading one fails, or it loads and does whatever it does inside the guest."""

import ctypes
import importlib.machinery
import importlib.util
import pathlib
import random
import sys

SITE = pathlib.Path("/lib/python3.14/site-packages")
original = next(SITE.glob("numpy/_core/_umath_tests.*.so")).read_bytes()
small = next(SITE.glob("numpy/_core/_operand_flag_tests.*.so")).read_bytes()
count = 0


def load(content):
    """True when it loaded."""
    global count
    count += 1
    path = pathlib.Path(f"/tmp/library{count}.so")
    path.write_bytes(content)
    try:
        ctypes.CDLL(str(path))
    except OSError as error:
        assert str(error), "an error without a text"
        return False
    finally:
        path.unlink()
    return True


def undamaged():
    assert load(original) and load(small)
    print("ok")


def not_a_library():
    for content in [
        b"",
        b"\0",
        b"\0asm",
        b"\0asm\1\0\0\0",
        b"\x7fELF" + bytes(1000),
        b"MZ" * 100,
        b"#!/bin/sh\n",
        bytes(1 << 20),
        b"\0asm\x0d\0\1\0",
        b"\0asm\2\0\0\0",
        random.randbytes(100_000),
        original[8:],
        b"\0asm\1\0\0\0" + original,
    ]:
        assert not load(content), content[:20]
    for path in ["/", "/tmp", "/dev/null", "/missing.so", "", "/tmp/\n", "/dev/stdin", "x" * 5000]:
        try:
            ctypes.CDLL(path or "./")
        except (OSError, ValueError):
            continue
        raise AssertionError(path)
    print("ok")


def endless():
    try:
        ctypes.CDLL("/dev/zero")
    except (OSError, MemoryError):
        print("ok")


def truncated():
    # What ends with a section is a library of its own, if a poor one.
    step = len(original) // 60
    lengths = [*range(0, 40), *range(40, len(original), step)]
    loaded = sum(load(original[:length]) for length in lengths)
    assert loaded < 12, loaded
    print("ok")


def flipped():
    source = random.Random(int(sys.argv[2]))
    loaded = 0
    for _ in range(int(sys.argv[3])):
        content = bytearray(small)
        for _ in range(source.choice([1, 1, 2, 8])):
            content[source.randrange(8, len(content))] ^= 1 << source.randrange(8)
        loaded += load(bytes(content))
    print(loaded, "loaded", file=sys.stderr)


def spliced():
    # Pieces moved, doubled and left out.
    source = random.Random(4)
    for _ in range(40):
        a, b, c = sorted(source.randrange(8, len(small)) for _ in range(3))
        load(
            small[:a]
            + source.choice([small[b:c] + small[a:b], small[a:b] * 2, b"", source.randbytes(b - a)])
            + small[c:]
        )
    print("ok")


def imported():
    # Damaged, and run as a module: functions that are not what they say.
    source = random.Random(int(sys.argv[2]))
    for number in range(20):
        content = bytearray(small)
        content[source.randrange(len(small) // 2, len(content))] ^= 1 << source.randrange(8)
        path = f"/tmp/_operand_flag_tests{number}.so"
        pathlib.Path(path).write_bytes(content)
        loader = importlib.machinery.ExtensionFileLoader("_operand_flag_tests", path)
        try:
            module = importlib.util.module_from_spec(importlib.util.spec_from_loader("_operand_flag_tests", loader))
            loader.exec_module(module)
            dir(module)
        except (ImportError, SystemError):
            pass


def changed_while_loading():
    # The file is another one by the time it is used.
    path = pathlib.Path("/tmp/changing.so")
    path.write_bytes(small)
    first = ctypes.CDLL(str(path))
    path.write_bytes(b"\0asm")
    path.rename("/tmp/renamed.so")
    assert first._handle
    try:
        ctypes.CDLL("/tmp/renamed.so")
    except OSError:
        print("ok")


def mixed_up():
    # Modules under each other's names, and all of them at once.
    import numpy
    import PIL._imaging

    for path in sorted(SITE.glob("PIL/*.so"))[:6]:
        name = "_" + path.name.split(".")[0]
        loader = importlib.machinery.ExtensionFileLoader(name, str(path))
        try:
            importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
        except ImportError:
            continue
        raise AssertionError(name)
    assert numpy.arange(3).sum() == 3 and PIL._imaging
    print("ok")


globals()[sys.argv[1]]()
