"""ctypes: calls, callbacks, structures, variadic functions, Python's own API."""

import ctypes
import ctypes.util

from checks import equal, raises

libc = ctypes.CDLL(None)


def test_calls():
    equal((libc.abs(-5), libc.strlen(b"four"), libc.toupper(ord("a"))), (5, 4, ord("A")))
    libc.strtod.restype = ctypes.c_double
    end = ctypes.c_char_p()
    equal((libc.strtod(b"2.5rest", ctypes.byref(end)), end.value), (2.5, b"rest"))
    libc.strtoll.restype = ctypes.c_longlong
    equal(libc.strtoll(b"-9000000000", None, 10), -9_000_000_000)
    pow_ = libc.pow
    pow_.restype, pow_.argtypes = ctypes.c_double, [ctypes.c_double] * 2
    equal(pow_(2, 0.5), 2**0.5)
    with raises(ctypes.ArgumentError):
        pow_("2", 1)
    with raises(AttributeError):
        libc.no_such_function
    buffer = ctypes.create_string_buffer(32)
    libc.memset(buffer, ord("x"), 5)
    equal(buffer.value, b"xxxxx")


def test_variadic_functions():
    buffer = ctypes.create_string_buffer(100)
    libc.snprintf.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p]
    length = libc.snprintf(
        buffer, 100, b"%d %s %.2f %lld", ctypes.c_int(-7), b"text", ctypes.c_double(1.5), ctypes.c_longlong(2**40)
    )
    equal((buffer.value, length), (b"-7 text 1.50 1099511627776", 26))
    # Values of 4 and 8 bytes in turn: each lies where C looks for it.
    number, wide, half = (b"%d", ctypes.c_int(5)), (b"%lld", ctypes.c_longlong(-(2**40))), (b"%g", ctypes.c_double(0.5))
    for arguments in [(wide, number), (number, wide, number), (half, number, number, wide), (number, half, number)]:
        templates, values = zip(*arguments, strict=True)
        libc.snprintf(buffer, 100, b" ".join(templates), *values)
        equal(buffer.value, " ".join(str(value.value) for value in values).encode())
    number, word = ctypes.c_int(), ctypes.create_string_buffer(10)
    libc.sscanf.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    equal(libc.sscanf(b"12 abc", b"%d %9s", ctypes.byref(number), word), 2)
    equal((number.value, word.value), (12, b"abc"))


def test_callbacks():
    compare_type = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
    calls = []

    @compare_type
    def compare(a, b):
        calls.append((a[0], b[0]))
        return (a[0] > b[0]) - (a[0] < b[0])

    numbers = (ctypes.c_int * 8)(5, 3, 9, -1, 7, 0, 3, 8)
    libc.qsort(numbers, len(numbers), ctypes.sizeof(ctypes.c_int), compare)
    equal((list(numbers), len(calls) > 7), ([-1, 0, 3, 3, 5, 7, 8, 9], True))
    libc.bsearch.restype = ctypes.POINTER(ctypes.c_int)
    equal(libc.bsearch(ctypes.byref(ctypes.c_int(7)), numbers, 8, 4, compare)[0], 7)


def test_callbacks_of_every_type():
    for kind, value in [
        (ctypes.c_int8, -5),
        (ctypes.c_uint8, 250),
        (ctypes.c_int16, -3000),
        (ctypes.c_uint16, 60_000),
        (ctypes.c_int32, -(2**31)),
        (ctypes.c_uint32, 2**32 - 1),
        (ctypes.c_int64, -(2**63)),
        (ctypes.c_uint64, 2**64 - 1),
        (ctypes.c_float, 0.5),
        (ctypes.c_double, 1e300),
        (ctypes.c_bool, True),
        (ctypes.c_char, b"c"),
        (ctypes.c_void_p, 4096),
        (ctypes.py_object, []),
        (ctypes.c_longdouble, 0.25),
    ]:
        same = ctypes.CFUNCTYPE(kind, kind, kind)(lambda first, second: second)
        equal(same(kind(), value) if kind is not ctypes.py_object else same(None, value), value)
    many = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_int, ctypes.c_double] * 10)(lambda *args: sum(args))
    equal(many(*range(20)), 190.0)


class Point(ctypes.Structure):
    """Passed by value."""

    _fields_ = [("x", ctypes.c_int), ("y", ctypes.c_double)]


class Division(ctypes.Structure):
    """`div_t`."""

    _fields_ = [("quotient", ctypes.c_int), ("remainder", ctypes.c_int)]


def test_structures():
    libc.div.restype = Division
    result = libc.div(17, 5)
    equal((result.quotient, result.remainder), (3, 2))
    area = ctypes.CFUNCTYPE(ctypes.c_double, Point, ctypes.c_int)(lambda point, n: point.x * point.y * n)
    equal(area(Point(2, 1.5), 3), 9.0)
    equal((ctypes.sizeof(Point), Point.y.offset), (16, 8))

    class Bits(ctypes.Union):
        _fields_ = [("number", ctypes.c_uint32), ("bytes", ctypes.c_uint8 * 4)]

    equal(list(Bits(number=0x01020304).bytes), [4, 3, 2, 1])
    # As everywhere: ctypes refuses callbacks that give structures.
    with raises(TypeError, "invalid result type for callback function"):
        ctypes.CFUNCTYPE(Point, ctypes.c_int)(lambda number: Point(number, 0.5))
    record = type("Record", (ctypes.BigEndianStructure,), {"_fields_": [("a", ctypes.c_uint16)]})
    equal(bytes(record(0x0102)), b"\x01\x02")


def test_an_exception_in_a_callback_is_reported_and_passed_over():
    import sys

    seen, before = [], sys.unraisablehook
    sys.unraisablehook = lambda unraisable: seen.append(unraisable.exc_type)
    try:
        fails = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda number: 1 // number)
        equal((fails(1), fails(0)), (1, 0))
    finally:
        sys.unraisablehook = before
    equal(seen, [ZeroDivisionError])


def test_errno():
    library = ctypes.CDLL(None, use_errno=True)
    ctypes.set_errno(0)
    equal(library.open(b"/nothing/here", 0), -1)
    import errno

    equal(ctypes.get_errno(), errno.ENOENT)


def test_closures_are_freed():
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
    for number in range(20_000):
        equal(kind(lambda value: value + number)(1), number + 1)  # noqa: B023 - called at once
    kept = [kind(lambda value, number=number: value * number) for number in range(500)]
    equal([call(2) for call in kept], [2 * number for number in range(500)])


def test_pythons_own_interface():
    api = ctypes.pythonapi
    api.PyUnicode_FromString.restype = ctypes.py_object
    equal(api.PyUnicode_FromString("ü".encode()), "ü")
    api.PyLong_FromLongLong.restype, api.PyLong_FromLongLong.argtypes = ctypes.py_object, [ctypes.c_longlong]
    equal(api.PyLong_FromLongLong(-(2**40)), -(2**40))
    api.PyErr_SetString.argtypes, api.PyErr_SetString.restype = [ctypes.py_object, ctypes.c_char_p], None
    with raises(KeyError, "from C"):
        api.PyErr_SetString(KeyError, b"from C")
    api.PyRun_SimpleString(b"import builtins; builtins._made_by_c = 1")
    import builtins

    equal(builtins._made_by_c, 1)


def test_memory():
    source = ctypes.create_string_buffer(b"copied")
    target = (ctypes.c_char * 7)()
    ctypes.memmove(target, source, 7)
    equal((target.value, ctypes.string_at(source, 3)), (b"copied", b"cop"))
    libc.malloc.restype = ctypes.c_void_p
    block = libc.malloc(100)
    view = (ctypes.c_ubyte * 100).from_address(block)
    view[99] = 7
    equal((memoryview(view).nbytes, bytes(view)[99]), (100, 7))
    libc.free(ctypes.c_void_p(block))
