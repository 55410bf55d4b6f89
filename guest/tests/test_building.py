"""Source distributions: what archives are refused, what is read of them, and which answers their builds give."""

import io
import os
import sys
import tarfile
import tempfile
import types
import unittest
import zipfile
from unittest import mock

import guest_path  # isort: split

from _brumate import building

OWN = "[build-system]\nrequires = ['one']\nbuild-backend = 'od_backend:here'\nbackend-path = ['.']\n"


def zipped(files):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as writer:
        for name, content in files.items():
            writer.writestr(name, content)
    return archive.getvalue()


def tarred(files, kind=tarfile.REGTYPE, link=""):
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as writer:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname, member.size = kind, link, len(content)
            writer.addfile(member, io.BytesIO(content))
    return archive.getvalue()


class Building(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.place = os.path.realpath(directory.name)
        places = {"PLACE": self.place}
        for name, part in (("ARCHIVE", "archive"), ("SOURCE", "source"), ("WHEELS", "wheels")):
            places[name] = os.path.join(self.place, part)
        patched = mock.patch.multiple(building, **places)
        patched.start()
        self.addCleanup(patched.stop)
        self.addCleanup(os.chdir, os.getcwd())
        for state in (sys.path, sys.argv):
            self.addCleanup(state.__setitem__, slice(None), list(state))
        self.addCleanup(sys.modules.pop, "od_backend", None)

    def inspect(self, name, archive):
        with mock.patch.object(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(archive))):
            return building.inspect(name)

    def refused(self, name, archive, *parts):
        answer = self.inspect(name, archive)
        for part in parts:
            self.assertIn(part, answer["error"])
        self.assertFalse(answer["compiled"])
        self.assertEqual(sorted(set(os.listdir(self.place)) - {"source", "wheels"}), [])

    def test_archives_that_are_too_much_or_lead_elsewhere_are_refused(self):
        bomb = {"a-1/setup.py": b"\0" * (1 << 20)}
        with mock.patch.object(building, "SMALL", 1 << 16):
            for name, archive in (("a-1.zip", zipped(bomb)), ("a-1.tar.gz", tarred(bomb))):
                self.refused(name, archive, "unpacks to more than")
        many = {f"a-1/{number}": b"" for number in range(4)}
        with mock.patch.object(building, "MAX_ENTRIES", 3):
            for name, archive in (("a-1.zip", zipped(many)), ("a-1.tar.gz", tarred(many))):
                self.refused(name, archive, "more than 3 entries")
        for name in ("../x", "/x", "a-1/../../x", "..\\x", "c:/x"):
            self.refused("a-1.zip", zipped({name: b""}), "outside of its directory")
        self.refused("a-1.tar.gz", tarred({"a-1/../../x": b""}), "cannot be unpacked", "outside")
        self.refused("a-1.tar.gz", tarred({"a-1/x": b""}, tarfile.SYMTYPE, "../../x"), "cannot be unpacked")
        self.refused("a-1.tar.gz", tarred({"a-1/x": b""}, tarfile.CHRTYPE), "cannot be unpacked")
        link = zipfile.ZipInfo("a-1/x")
        link.external_attr = 0o120777 << 16
        self.refused("a-1.zip", zipped({link: b"/etc"}), "has a link")
        for name in ("a-1.zip", "a-1.tar.gz"):
            self.refused(name, b"none", "cannot be unpacked")
            made = zipped if name.endswith("zip") else tarred
            self.refused(name, made({"a-1/README": b""}), "no source distribution")

    def test_what_a_build_requires_is_read(self):
        for project, expected in (
            (None, building._LEGACY[1]),
            ("[project]\nname = 'a'\n", building._LEGACY[1]),
            ("[build-system]\nrequires = ['one', 'two>=2']\n", ["one", "two>=2"]),
        ):
            files = {"a-1/setup.py": b""} | ({} if project is None else {"a-1/pyproject.toml": project.encode()})
            self.assertEqual(self.inspect("a-1.tar.gz", tarred(files)), {"requires": expected, "metadata": None})
        for project, part in (
            ("[build-system", "cannot be read"),
            ("[build-system]\n", "no list `requires`"),
            ("[build-system]\nrequires = []\nbuild-backend = 3\n", "wrong type"),
            ("[build-system]\nrequires = []\nbackend-path = ['..']\n", "leads out of"),
        ):
            self.refused("a-1.tar.gz", tarred({"a-1/pyproject.toml": project.encode()}), part)
        answer = self.inspect(
            "a-1.zip", zipped({"a-1/pyproject.toml": b"[build-system]\nrequires = []\nbuild-backend = 'maturin'\n"})
        )
        self.assertEqual(answer, {"error": "its build backend is `maturin`", "compiled": True})

    def test_metadata_is_taken_where_it_is_static(self):
        head = "Metadata-Version: 2.2\nName: a\nVersion: 1\nRequires-Dist: b\n"
        files = {"a-1/PKG-INFO": f"{head}\nText".encode(), "a-1/setup.py": b""}
        self.assertEqual(self.inspect("a-1.zip", zipped(files))["metadata"], head)
        for changed in (
            {"a-1/PKG-INFO": head.replace("2.2", "2.1").encode()},
            {"a-1/PKG-INFO": f"{head}Dynamic: Requires-Dist\n".encode()},
            {"a-1/PKG-INFO": f"{head}Keywords: {'x' * building.MAX_HEADERS}\n".encode()},
            {"a-1/part.pyx": b""},
        ):
            self.assertIsNone(self.inspect("a-1.zip", zipped(files | changed))["metadata"], changed.keys())

    def build(self, backend):
        files = {"a-1/pyproject.toml": OWN.encode(), "a-1/od_backend.py": backend.encode()}
        self.assertEqual(self.inspect("a-1.zip", zipped(files)), {"requires": ["one"], "metadata": None})
        sys.modules.pop("od_backend", None)
        return building.requirements(), building.build()

    def test_a_build_answers_with_its_wheel_or_the_reason(self):
        good = (
            "import os, sys, types\n"
            "def more(settings): return ['two']\n"
            "def wheel(directory, settings, metadata):\n"
            "    assert '' not in sys.path and sys.path[0] == os.getcwd()\n"
            "    open(os.path.join(directory, 'a-1-py3-none-any.whl'), 'w').close()\n"
            "    return 'a-1-py3-none-any.whl'\n"
            "here = types.SimpleNamespace(get_requires_for_build_wheel=more, build_wheel=wheel)\n"
        )
        path = os.path.join(self.place, "wheels", "a-1-py3-none-any.whl")
        expected = {"requires": ["two"]}, {"path": path, "name": "a-1-py3-none-any.whl"}
        sys.path.insert(0, "")
        self.assertEqual(self.build(good), expected)
        for old, new, part in (
            ("return 'a-1-py3-none-any.whl'", "return 'b.whl'", "has not made it"),
            ("    return 'a-1-py3-none-any.whl'", "    sys.exit('enough')", "enough"),
            ("    open(", "    raise ValueError('no'); open(", "ValueError: no"),
        ):
            self.assertEqual(self.build(good.replace(old, new))[1], {"error": mock.ANY, "compiled": False})
            self.assertIn(part, building.build()["error"])
        compiler = "    raise FileNotFoundError(2, 'no', '/usr/bin/gcc'); open("
        answer = self.build(good.replace("    open(", compiler))[1]
        self.assertEqual(answer, {"error": "its build starts `/usr/bin/gcc`", "compiled": True})
        answer = self.inspect("a-1.zip", zipped({"a-1/pyproject.toml": OWN.replace("od_b", "od_no_b").encode()}))
        self.assertEqual(answer["requires"], ["one"])
        self.assertIn("is not among what its build requires", building.build()["error"])


if __name__ == "__main__":
    unittest.main()
