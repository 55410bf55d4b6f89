"""cffi: its API mode with an extension module that C code was compiled into, its ABI mode with the interpreter's libc.

`runtime/recipes/tests/cffi_sample.py` has the C code. Both modules are in /wheels, laid out like site-packages.
"""

import errno
import gc
import math
import sys

from checks import equal, raises

sys.path.insert(0, "/wheels")

import cffi
from _cffi_sample import ffi, lib


def test_calls():
    before = lib.calls
    equal(lib.combine(-128, 65535, 2**62, 0.5, 1e3, True), -128 + 65535 + 2**62 + 1000 + 1)
    equal(lib.calls, before + 1)
    equal(float(lib.twice(1.25)), 2.5)
    equal((lib.after(lib.RED), lib.after(lib.GREEN), lib.BLUE), (lib.GREEN, 11, 11))
    equal((lib.SAMPLE_LIMIT, ffi.string(lib.SAMPLE_NAME)), (4_000_000_000, b"sample"))
    for arguments in [(128, 0, 0, 0, 0, 0), (0, -1, 0, 0, 0, 0), (0, 0, 2**63, 0, 0, 0)]:
        with raises(OverflowError):
            lib.combine(*arguments)
    with raises(TypeError):
        lib.combine(0, 0, 0, "x", 0, 0)
    with raises(AttributeError):
        lib.nothing


def test_globals():
    equal((lib.counter, lib.origin.x, list(lib.table)), (32767, 1.5, [1, 2, 3, 4]))
    equal((lib.hides.visible, ffi.sizeof("partial"), ffi.offsetof("partial", "visible")), (2, 16, 8))
    lib.counter = -5
    lib.table[3] = 40
    lib.origin.y = 2
    equal((lib.counter, sum(lib.table), ffi.addressof(lib, "origin").y, ffi.sizeof("counter_t")), (-5, 46, 2.0, 2))
    with raises(OverflowError):
        lib.counter = 32768
    equal(lib.current(3, 4), 7)
    lib.current = lib.operation(b"*")
    equal((lib.current(3, 4), lib.operation(b"?")), (12, ffi.NULL))


def test_structures_by_value():
    middle = lib.middle((1, 2), {"x": 3, "y": 5})
    equal((middle.x, middle.y, ffi.sizeof("point")), (2.0, 3.5, 16))
    record = ffi.new("struct record *", {"kind": 255, "number": -(2**63), "name": b"abc", "low": 7, "high": 0})
    record = lib.next_record(record[0])
    equal((record.kind, record.number, ffi.string(record.name), record.low, record.high), (0, 2**63 - 1, b"Abc", 0, 31))
    word = lib.swapped({"number": 0x01020304})
    equal(list(word.bytes), [1, 2, 3, 4])
    equal(lib.distance(ffi.new("point *"), [{"x": 3, "y": 4}]), 5.0)


def test_variadic_functions():
    arguments = [ffi.cast("int64_t", 2**40), ffi.cast("double", 0.5)] * 3
    equal(lib.sum(6, *arguments), 3 * 2**40 + 1.5)
    equal(lib.sum(0), 0.0)
    buffer = ffi.new("char[]", 100)
    length = lib.format(
        buffer,
        100,
        b"%s %d %.1f %lld %c",
        ffi.new("char[]", b"text"),
        ffi.cast("int", -7),
        ffi.cast("double", 1.5),
        ffi.cast("long long", -(2**40)),
        ffi.cast("char", b"!"),
    )
    equal((ffi.string(buffer), length), (b"text -7 1.5 -1099511627776 !", 28))
    with raises(TypeError):
        lib.sum(1, 2.5)


def test_opaque_types_and_owners():
    stack, before = ffi.gc(lib.stack_new(), lib.stack_free), lib.calls
    for value in range(100):
        lib.stack_push(stack, value)
    equal([lib.stack_pop(stack) for _ in range(3)], [99, 98, 97])
    del stack
    gc.collect()
    equal(lib.calls, before + 1000)
    equal(lib.handle_value(lib.handle_of(77)), 77)
    with raises((TypeError, ffi.error)):
        ffi.new("stack *")
    kept = object()
    handle = ffi.new_handle(kept)
    assert ffi.from_handle(handle) is kept


def test_function_pointers():
    add = lib.operation(b"+")
    equal((add(2, 3), lib.fold(add, [1, 2, 3], 3, 10)), (5, 16))
    equal(lib.fold(lib.operation(b"*"), [1, 2, 3, 4, 5], 5, 1), 120)
    moved = lib.mover()([1, 2], 0.5)
    equal((moved.x, moved.y), (1.5, 2.5))
    combine = ffi.addressof(lib, "combine")
    equal(combine(-1, 1, 2**40, 0.25, 0.75, False), 2**40 + 1)
    middle = ffi.addressof(lib, "middle")([0, 0], [2, 4])
    equal((middle.x, middle.y), (1.0, 2.0))
    total = ffi.addressof(lib, "sum")
    equal(total(2, ffi.cast("int64_t", 5), ffi.cast("double", 0.25)), 5.25)


def test_callbacks():
    @ffi.callback("int(int, int)")
    def minus(a, b):
        return a - b

    equal((minus(5, 3), lib.fold(minus, [1, 2, 3], 3, 10)), (2, 4))
    seen = []

    @ffi.callback("double(double, void *)")
    def square(x, data):
        seen.append(ffi.from_handle(data))
        return x * x

    data = ffi.new_handle("data")
    assert math.isclose(lib.integral(square, data, 0, 3, 1000), 9, abs_tol=1e-4)
    equal((len(seen), set(seen)), (1000, {"data"}))
    wide = ffi.callback("int64_t(int64_t, float, int64_t)", lambda a, b, c: a * 2 + int(b * 4) + c)
    equal(lib.apply_wide(wide, 2**40), 2**40 + 2)
    by_value = ffi.callback("double(point, int)", lambda point, times: (point.x + point.y) * times)
    equal(lib.apply_point(by_value, [1.5, 2.5]), 12.0)
    gives_a_structure = ffi.callback("point(point, double)", lambda point, by: (point.x * by, point.y * by))
    scaled = gives_a_structure([1, 2], 3)
    equal((scaled.x, scaled.y), (3.0, 6.0))
    for number in range(5_000):
        equal(ffi.callback("int(int, int)", lambda a, b: a + b + number)(1, 2), number + 3)  # noqa: B023 - called at once


def test_python_functions_that_c_calls():
    items = []

    @ffi.def_extern()
    def on_item(number, data):
        items.append((number, ffi.from_handle(data)))
        return number * 10

    @ffi.def_extern()
    def on_point(point):
        return {"x": point.y, "y": point.x}

    @ffi.def_extern()
    def on_wide(number, fraction):
        return number + int(fraction * 2)

    handle = ffi.new_handle("me")
    equal((lib.each(4, handle), items), (60, [(n, "me") for n in range(4)]))
    turned = lib.through([1, 2])
    equal((turned.x, turned.y), (2.0, 1.0))
    equal(lib.through_wide(-(2**50), 1.5), 3 - 2**50)
    equal(lib.fold(ffi.callback("int(int, int)", lambda a, b: lib.each(b, handle) + a), [2, 3], 2, 0), 40)


def test_exceptions_in_callbacks():
    caught = []

    @ffi.def_extern(error=-1, onerror=lambda kind, value, traceback: caught.append(kind))
    def on_item(number, data):
        return 10 // (2 - number)

    equal((lib.each(4, ffi.NULL), caught), (5 + 10 - 1 - 10, [ZeroDivisionError]))
    fails = ffi.callback("int(int, int)", lambda a, b: {}[a], error=99, onerror=lambda *found: caught.append(found[0]))
    equal((lib.fold(fails, [1], 1, 0), caught[1:]), (99, [KeyError]))


def test_errno():
    ffi.errno = 0
    equal((lib.fails_with(errno.EDOM), ffi.errno), (-1, errno.EDOM))


def test_memory():
    numbers = ffi.new("int32_t[]", [1, 2, 3])
    view = ffi.buffer(numbers)
    view[4:8] = (500).to_bytes(4, "little")
    equal((list(numbers), len(view), ffi.unpack(numbers, 2)), ([1, 500, 3], 12, [1, 500]))
    source = bytearray(b"writable")
    ffi.memmove(ffi.from_buffer(source), b"WRIT", 4)
    equal(source, b"WRITable")
    with raises(IndexError):
        numbers[3]
    text = ffi.new("wchar_t[]", "w\u00efde \U0001f600")
    equal(ffi.string(text), "w\u00efde \U0001f600")
    equal(
        (ffi.sizeof("void *"), ffi.sizeof("long"), ffi.alignof("double"), ffi.offsetof("struct record", "name")),
        (4, 4, 8, 16),
    )


def test_the_abi_mode():
    abi = cffi.FFI()
    abi.cdef("""
        typedef struct { int quotient, remainder; } division;
        division div(int, int);
        double pow(double, double);
        int snprintf(char *, size_t, const char *, ...);
        void qsort(void *, size_t, size_t, int (*)(const void *, const void *));
        char *getenv(const char *);
    """)
    libc = abi.dlopen(None)
    result = libc.div(17, 5)
    equal((result.quotient, result.remainder, libc.pow(2, 0.5)), (3, 2, 2**0.5))
    buffer = abi.new("char[20]")
    libc.snprintf(buffer, 20, b"%d-%g", abi.cast("int", 5), abi.cast("double", 2.5))
    equal(abi.string(buffer), b"5-2.5")
    numbers = abi.new("int[]", [5, 3, 9, -1])

    @abi.callback("int(const void *, const void *)")
    def compare(a, b):
        return abi.cast("int *", a)[0] - abi.cast("int *", b)[0]

    libc.qsort(numbers, 4, 4, compare)
    equal((list(numbers), libc.getenv(b"NO_SUCH_VARIABLE")), ([-1, 3, 5, 9], abi.NULL))
    with raises(AttributeError):
        libc.no_such_function
    with raises(OSError):
        abi.dlopen("libnothing.so")
