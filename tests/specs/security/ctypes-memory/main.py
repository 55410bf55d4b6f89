"""Wild pointers. Reading and writing anywhere in its own memory is the guest's right; beyond it there is nothing."""

import ctypes
import sys

END = 1 << 32


def read_null():
    # Address 0 is ordinary memory in WebAssembly.
    ctypes.string_at(0, 64)
    print("ok")


def write_null():
    # What is there is the guest's own; whatever comes of it stays in the machine.
    ctypes.memset(0, 0xFF, 1024)


def read_beyond():
    ctypes.string_at(END - 16, 16)


def read_over_the_end():
    # Starts inside and ends outside.
    top = ctypes.CDLL(None).sbrk(0) & 0xFFFFFFFF
    ctypes.string_at(top, 1 << 30)


def write_beyond():
    ctypes.memset(END - 4096, 0x41, 4096)


def move_beyond():
    ctypes.memmove(END - (1 << 20), END - (2 << 20), 1 << 20)


def wrap_around():
    ctypes.memmove(16, END - 16, 64)


def scan_upwards():
    # Every page from the end of the memory to the end of the addresses.
    for address in range(64 << 20, END, 1 << 16):
        ctypes.c_ubyte.from_address(address).value


def write_upwards():
    for address in range(64 << 20, END, 1 << 16):
        ctypes.c_ubyte.from_address(address).value = 1


def unaligned():
    buffer = ctypes.create_string_buffer(64)
    for offset in range(1, 32):
        value = ctypes.c_double.from_address(ctypes.addressof(buffer) + offset)
        value.value = 1.5
        assert value.value == 1.5
    print("ok")


def fake_object():
    ctypes.cast(12345, ctypes.py_object).value.x


def random_objects():
    import random

    source = random.Random(1)
    for _ in range(100_000):
        repr(ctypes.cast(source.randrange(0, 32 << 20), ctypes.py_object).value)


def overwrite_type():
    # Methods of `int` become numbers without meaning.
    ctypes.memset(id(int) + 8, 0x5A, 200)
    print(1 + 1, [int("5")])


def overwrite_self():
    ctypes.memset(id(sys.modules), 0xAA, 64)
    import json  # noqa: F401


def overwrite_stack():
    buffer = ctypes.create_string_buffer(16)
    ctypes.memset(ctypes.addressof(buffer), 0x33, 16 << 20)


def overwrite_everything():
    step = 1 << 16
    for start in range(1024, 30 << 20, step):
        ctypes.memset(start, 0xCC, step)


def random_writes():
    import random

    source = random.Random(2)
    while True:
        ctypes.c_ubyte.from_address(source.randrange(0, 32 << 20)).value = source.randrange(256)


def double_free():
    library = ctypes.CDLL(None)
    for _ in range(1000):
        block = library.malloc(100)
        library.free(block)
        library.free(block)
        library.free(block + 8)
        library.free(12345)


def free_everything():
    library = ctypes.CDLL(None)
    for address in range(1 << 20, 32 << 20, 8):
        library.free(address)


def interpreter_state():
    for name in ["_PyRuntime", "_Py_NoneStruct", "PyType_Type", "_Py_emscripten_signal_clock"]:
        target = ctypes.c_ubyte.in_dll(ctypes.pythonapi, name)
        ctypes.memset(ctypes.addressof(target), 0xEE, 256)


def signal_words():
    # The host writes these words when it interrupts; a guest that moves nothing can still not make it write elsewhere.
    word = ctypes.c_int.in_dll(ctypes.pythonapi, "_Py_emscripten_signal_in_memory")
    for value in range(-100, 100_000):
        word.value = value
    print("ok")


globals()[sys.argv[1]]()
