"""Code that looks for the host: its files, its environment, its other runs."""

import os
import sys

# The name of a variable of the server; its value is looked for by the test in everything that is printed.
CANARY = "SECRET_CANARY"


def variables():
    assert CANARY not in os.environ, os.environ[CANARY]
    assert set(os.environ) <= {"HOME", "USER", "LANG", "TZ", "PATH", "MPLBACKEND"}, dict(os.environ)
    import ctypes

    get = ctypes.CDLL(None).getenv
    get.restype = ctypes.c_char_p
    assert get(CANARY.encode()) is None
    print(sorted(os.environ.items()))


def memory():
    # All the memory there is to see. The value is put together here, and copied once: the search has to find the two.
    import ctypes

    value = b"brumate-" + b"canary-" + b"5f3a9c1e77d2"
    copy = bytearray(value)
    size = ctypes.CDLL(None).sbrk(0) & 0xFFFFFFFF
    step, found = 1 << 20, set()
    for start in range(0, size, step):
        piece = ctypes.string_at(start, min(step + 64, size - start))
        at = piece.find(value)
        while at >= 0:
            # Not those in the copies that this search makes.
            if not id(piece) <= start + at < id(piece) + len(piece) + 64:
                found.add(start + at)
            at = piece.find(value, at + 1)
        del piece
    print(len(copy), len(found))


def files():
    for path in [
        "/etc/passwd",
        "/etc/hostname",
        "/root",
        "/work",
        "/usr/bin",
        "/usr/share",
        "/bin/sh",
        "/sys",
        "/run",
        "/var",
        "/dev/mem",
        "/dev/sda",
        "/dev/kmsg",
        "/dev/fuse",
        "/dev/shm",
        "/proc/1",
        "/proc/1/environ",
        "/proc/self/environ",
        "/proc/self/mem",
        "/proc/self/exe",
        "/proc/self/fd/3",
        "/proc/version",
        "/proc/cpuinfo",
        "/proc/mounts",
        "/proc/kcore",
        "/proc/self/root/etc/passwd",
        "/../etc/passwd",
        "/dev/fd/3",
    ]:
        try:
            content = os.listdir(path) if os.path.isdir(path) else open(path, "rb").read(100)
        except OSError:
            continue
        assert content in ([], b"") or path == "/proc/cpuinfo", (path, content)
    # What `/proc` shows is the guest's own.
    assert os.listdir("/proc/self/root") == os.listdir("/") and os.path.realpath("/proc/self/cwd") == os.getcwd()
    with open("/proc/self/maps") as maps:
        assert [line.split()[-1] for line in maps] == ["[heap]"]
    assert sorted(os.listdir("/proc/self")) == [
        "cmdline", "comm", "cwd", "exe", "fd", "maps", "root", "stat", "statm", "status",
    ]  # fmt: skip
    print("ok")


def tree():
    # Nothing but the interpreter, its home and its devices.
    top = set(os.listdir("/"))
    assert top <= {"tmp", "dev", "proc", "lib", "usr", "home", "workspace"}, top
    assert os.listdir("/usr") == ["lib"] and os.path.realpath("/lib") == "/usr/lib", os.listdir("/usr")
    assert set(os.listdir("/lib")) <= {"python3.14", "brumate"}, os.listdir("/lib")
    assert os.listdir("/home") == ["user"] and os.listdir("/home/user") == ["main.py"] and os.listdir("/tmp") == []
    print(sorted(os.listdir("/dev")), sorted(os.listdir("/proc")))


def system():
    # What is told goes to stderr, where the runner looks for the host's paths and secrets.
    import getpass
    import platform
    import socket
    import sysconfig
    import time

    def tell(*values):
        print(*values, file=sys.stderr)

    assert os.uname().nodename == "emscripten" and getpass.getuser() == "user" and sys.executable == "/bin/python"
    assert os.getppid() in (0, 1) and time.tzname == ("UTC", "UTC") and os.getcwd() == "/home/user"
    tell(os.uname(), platform.platform(), platform.node(), os.getuid(), os.getpid(), os.cpu_count())
    tell(sys.prefix, sys.path, sys.argv, sysconfig.get_paths(), sys.flags, sys.version)
    for function in [socket.gethostname, os.getlogin, lambda: os.ttyname(0)]:
        try:
            tell(function())
        except OSError as error:
            tell(error)
    print("ok")


def descriptors():
    # Of the machine's own descriptors none can be named.
    def usable(number):
        try:
            os.fstat(number)
        except OSError:
            return False
        return True

    found = [number for number in range(5000) if usable(number)]
    assert found == [0, 1, 2, 1000], found
    for number in found[1:]:
        try:
            os.read(number, 1)
        except OSError:
            continue
        raise AssertionError(number)
    print("ok")


def input_is_empty():
    assert sys.stdin.read() == "" and os.read(0, 10) == b""
    print("ok")


def javascript():
    # Pyodide's bridge to JavaScript has nothing on the other side.
    for name in ["js", "pyodide_js", "_pyodide_core", "pyodide.code", "pyodide.ffi"]:
        try:
            __import__(name)
        except Exception as error:
            print(type(error).__name__)
        else:
            print("imported", name)


def javascript_core():
    import ctypes

    library = ctypes.PyDLL(None)
    try:
        start = library.PyInit__pyodide_core
    except AttributeError:
        return
    start.restype = ctypes.py_object
    start()


def javascript_functions():
    import ctypes

    library = ctypes.CDLL(None)
    for name in [
        "pyodide_js_init",
        "init_pyodide_proxy",
        "jslib_init",
        "hiwire_new_value",
        "JsvNum_fromInt",
        "JsProxy_create",
        "python2js",
        "js2python",
        "run_python",
        "set_method_docstring",
        "emscripten_run_script",
    ]:
        try:
            function = getattr(library, name)
        except AttributeError:
            continue
        print(name)
        sys.stdout.flush()
        function(0, 0, 0)


globals()[sys.argv[1]]()
