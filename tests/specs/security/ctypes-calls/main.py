"""Calls that C code would not survive. They end as an exception or as a crash of this machine alone."""

import ctypes
import sys

library = ctypes.CDLL(None)


def call_null():
    ctypes.CFUNCTYPE(ctypes.c_int)(0)()


def call_huge():
    for address in [0xFFFFFFFF, 0x7FFFFFFF, 1 << 24]:
        ctypes.CFUNCTYPE(ctypes.c_int)(address)()


def call_data():
    buffer = ctypes.create_string_buffer(b"\x00asm\x01\x00\x00\x00", 64)
    ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(buffer))()


def call_every_slot():
    # Each function of the interpreter, by number, with a signature that it mostly does not have.
    which = int(sys.argv[2])
    ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_double)(which)(1, 2.0)


def wrong_types():
    strlen = library.strlen
    strlen.argtypes = [ctypes.c_double]
    strlen(1.0)


def wrong_result():
    strlen = library.strlen
    strlen.restype = ctypes.c_double
    strlen(b"text")


def too_many():
    library.strlen(*[b"text"] * 1024)


def far_too_many():
    try:
        library.strlen(*[1] * 100_000)
    except (ctypes.ArgumentError, ValueError, MemoryError):
        pass


def too_few():
    library.memcpy()


def large_structures():
    class Large(ctypes.Structure):
        _fields_ = [("content", ctypes.c_char * (8 << 20))]

    identity = ctypes.CFUNCTYPE(Large, Large)
    library.abs(Large())
    identity(ctypes.cast(library.abs, ctypes.c_void_p).value)(Large())


def huge_structures():
    class Huge(ctypes.Structure):
        _fields_ = [("content", ctypes.c_char * ((1 << 31) - 1))]

    Huge()


def printf():
    library.printf(b"%s%s%s%s%s%s%n", 1, 2, 3, 4, 5, 6, 7)


def printf_wide():
    # Fifty million spaces, cut at the output limit.
    library.printf(b"%50000000d", 1)


def copy_negative():
    library.memcpy(ctypes.create_string_buffer(16), ctypes.create_string_buffer(16), -1)


def sort_nonsense():
    library.qsort(ctypes.create_string_buffer(16), 1 << 30, 1 << 10, 3)


def long_jump():
    library.longjmp(ctypes.create_string_buffer(1024), 1)


def throw():
    for name in ["__cxa_throw", "_Unwind_RaiseException", "_emscripten_throw_longjmp", "emscripten_longjmp"]:
        try:
            function = getattr(library, name)
        except AttributeError:
            continue
        function(8, 8, 8)


def without_the_lock():
    # `CDLL` gives the interpreter's lock up, which these functions need.
    for name in ["PyList_New", "PyErr_SetString", "PyRun_SimpleString", "PyGILState_Release", "PyEval_SaveThread"]:
        getattr(library, name)(b"0")


def save_thread():
    ctypes.pythonapi.PyEval_SaveThread()
    print("x")


def new_interpreters():
    for _ in range(100):
        ctypes.pythonapi.Py_NewInterpreter()


def run_main():
    ctypes.pythonapi.Py_BytesMain(0, None)


def initialize_again():
    ctypes.pythonapi.Py_Finalize()
    ctypes.pythonapi.Py_Initialize()


def stack_limits():
    # The guest may lie to itself about its stack.
    for name in ["emscripten_stack_set_limits", "stackRestore", "_emscripten_stack_restore", "setThrew"]:
        try:
            getattr(library, name)(0, 0)
        except AttributeError:
            continue

    def again():
        return again()

    sys.setrecursionlimit(10_000)
    again()


def system_calls():
    # What the C library asks the host for, with arguments from all over.
    import random

    source = random.Random(3)
    values = [0, 1, 2, 3, 8, 1000, 4096, 1 << 20, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, (1 << 32) - 4096]
    names = [
        "open",
        "openat",
        "read",
        "write",
        "pread",
        "pwrite",
        "readv",
        "writev",
        "lseek",
        "ftruncate",
        "truncate",
        "fstat",
        "stat",
        "lstat",
        "getdents",
        "getcwd",
        "readlink",
        "readlinkat",
        "mkdir",
        "mkdirat",
        "unlink",
        "unlinkat",
        "rename",
        "renameat",
        "symlink",
        "chdir",
        "fchdir",
        "chmod",
        "fchmod",
        "utimensat",
        "dup",
        "dup2",
        "dup3",
        "pipe",
        "pipe2",
        "fcntl",
        "ioctl",
        "poll",
        "select",
        "mmap",
        "munmap",
        "msync",
        "mprotect",
        "mremap",
        "madvise",
        "brk",
        "sbrk",
        "clock_gettime",
        "clock_getres",
        "gettimeofday",
        "getrandom",
        "getentropy",
        "uname",
        "sysconf",
        "statfs",
        "fstatfs",
        "posix_fallocate",
        "posix_fadvise",
        "fsync",
        "faccessat",
        "fstatat",
        "getrusage",
        "prlimit",
        "sched_yield",
        "kill",
        "sigaction",
        "dlopen",
        "dlsym",
        "dlclose",
        "dlerror",
        "getaddrinfo",
        "socket",
        "recvfrom",
        "sendmsg",
        "nanosleep",
    ]
    # Descriptors of the streams are left alone, so that the end can be told.
    functions = []
    for name in names:
        try:
            functions.append(getattr(library, name))
        except AttributeError:
            continue
    assert len(functions) > 40
    buffer = ctypes.create_string_buffer(1 << 16)
    values += [ctypes.addressof(buffer), ctypes.addressof(buffer) + 1, ctypes.addressof(buffer) + 65_535]
    for number in range(int(sys.argv[2]), int(sys.argv[2]) + 3000):
        source.seed(number)
        function = source.choice(functions)
        function(*[source.choice(values) for _ in range(source.randrange(7))])


globals()[sys.argv[1]]()
