"""The functions that the host gives to the interpreter, called directly with arguments of an attacker.

Whatever they answer, the host must not fall over: an error number, or a crash that stays in the machine.
"""

import ctypes
import os
import random
import sys

# Kinds of arguments: f descriptor, p pointer, g pointer that is followed without an error number to answer with (a bad one
# ends the machine), s path, n number, l 64-bit number, t timeout in milliseconds.
CALLS = """
__syscall_openat fsnn    __syscall_fcntl64 fnp    __syscall_ioctl fnp      __syscall_faccessat fsnn  __syscall_chdir s
__syscall_chmod sn       __syscall_fchownat fsnnn __syscall_dup f          __syscall_dup3 ffn        __syscall_fchdir f
__syscall_fchmod fn      __syscall_fchmodat2 fsnn __syscall_fchown32 fnn   __syscall_fdatasync f     __syscall_fstat64 fp
__syscall_stat64 sp      __syscall_lstat64 sp     __syscall_newfstatat fspn __syscall_ftruncate64 fl __syscall_getcwd pn
__syscall_getdents64 fpn __syscall_mkdirat fsn    __syscall_mknodat fsnn   __syscall_pipe p          __syscall_poll pnt
__syscall_fadvise64 flln __syscall_fallocate fnll __syscall_readlinkat fspn __syscall_unlinkat fsn   __syscall_rmdir s
__syscall_renameat fsfs  __syscall_statfs64 snp   __syscall_fstatfs64 fnp  __syscall_symlinkat sfs   __syscall_truncate64 sl
__syscall_utimensat fspn __syscall_umask_js n     __syscall_accept4 fppnnn __syscall_bind fpnnnn     __syscall_connect fpnnnn
__syscall_getpeername fppnnn __syscall_getsockname fppnnn __syscall_getsockopt fnnppn __syscall_listen fnnnnn
__syscall_recvfrom fpnnpp __syscall_recvmsg fpnnnn __syscall_sendmsg fpnnnn __syscall_sendto fpnnpn __syscall_socket nnnnnn
fd_close f               fd_read fpnp             fd_write fpnp            fd_sync f                 fd_fdstat_get fp
fd_seek flnp             fd_pread fpnlp           fd_pwrite fpnlp          random_get pn             clock_res_get np
clock_time_get nlp       environ_get pp           environ_sizes_get pp     _mmap_js nnnflpp          _munmap_js nnnnfl
_msync_js pnnnfl         _tzset_js gggg           _timegm_js g             _mktime_js g              _localtime_js lg
_gmtime_js lg            _setitimer_js nt         _emscripten_system s     emscripten_resize_heap n  emscripten_get_heap_max -
_dlopen_js g             _dlsym_js ngg            ffi_closure_alloc_js ng  _emscripten_lookup_name s
getaddrinfo sspp         getnameinfo pnpnpnn      getprotobyname s         _emscripten_get_progname pn
""".split()
SIZE = 1 << 20
# Descriptors that are left alone, so that the end can be told.
KEPT = (0, 1, 2, 1000)

library = ctypes.CDLL(None)
# Behind it there is room for what the longest of the good lengths writes over its end.
area = ctypes.create_string_buffer(2 * SIZE)
base = ctypes.addressof(area)
source = random.Random(int(sys.argv[1]))


def number():
    return source.choice(
        [
            0,
            1,
            2,
            3,
            4,
            7,
            64,
            100,
            1024,
            4096,
            65_536,
            -1,
            -2,
            -4096,
            2**31 - 1,
            -(2**31),
            2**30 + source.getrandbits(31),
        ]
    )


def good_pointer():
    return base + source.randrange(SIZE - 4096)


def pointer():
    # Never other memory of the interpreter (address 0 is such): what breaks is to be the host.
    return source.choice(
        [good_pointer()] * 8 + [base + SIZE - 1, -1, -4, -4096, 2**31, 2**30 + source.randrange(2**31)]
    )


def path():
    at = base + source.randrange(SIZE // 2) if source.random() < 0.1 else base + SIZE // 2
    text = source.choice(
        [
            b"a",
            b"b",
            b"a/b",
            b"..",
            b".",
            b"/",
            b"",
            b"/tmp/x",
            b"/lib/python3.14/os.py",
            b"/dev/fd/3",
            b"/proc/self/fd",
            b"a/" * 3000,
            b"n" * 5000,
            b"\xff\xfe",
            b"/dev/null",
            b"/dev/stdout/x",
            b"link",
            b"//a//b//",
        ]
    )
    ctypes.memmove(at, text + b"\0", len(text) + 1)
    return at if source.random() < 0.95 else pointer()


def descriptor():
    while (found := source.choice([3, 4, 5, 6, 7, 8, 9, 50, 1023, 4096, -1, -100, 2**31 - 1, number()])) in KEPT:
        pass
    return found


MAKE = {
    "f": (ctypes.c_int, descriptor),
    "p": (ctypes.c_int, pointer),
    "g": (ctypes.c_int, pointer if sys.argv[3] == "wild" else good_pointer),
    "s": (ctypes.c_int, path),
    "n": (ctypes.c_int, number),
    "l": (
        ctypes.c_longlong,
        lambda: source.choice([0, 1, -1, 100, 4096, 2**31, 2**32, 2**53, 2**63 - 1, -(2**63), source.getrandbits(63)]),
    ),
    "t": (ctypes.c_int, lambda: source.choice([0, 1, 2])),
}
SIGNED = (1 << 31, 1 << 32)


def signed(value):
    """The 32-bit number that the C code sees."""
    return (value + SIGNED[0]) % SIGNED[1] - SIGNED[0]


functions = []
for name, kinds in zip(CALLS[::2], CALLS[1::2], strict=True):
    function = getattr(library, name)
    kinds = kinds.strip("-")
    function.argtypes = [MAKE[kind][0] for kind in kinds]
    if name == "_setitimer_js":
        function.argtypes = [ctypes.c_int, ctypes.c_double]
    if name in ("_timegm_js", "_mktime_js"):
        function.restype = ctypes.c_longlong
    if name in ("_tzset_js", "_localtime_js", "_gmtime_js"):
        function.restype = None
    functions.append((function, kinds))
os.symlink("a", "link")

for round_number in range(int(sys.argv[2])):
    if round_number % 256 == 0:
        # Words that make vectors and structures: pointers, lengths, nonsense; none of them leads to other memory.
        at = source.randrange(0, SIZE, 4)
        for offset in range(0, 4096, 4):
            ctypes.c_int.from_address(base + at + offset).value = signed(source.choice([pointer, number])())
    function, kinds = source.choice(functions)
    arguments = [MAKE[kind][1]() for kind in kinds]
    function(*[value if kind == "l" else signed(value) for kind, value in zip(kinds, arguments, strict=True)])
os.write(2, b"survived\n")
