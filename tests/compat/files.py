"""The file system behaves as Linux's does."""

import errno
import fcntl
import glob
import os
import pathlib
import shutil
import stat
import tarfile
import tempfile

from checks import equal, raises

CLOCK_SLACK_NS = 5_000_000_000


class Scratch:
    """A new directory that is the working directory meanwhile."""

    def __enter__(self):
        self.before = os.getcwd()
        self.path = tempfile.mkdtemp()
        os.chdir(self.path)
        return self.path

    def __exit__(self, *error):
        os.chdir(self.before)
        shutil.rmtree(self.path)
        assert not os.path.exists(self.path)


def write(path, text="x"):
    with open(path, "w") as file:
        file.write(text)


def read(path):
    with open(path) as file:
        return file.read()


def test_rename_replaces_and_refuses():
    with Scratch():
        write("a", "new")
        write("b", "old")
        inode = os.stat("a").st_ino
        with open("b") as opened:
            os.rename("a", "b")
            equal((read("b"), opened.read(), os.listdir()), ("new", "old", ["b"]))
        equal(os.stat("b").st_ino, inode)
        os.makedirs("full/sub")
        os.mkdir("empty")
        os.rename("full", "empty")
        equal(sorted(os.listdir()), ["b", "empty"])
        os.mkdir("other")
        with raises(OSError, error="ENOTEMPTY"):
            os.rename("other", "empty")
        with raises(IsADirectoryError):
            os.rename("b", "other")
        with raises(NotADirectoryError):
            os.rename("other", "b")
        with raises(OSError, error="EINVAL"):
            os.rename("empty", "empty/sub/inside")
        with raises(FileNotFoundError):
            os.rename("nothing", "b")
        directory = os.open("empty", os.O_RDONLY)
        os.rename("b", "c", dst_dir_fd=directory)
        os.close(directory)
        equal(read("empty/c"), "new")


def test_symbolic_links():
    with Scratch():
        write("file", "text")
        os.mkdir("dir")
        os.symlink("file", "link")
        os.symlink("../file", "dir/up")
        os.symlink("loop", "loop")
        os.symlink("nothing", "dangling")
        equal((os.readlink("link"), read("link"), read("dir/up")), ("file", "text", "text"))
        equal(os.path.realpath("dir/up"), os.path.realpath("file"))
        assert os.path.islink("dangling") and not os.path.exists("dangling")
        assert stat.S_ISLNK(os.lstat("link").st_mode) and os.lstat("link").st_size == 4
        with raises(OSError, error="ELOOP"):
            open("loop")
        with raises(OSError, error="ELOOP"):
            os.open("link", os.O_RDONLY | os.O_NOFOLLOW)
        with raises(FileExistsError):
            os.symlink("x", "link")
        with raises(OSError, error="EINVAL"):
            os.readlink("file")
        write("dangling", "made")
        equal(read("nothing"), "made")
        os.unlink("link")
        equal(read("file"), "text")


def test_hard_links_are_names_of_one_file():
    with Scratch():
        write("a", "content")
        os.link("a", "b")
        os.mkdir("dir")
        pathlib.Path("dir/c").hardlink_to("a")
        equal([os.stat(name).st_nlink for name in ("a", "b", "dir/c")], [3, 3, 3])
        assert os.path.samefile("a", "dir/c")
        with open("b", "a") as file:
            file.write(" and more")
        equal(read("dir/c"), "content and more")
        os.unlink("a")
        equal((os.stat("b").st_nlink, read("b")), (2, "content and more"))
        refused = {("none", "x"): "ENOENT", ("b", "b"): "EEXIST", ("dir", "x"): "EPERM", (os.__file__, "x"): "EXDEV"}
        for names, error in refused.items():
            with raises(OSError, error=error):
                os.link(*names)
        with raises(OSError, "'none' -> 'x'"):
            os.link("none", "x")
        # By default a symbolic link is linked itself, as by link(2).
        os.symlink("nothing", "soft")
        os.link("soft", "soft2")
        equal((os.readlink("soft2"), os.lstat("soft").st_nlink), ("nothing", 2))
        directory = os.open("dir", os.O_RDONLY)
        os.link("c", "d", src_dir_fd=directory, dst_dir_fd=directory)
        os.close(directory)
        assert os.path.samefile("b", "dir/d") and os.link in os.supports_dir_fd
        # An archive keeps the names of one file.
        with tarfile.open("links.tar", "w") as archive:
            archive.add("b")
            archive.add("dir/c")
        os.mkdir("out")
        with tarfile.open("links.tar") as archive:
            archive.extractall("out", filter="data")
        assert os.path.samefile("out/b", "out/dir/c")


def test_locks_exclude_other_openings():
    with Scratch():
        write("file", "")
        with open("file", "r+") as one, open("file") as two:
            fcntl.flock(one, fcntl.LOCK_EX)
            fcntl.flock(os.dup(one.fileno()), fcntl.LOCK_EX | fcntl.LOCK_NB)
            for operation in (fcntl.LOCK_SH, fcntl.LOCK_EX):
                with raises(BlockingIOError):
                    fcntl.flock(two, operation | fcntl.LOCK_NB)
                # Nothing runs meanwhile that could give it back.
                with raises(OSError, error="EDEADLOCK"):
                    fcntl.flock(two.fileno(), operation)
            fcntl.flock(one, fcntl.LOCK_UN)
            fcntl.flock(two, fcntl.LOCK_SH)
            fcntl.flock(one, fcntl.LOCK_SH | fcntl.LOCK_NB)
            with raises(BlockingIOError):
                fcntl.flock(one, fcntl.LOCK_EX | fcntl.LOCK_NB)
            two.close()
            fcntl.flock(one, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with raises(OSError, error="EINVAL"):
                fcntl.flock(one, 3)
        # Locks of a process exclude nobody in it, and want a file that is open for what they lock.
        with open("file", "r+") as one, open("file", "r+") as two, open("file") as readable:
            fcntl.lockf(one, fcntl.LOCK_EX)
            fcntl.lockf(two, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(readable, fcntl.LOCK_SH)
            with raises(OSError, error="EBADF"):
                fcntl.lockf(readable, fcntl.LOCK_EX)


def test_permissions_are_kept_and_the_user_is_root():
    with Scratch():
        before = os.umask(0o027)
        write("file")
        os.mkdir("dir")
        os.umask(before)

        def mode(path):
            return stat.S_IMODE(os.stat(path).st_mode)

        equal((mode("file"), mode("dir")), (0o640, 0o750))
        os.chmod("file", 0o4711)
        equal(mode("file"), 0o4711)
        with open("file", "r+") as file:
            os.fchmod(file.fileno(), 0o600)
        equal(mode("file"), 0o600)
        shutil.copymode("dir", "file")
        equal(mode("file"), 0o750)
        os.chown("file", 5, 6)
        with raises(FileNotFoundError):
            os.chmod("nothing", 0o600)
        descriptor = os.open("made", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400)
        os.write(descriptor, b"written although read-only from now on")
        os.close(descriptor)
        equal(mode("made"), 0o400)


def test_times():
    with Scratch():
        write("file")
        now = os.stat("file").st_mtime_ns
        os.utime("file", ns=(1_000_001_000, 2_123_456_000))
        found = os.stat("file")
        equal((found.st_atime_ns, found.st_mtime_ns), (1_000_001_000, 2_123_456_000))
        descriptor = os.open("file", os.O_RDONLY)
        os.utime(descriptor, ns=(1_000_000_001, 2_123_456_789))
        found = os.fstat(descriptor)
        equal((found.st_atime_ns, found.st_mtime_ns), (1_000_000_001, 2_123_456_789))
        os.close(descriptor)
        os.utime("file", (4, 5.5))
        equal(os.stat("file").st_mtime, 5.5)
        with open("file", "a") as file:
            file.write("more")
        assert abs(os.stat("file").st_mtime_ns - now) < 60 * CLOCK_SLACK_NS
        os.utime("file")
        assert os.stat("file").st_mtime_ns >= now
        os.utime(".", (1, 1))
        write("another")
        assert os.stat(".").st_mtime > 1, "a new file changes its directory"
        os.utime(".", (1, 1))
        os.unlink("another")
        assert os.stat(".").st_mtime > 1, "so does one that goes"
        shutil.copy2("file", "copy")
        equal(os.stat("copy").st_mtime_ns // 1000, os.stat("file").st_mtime_ns // 1000)


def test_scandir_and_walk():
    with Scratch() as top:
        os.makedirs("a/b/c")
        write("a/file", "12345")
        os.symlink("file", "a/link")
        os.symlink("b", "a/dirlink")
        found = {}
        with os.scandir("a") as entries:
            for entry in entries:
                found[entry.name] = (entry.is_dir(), entry.is_file(), entry.is_symlink(), entry.inode())
        inode = {name: os.lstat(f"a/{name}").st_ino for name in found}
        equal(
            found,
            {
                "b": (True, False, False, inode["b"]),
                "file": (False, True, False, inode["file"]),
                "link": (False, True, True, inode["link"]),
                "dirlink": (True, False, True, inode["dirlink"]),
            },
        )
        directory = os.open("a", os.O_RDONLY)
        equal(sorted(os.listdir(directory)), ["b", "dirlink", "file", "link"])
        equal(os.stat("file", dir_fd=directory).st_size, 5)
        os.close(directory)
        for number in range(500):
            write(f"a/b/{number:04}")
        names = [entry.name for entry in os.scandir("a/b")]
        equal((len(names), len(set(names))), (501, 501))
        equal(sorted(os.path.relpath(path, top) for path, _, _ in os.walk(top)), [".", "a", "a/b", "a/b/c"])
        equal(len(glob.glob("a/b/**/00*[13579]", recursive=True)), 50)
        equal(sorted(path.name for path in pathlib.Path("a").glob("*link")), ["dirlink", "link"])
        listed = 0
        for entry in os.scandir("a/b"):
            if entry.is_file():
                os.unlink(entry.path)
                listed += 1
        equal((listed, os.listdir("a/b")), (500, ["c"]))


def test_open_flags_and_positions():
    with Scratch():
        with raises(FileNotFoundError):
            open("nothing")
        with raises(FileNotFoundError):
            open("")
        with raises(IsADirectoryError):
            open(".", "w")
        with raises(NotADirectoryError):
            write("file") or open("file/below")
        with raises(FileExistsError):
            open("file", "x")
        with raises(OSError, error="ENAMETOOLONG"):
            open("n" * 5000)
        with raises(ValueError, "embedded null"):
            open("a\0b")
        with raises(OSError, error="ENOTDIR"):
            os.open("file", os.O_RDONLY | os.O_DIRECTORY)
        with raises(OSError, error="EBADF"):
            os.write(os.open("file", os.O_RDONLY), b"x")
        with open("file", "w+b") as file:
            file.write(b"0123456789")
            file.seek(-3, os.SEEK_END)
            equal((file.read(2), file.tell()), (b"78", 9))
            file.truncate(4)
            file.seek(8)
            file.write(b"!")
            file.flush()
            equal(os.pread(file.fileno(), 100, 2), b"23\0\0\0\0!")
            os.pwrite(file.fileno(), b"AB", 1)
            equal(os.fstat(file.fileno()).st_size, 9)
        first, second = os.open("file", os.O_RDWR | os.O_APPEND), os.open("file", os.O_RDWR)
        os.write(first, b"end")
        equal(os.lseek(second, 0, os.SEEK_END), 12)
        copy = os.dup(second)
        os.lseek(copy, 1, os.SEEK_SET)
        equal(os.read(second, 2), b"AB")
        for descriptor in (first, second, copy):
            os.close(descriptor)
        with raises(OSError, error="EBADF"):
            os.read(copy, 1)


def test_deleted_files_stay_readable():
    with Scratch():
        with open("file", "w+") as file:
            file.write("still here")
            file.flush()
            os.unlink("file")
            assert not os.path.exists("file")
            file.seek(0)
            equal((file.read(), os.fstat(file.fileno()).st_nlink), ("still here", 0))


def test_temporary_files():
    with tempfile.TemporaryFile("w+") as file:
        file.write("a")
        file.seek(0)
        equal(file.read(), "a")
    with tempfile.NamedTemporaryFile(suffix=".txt") as file:
        file.write(b"ab")
        file.flush()
        equal(os.path.getsize(file.name), 2)
        equal(stat.S_IMODE(os.stat(file.name).st_mode), 0o600)
        name = file.name
    assert not os.path.exists(name)
    with tempfile.SpooledTemporaryFile(max_size=4) as file:
        file.write(b"longer than that")
        file.seek(0)
        equal(file.read(6), b"longer")
    with tempfile.TemporaryDirectory() as directory:
        os.makedirs(os.path.join(directory, "a/b/c"))
        equal(stat.S_IMODE(os.stat(directory).st_mode), 0o700)
    assert not os.path.exists(directory)
    equal(len({tempfile.mktemp() for _ in range(100)}), 100)


def test_copies_and_trees():
    with Scratch():
        os.makedirs("from/sub")
        write("from/sub/file", "data" * 100_000)
        os.symlink("sub/file", "from/link")
        shutil.copytree("from", "to", symlinks=True)
        equal((read("to/link"), os.readlink("to/link")), ("data" * 100_000, "sub/file"))
        shutil.move("to/sub", "moved")
        equal(sorted(os.listdir("to")), ["link"])
        equal(shutil.disk_usage(".").total >= shutil.disk_usage(".").free > 0, True)
        archive = shutil.make_archive("packed", "gztar", "from")
        shutil.unpack_archive(archive, "unpacked", filter="data")
        equal(read("unpacked/sub/file"), "data" * 100_000)


def test_names_are_bytes_and_unicode():
    with Scratch():
        for name in ("æøå", "日本語 🐍", " lead", "new\nline", "x" * 255):
            write(name, name)
            assert name in os.listdir() and read(name) == name
        with raises(OSError, error="ENAMETOOLONG"):
            write("x" * 256)
        open(b"\xff\xfe", "w").close()
        assert b"\xff\xfe" in os.listdir(b".") and "\udcff\udcfe" in os.listdir()


def test_pipes():
    reader, writer = os.pipe()
    os.write(writer, b"through")
    equal(os.read(reader, 100), b"through")
    os.close(writer)
    equal(os.read(reader, 1), b"")
    os.close(reader)
    with raises(OSError, error="EBADF"):
        os.fstat(reader)


def test_errors_have_their_numbers():
    equal(os.strerror(errno.ENOENT), "No such file or directory")
    with Scratch():
        os.mkdir("dir")
        for expected, call in [
            ("EEXIST", lambda: os.mkdir("dir")),
            ("ENOENT", lambda: os.mkdir("no/dir")),
            ("ENOENT", lambda: os.rmdir("no")),
            ("EISDIR", lambda: os.unlink("dir")),
            ("EBADF", lambda: os.close(999)),
            ("ENOENT", lambda: os.chdir("no")),
            ("EINVAL", lambda: os.lseek(os.open(".", os.O_RDONLY), 0, 99)),
        ]:
            with raises(OSError, error=expected):
                call()


def test_devices_and_read_only_places():
    with open("/dev/null", "r+b", buffering=0) as null:
        equal((null.write(b"gone"), null.read(1)), (4, b""))
    with open("/dev/urandom", "rb") as random:
        assert random.read(16) != random.read(16)
    for path in (os.__file__, "/lib/python3.14/new"):
        with raises(OSError, error="EROFS"):
            open(path, "a")
    assert os.path.isdir("/tmp") and os.access("/tmp", os.W_OK) and not os.access(os.__file__, os.W_OK)
