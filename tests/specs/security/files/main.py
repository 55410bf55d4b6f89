"""Code that fills the disk, in bytes, in names and in depth."""

import errno
import os
import sys


def refused(number, function, *arguments):
    """Calls until the system says no, with this error."""
    try:
        while True:
            function(*arguments)
    except OSError as error:
        assert error.errno == number, error
    print("ok")


def write():
    with open("big", "wb", buffering=0) as file:
        block = bytes(1 << 20)

        def one():
            if file.write(block) < len(block):
                raise OSError(errno.ENOSPC, "short")

        refused(errno.ENOSPC, one)
    # What was written stays, and removing it makes room.
    os.remove("big")
    with open("small", "wb") as file:
        file.write(bytes(1 << 20))


def many_files():
    names = iter(range(10**9))
    refused(errno.ENOSPC, lambda: open(f"{next(names)}", "wb").write(bytes(1 << 20)))


def truncate():
    # A hole costs nothing, but its length is bounded, and filling it costs as much as writing does.
    with open("sparse", "wb") as file:
        try:
            file.truncate(1 << 62)
        except OSError as error:
            assert error.errno in (errno.EFBIG, errno.ENOSPC), error
        try:
            file.truncate(1 << 40)
        except OSError as error:
            assert error.errno in (errno.EFBIG, errno.ENOSPC), error
        block, position = bytes(1 << 16), iter(range(0, 1 << 60, 1 << 17))

        def one():
            if os.pwrite(file.fileno(), block, next(position)) < len(block):
                raise OSError(errno.ENOSPC, "short")

        refused(errno.ENOSPC, one)


def sparse():
    # Holes at the far end of ten thousand files.
    for number in range(10_000):
        try:
            with open(f"{number}", "wb", buffering=0) as file:
                file.seek((1 << 31) - 1)
                file.write(b"x")
        except OSError as error:
            assert error.errno in (errno.EFBIG, errno.ENOSPC), error
            break
    print("ok")


def allocate():
    # Python has no `posix_fallocate` here; C has, with 64-bit offsets.
    import ctypes

    function = ctypes.CDLL(None).posix_fallocate
    function.argtypes = [ctypes.c_int, ctypes.c_longlong, ctypes.c_longlong]
    descriptor = os.open("reserved", os.O_RDWR | os.O_CREAT)
    for length in [1 << 62, (1 << 63) - 1, 1 << 40, 1 << 30, -1, 0]:
        assert function(descriptor, 0, length) != 0, length
    for length in range(1 << 20, 1 << 30, 1 << 20):
        if function(descriptor, 0, length) != 0:
            break
    assert os.stat("reserved").st_blocks * 512 <= 64 << 20
    print("ok")


def hundred_thousand_files():
    def one():
        for number in range(100_000):
            os.close(os.open(f"{number}", os.O_CREAT | os.O_WRONLY))

    refused(errno.ENOSPC, one)
    assert len(os.listdir()) > 10_000


def hundred_thousand_links():
    open("target", "w").close()

    def one():
        for number in range(100_000):
            os.symlink("target" * 100, f"{number}")

    refused(errno.ENOSPC, one)


def deep_directories():
    def one():
        for _ in range(100_000):
            os.mkdir("d")
            os.chdir("d")

    try:
        one()
    except OSError as error:
        assert error.errno in (errno.ENOSPC, errno.ENAMETOOLONG, errno.EMLINK), error
    try:
        os.getcwd()
    except OSError as error:
        assert error.errno in (errno.ENAMETOOLONG, errno.ERANGE), error
    os.chdir("/home/user")
    try:
        list(os.walk("/home/user"))
    except RecursionError:
        pass
    print("ok")


def descriptors():
    kept = []
    refused(errno.EMFILE, lambda: kept.append(os.open("/dev/null", os.O_RDONLY)))


def pipes():
    kept = []
    refused(errno.EMFILE, lambda: kept.append(os.pipe()))


def pipe_content():
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    refused(errno.EAGAIN, os.write, writer, bytes(1 << 20))


def unlinked():
    # Files without a name count as long as they are open.
    kept = []

    def one():
        file = open("gone", "wb", buffering=0)
        os.remove("gone")
        kept.append(file)
        if file.write(bytes(1 << 20)) < 1 << 20:
            raise OSError(errno.ENOSPC, "short")

    refused(errno.ENOSPC, one)


def appends():
    # Many small appends, and rewriting the same place again and again, do not use more than the file's size.
    with open("log", "ab", buffering=0) as file:
        for _ in range(20_000):
            file.write(b"x" * 100)
    descriptor = os.open("log", os.O_RDWR)
    for _ in range(100_000):
        os.pwrite(descriptor, b"y" * 4096, 0)
    assert os.stat("log").st_size == 2_000_000
    print("ok")


def names():
    for name in ["x" * 256, "/".join(["x"] * 5000), "\0", ""]:
        try:
            open(name, "w")
        except (OSError, ValueError):
            continue
        raise AssertionError(name[:20])
    print("ok")


def link_loops():
    os.symlink("b", "a")
    os.symlink("a", "b")
    previous = "/home/user"
    for number in range(100):
        os.symlink(previous, f"chain{number}")
        previous = f"chain{number}"
    for name in ["a", "chain99/x"]:
        try:
            open(name)
        except OSError as error:
            assert error.errno == errno.ELOOP, error
        else:
            raise AssertionError(name)
    print("ok")


def system_files():
    # The interpreter's own files are read only.
    import encodings

    for path in [
        encodings.__file__,
        "/lib/python3.14/os.py",
        "/lib/brumate/_brumate/__init__.py",
    ]:
        for flags in [os.O_WRONLY, os.O_RDWR | os.O_TRUNC, os.O_WRONLY | os.O_CREAT]:
            try:
                os.close(os.open(path, flags))
            except OSError as error:
                assert error.errno in (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT), error
            else:
                raise AssertionError(path)
    print("ok")


def mapped():
    import mmap

    with open("map", "wb+") as file:
        file.truncate(64 << 20)
        try:
            view = mmap.mmap(file.fileno(), 64 << 20)
            view[:] = b"m" * (64 << 20)
            view.flush()
        except OSError as error:
            assert error.errno in (errno.ENOSPC, errno.ENOMEM, errno.EIO), error
    print("ok")


def database():
    import sqlite3

    connection = sqlite3.connect("data.db")
    connection.execute("CREATE TABLE t (b BLOB)")
    try:
        while True:
            connection.execute("INSERT INTO t VALUES (zeroblob(1000000))")
            connection.commit()
    except sqlite3.OperationalError as error:
        assert "full" in str(error) or "I/O" in str(error), error
    print("ok")


globals()[sys.argv[1]]()
