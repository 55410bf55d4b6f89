"""sqlite3, mmap, archives and pickles on files."""

import bz2
import dataclasses
import gzip
import lzma
import mmap
import os
import pickle
import sqlite3
import tarfile
import tempfile
import zipfile

from compression import zstd

from checks import equal, raises


def test_a_database_on_a_file():
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "data.db")
        database = sqlite3.connect(path)
        database.executescript("create table t(a integer primary key, b text); create index i on t(b);")
        with database:
            database.executemany("insert into t(b) values (?)", ((f"row {n}",) for n in range(10_000)))
        with raises(ZeroDivisionError):
            with database:
                database.execute("delete from t")
                1 // 0
        equal(database.execute("select count(*), max(b) from t").fetchone(), (10_000, "row 9999"))
        with raises(sqlite3.IntegrityError, "UNIQUE"):
            database.execute("insert into t(a) values (1)")
        database.create_function("twice", 1, lambda value: value * 2)
        equal(database.execute("select twice(21)").fetchone(), (42,))
        database.create_aggregate("joined", 1, Joined)
        equal(database.execute("select joined(b) from t where a < 4").fetchone(), ("row 0|row 1|row 2",))
        database.close()
        assert os.path.getsize(path) > 100_000 and os.listdir(directory) == ["data.db"]
        database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        with raises(sqlite3.OperationalError, "readonly"):
            database.execute("delete from t")
        copy = sqlite3.connect(":memory:")
        database.backup(copy)
        equal(copy.execute("select count(*) from t").fetchone(), (10_000,))
        equal(copy.execute("pragma integrity_check").fetchone(), ("ok",))
        copy.close()
        database.close()


class Joined:
    """An SQL aggregate."""

    def __init__(self):
        self.parts = []

    def step(self, part):
        self.parts.append(part)

    def finalize(self):
        return "|".join(self.parts)


def test_two_connections_to_one_file():
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "data.db")
        first, second = sqlite3.connect(path, autocommit=True), sqlite3.connect(path, autocommit=True)
        first.execute("create table t(a)")
        first.execute("insert into t values (1)")
        equal(second.execute("select a from t").fetchall(), [(1,)])
        second.execute("vacuum")
        first.close()
        second.close()


def test_sqlite_features():
    database = sqlite3.connect(":memory:")
    equal(database.execute("select json_extract('{\"a\": [1, 2]}', '$.a[1]')").fetchone(), (2,))
    database.execute("create virtual table words using fts5(text)")
    database.execute("insert into words values ('the quick fox')")
    equal(database.execute("select count(*) from words('quick')").fetchone(), (1,))
    first, second = (database.execute("select randomblob(16)").fetchone()[0] for _ in range(2))
    assert first != second
    database.close()


def test_memory_maps():
    with tempfile.TemporaryFile() as file:
        file.write(b"0123456789" * 10_000)
        file.flush()
        with mmap.mmap(file.fileno(), 0) as mapped:
            equal((len(mapped), mapped[:3], mapped.find(b"90"), mapped.rfind(b"0")), (100_000, b"012", 9, 99_990))
            mapped[5:8] = b"xyz"
            mapped.flush()
        file.seek(0)
        equal(file.read(10), b"01234xyz89")
        with mmap.mmap(file.fileno(), 10, access=mmap.ACCESS_READ) as mapped:
            with raises(TypeError):
                mapped[0] = 1
        with mmap.mmap(file.fileno(), 10, access=mmap.ACCESS_COPY) as mapped:
            mapped[0:1] = b"!"
        file.seek(0)
        equal(file.read(1), b"0")
        with mmap.mmap(file.fileno(), 10, offset=mmap.ALLOCATIONGRANULARITY) as mapped:
            equal(mapped[:4], (b"0123456789" * 10_000)[65536 % 10 :][:4])
    with mmap.mmap(-1, 1 << 20) as anonymous:
        anonymous.seek(1000)
        anonymous.write(b"memory")
        equal(anonymous[1000:1006], b"memory")
    with raises(ValueError), tempfile.TemporaryFile() as empty:
        mmap.mmap(empty.fileno(), 0)


def test_zip_archives():
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "a.zip")
        kinds = {
            "stored": zipfile.ZIP_STORED,
            "deflated": zipfile.ZIP_DEFLATED,
            "bz2": zipfile.ZIP_BZIP2,
            "lzma": zipfile.ZIP_LZMA,
            "zstd": zipfile.ZIP_ZSTANDARD,
        }
        with zipfile.ZipFile(path, "w") as archive:
            for name, kind in kinds.items():
                archive.writestr(f"dir/{name} ü", name * 10_000, kind)
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr("later", b"x")
            equal(archive.testzip(), None)
        with zipfile.ZipFile(path) as archive:
            archive.extractall(directory)
            equal(archive.read("dir/lzma ü"), b"lzma" * 10_000)
        equal(os.path.getsize(os.path.join(directory, "dir/zstd ü")), 40_000)
        data = bytearray(open(path, "rb").read())
        data[data.index(b"storedstored")] ^= 1
        with open(path, "wb") as file:
            file.write(data)
        with raises(zipfile.BadZipFile, "Bad CRC-32"), zipfile.ZipFile(path) as archive:
            archive.read("dir/stored ü")
        with open(os.path.join(directory, "module_in_zip.py"), "w") as file:
            file.write("ANSWER = 42\n")
        import sys

        with zipfile.ZipFile(path, "w") as archive:
            archive.write(os.path.join(directory, "module_in_zip.py"), "module_in_zip.py")
        sys.path.insert(0, path)
        import module_in_zip

        equal((module_in_zip.ANSWER, sys.path.pop(0)), (42, path))


def test_compression_and_tar():
    data = os.urandom(1000) * 100
    for module in (bz2, gzip, lzma, zstd):
        packed = module.compress(data)
        assert len(packed) < 50_000 or module is gzip or module is bz2, module
        equal(module.decompress(packed), data)
        with tempfile.NamedTemporaryFile() as file:
            with module.open(file.name, "wb") as out:
                out.write(data)
            with module.open(file.name) as back:
                equal(back.read(), data)
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        with open("file", "wb") as file:
            file.write(data)
        os.chmod("file", 0o741)
        os.symlink("file", "link")
        for mode in ("w:gz", "w:xz", "w:zst"):
            with tarfile.open("a.tar", mode) as archive:
                archive.add("file")
                archive.add("link")
            with tarfile.open("a.tar") as archive:
                archive.extractall("out", filter="tar")
            equal((os.readlink("out/link"), os.stat("out/file").st_mode & 0o777), ("file", 0o741))
        os.chdir("/")


@dataclasses.dataclass
class Point:
    """What is pickled."""

    x: int
    y: list


def test_pickles():
    points = [Point(n, [n] * n) for n in range(100)]
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        equal(pickle.loads(pickle.dumps(points, protocol)), points)
