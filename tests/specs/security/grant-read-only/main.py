"""A read-only grant at /data: every change is refused, and nothing leads out. See the runner for what it holds."""

import errno
import os
import sys

REFUSED = (errno.EROFS, errno.EACCES, errno.EPERM)


def refused(function, *arguments, numbers=REFUSED, **options):
    try:
        result = function(*arguments, **options)
    except OSError as error:
        assert error.errno in numbers, (function, arguments, error)
        return
    raise AssertionError(f"{function.__name__}{arguments} gave {result!r}")


def reading():
    assert open("/data/file.txt").read() == "granted\n"
    assert open("/data/directory/nested.txt").read() == "granted\n"
    assert open("/data/inner").read() == "granted\n" and open("/data/inner-dir/nested.txt").read() == "granted\n"
    assert sorted(os.listdir("/data/directory")) == ["nested.txt"]
    assert {"file.txt", "directory", "parent", "pipe"} <= set(os.listdir("/data"))
    assert os.path.islink("/data/parent") and not os.path.isfile("/data/pipe")
    print("ok")


def changes():
    for flags in [
        os.O_WRONLY,
        os.O_RDWR,
        os.O_WRONLY | os.O_TRUNC,
        os.O_WRONLY | os.O_APPEND,
        os.O_WRONLY | os.O_CREAT,
    ]:
        for name in ["file.txt", "directory/nested.txt", "inner", "hardlink", "executable", "locked.txt"]:
            refused(os.open, f"/data/{name}", flags)
    for name in ["new", "directory/new", "inner-dir/new"]:
        refused(os.open, f"/data/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        refused(os.mkdir, f"/data/{name}")
        refused(os.symlink, "x", f"/data/{name}")
        refused(os.rename, "/data/file.txt", f"/data/{name}")
        if hasattr(os, "mkfifo"):
            refused(os.mkfifo, f"/data/{name}", numbers=(*REFUSED, errno.ENOSYS))
    refused(os.remove, "/data/file.txt")
    refused(os.remove, "/data/parent")
    refused(os.remove, "/data/pipe")
    refused(os.rmdir, "/data/directory", numbers=(*REFUSED, errno.ENOTEMPTY))
    refused(os.rename, "/data/directory", "/data/moved")
    refused(os.rename, "/data/file.txt", "/data/hardlink")
    refused(os.replace, "/data/file.txt", "/home/user/file.txt", numbers=(*REFUSED, errno.EXDEV))
    open("/home/user/mine", "w").close()
    refused(os.replace, "/home/user/mine", "/data/mine", numbers=(*REFUSED, errno.EXDEV))
    refused(os.chmod, "/data/file.txt", 0o777)
    refused(os.utime, "/data/file.txt", (1, 1))
    refused(os.truncate, "/data/file.txt", 0)
    print("ok")


def through_a_descriptor():
    # A descriptor opened for reading stays one.
    descriptor = os.open("/data/file.txt", os.O_RDONLY)
    refused(os.write, descriptor, b"x", numbers=(errno.EBADF,))
    refused(os.pwrite, descriptor, b"x", 0, numbers=(errno.EBADF,))
    refused(os.ftruncate, descriptor, 0, numbers=(errno.EINVAL, errno.EBADF, *REFUSED))
    refused(os.fchmod, descriptor, 0o777, numbers=(*REFUSED, errno.EBADF, errno.EIO))
    refused(os.utime, descriptor, (1, 1), numbers=(*REFUSED, errno.EBADF, errno.EIO))
    for path in [f"/dev/fd/{descriptor}", f"/proc/self/fd/{descriptor}"]:
        try:
            again = os.open(path, os.O_RDWR)
        except OSError:
            continue
        refused(os.write, again, b"x", numbers=(errno.EBADF, *REFUSED))
    import mmap

    try:
        view = mmap.mmap(descriptor, 0, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        view[:1] = b"X"
        view.flush()
    except (OSError, TypeError, ValueError):
        pass
    print("ok")


def ways_out():
    ways = [
        "absolute",
        "parent",
        "dangling",
        "root",
        "proc",
        "loop",
        "absolute-dir/inside.txt",
        "parent-dir/inside.txt",
        "root/etc/passwd",
        "proc/environ",
        "proc/root/etc/passwd",
        "../outside/secret.txt",
        "directory/../../outside/secret.txt",
        "./../outside/secret.txt",
        "inner-dir/../../outside/secret.txt",
        "directory/../../../etc/passwd",
        "..//outside/secret.txt",
    ]
    for way in ways:
        for flags in [os.O_RDONLY, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0), os.O_WRONLY, os.O_RDWR | os.O_CREAT]:
            try:
                descriptor = os.open(f"/data/{way}", flags)
            except OSError:
                continue
            # What opens is in the guest: its own root, never the host's.
            if way == "root":
                own = {"data", "dev", "home", "lib", "proc", "tmp", "usr", "workspace"}
                content = set(os.listdir(f"/data/{way}")) - own
            else:
                content = os.path.isfile(f"/data/{way}") and os.read(descriptor, 100)
            assert not content, (way, content)
            os.close(descriptor)
            if flags & os.O_CREAT:
                os.remove(f"/data/{way}")
    for way in ["/data/..", "/data/directory/../.."]:
        assert "outside" not in os.listdir(way), way
    for base in ["/data", "/data/directory", "/data/inner-dir"]:
        os.chdir(base)
        for up in range(1, 6):
            assert not os.path.exists("../" * up + "outside"), (base, up)
    for here, directories, files in os.walk("/data", followlinks=True):
        assert "secret.txt" not in files and "inside.txt" not in files, here
        if here.count("/") > 6:
            directories.clear()
    print("ok")


def special_files():
    # A pipe or a socket that could be opened would be a way to talk to processes of the host.
    for name in ["pipe", "socket"]:
        for flags in [os.O_RDONLY, os.O_RDONLY | os.O_NONBLOCK, os.O_WRONLY | os.O_NONBLOCK, os.O_RDWR]:
            refused(
                os.open,
                f"/data/{name}",
                flags,
                numbers=(*REFUSED, errno.ENXIO, errno.EINVAL, errno.EOPNOTSUPP, errno.EIO),
            )
    print("ok")


def odd_names():
    for name in [
        "\0",
        "a\0b",
        "x" * 256,
        "x/" * 3000,
        "//",
        "/",
        ".",
        "..",
        "\udcff",
        "file.txt/",
        "file.txt/.",
        "file.txt/..",
        "directory//nested.txt",
        "directory/./nested.txt",
        "directory/nested.txt/x",
        "\n",
        "~",
        "*",
        "%s%n",
    ]:
        try:
            open(f"/data/{name}", "rb").close()
        except (OSError, ValueError):
            pass
    print("ok")


def kept_open():
    # A thousand open files of the host, and a thousand more: the machine's descriptors are bounded, the server's unharmed.
    kept = []
    try:
        while True:
            kept.append(os.open("/data/file.txt", os.O_RDONLY))
    except OSError as error:
        assert error.errno == errno.EMFILE, error
    for descriptor in kept:
        os.close(descriptor)
    assert open("/data/file.txt").read() == "granted\n"
    print("ok")


globals()[sys.argv[1]]()
