"""Packages from the host: what is asked for, and what `pip` and `micropip` make of the answers."""

import asyncio
import importlib.util
import io
import json
import marshal
import os
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock
import zipfile

import guest_path  # isort: split

import brumate_shell
import micropip
from _brumate import bytecode, channel, packages
from brumate_shell import Refused, Streams
from brumate_shell.tools.pip import requirements


class Host(unittest.TestCase):
    """A host that answers each request with the next of `answers`."""

    def setUp(self):
        ours, theirs = socket.socketpair()
        host = ours.makefile("rwb", buffering=0)
        self.requests, self.answers = [], []

        def serve():
            for line in host:
                self.requests.append(json.loads(line)["Install"])
                host.write(json.dumps(self.answers.pop(0)).encode() + b"\n")

        serving = threading.Thread(target=serve)
        serving.start()
        self.addCleanup(host.close)
        self.addCleanup(ours.close)
        self.addCleanup(serving.join)
        self.addCleanup(theirs.close)
        self.addCleanup(theirs.shutdown, socket.SHUT_RDWR)
        self.addCleanup(channel.open_channel, channel._State.fd)
        channel.open_channel(theirs.fileno())

    def sh(self, script):
        """Status, output and errors of a script."""
        out, err = io.StringIO(), io.StringIO()
        return brumate_shell.run(script, Streams(io.BytesIO(), out, err)), out.getvalue(), err.getvalue()

    def test_pip_asks_and_tells(self):
        self.answers = [{"installed": [["b-new", "2"], ["a.new", "1.5"]], "satisfied": [["pip", "1"], ["dep", "3"]]}]
        status, out, err = self.sh("pip install -U --pre --no-deps 'a.new>=1' pip sklearn 'c[x]; python_version>\"3\"'")
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(self.requests, [{
            "requirements": ["a.new>=1", "pip", "scikit-learn", 'c[x]; python_version>"3"'], "constraints": [],
            "upgrade": True, "pre": True, "no_deps": True, "keep_going": False,
        }])  # fmt: skip
        self.assertRegex(
            out, r"^Requirement already satisfied: pip (in \S+ )?\(1\)\nRequirement already satisfied: dep \(3\)\n"
        )
        self.assertTrue(out.endswith(
            "Installing collected packages: b-new, a.new\nSuccessfully installed a.new-1.5 b-new-2\n"
        ))  # fmt: skip

    def test_quiet_says_nothing(self):
        self.answers = [{"installed": [["a", "1"]], "satisfied": []}]
        self.assertEqual(self.sh("pip install -Uq a"), (0, "", ""))

    def test_a_refusal_is_an_error(self):
        self.answers = [{"error": "two\nlines", "installed": [], "satisfied": []}]
        self.assertEqual(self.sh("pip install https://example.org/x.whl"), (1, "", "ERROR: two\nERROR: lines\n"))

    def test_uninstalling(self):
        import importlib.metadata as metadata

        there = next(d for d in metadata.distributions() if d.metadata["Name"]).metadata["Name"]
        self.answers = [{"installed": [], "satisfied": [[there, "1"]]}, {"installed": [], "satisfied": []}]
        status, out, _ = self.sh(f"pip uninstall -y {there}")
        self.assertEqual(status, 0)
        self.assertIn("Successfully uninstalled", out)
        self.assertEqual(len(self.requests[0]["uninstall"]), 1)
        status, _, err = self.sh(f"pip uninstall -y {there} unheard-of")
        self.assertEqual(status, 1)
        self.assertIn("is part of this sandbox", err)
        self.assertIn("Skipping unheard-of", err)

    def test_micropip(self):
        self.answers = [
            {"installed": [["a", "1"]], "satisfied": []},
            {"error": "no such package", "installed": [], "satisfied": []},
            {"installed": [], "satisfied": [["a", "1"]]},
        ]
        asyncio.run(micropip.install(["a", "b==1"], True, False, pre=True, constraints=["c<2"]))
        self.assertEqual(self.requests[0]["requirements"], ["a", "b==1"])
        self.assertEqual(self.requests[0]["constraints"], ["c<2"])
        self.assertTrue(all(self.requests[0][key] for key in ("pre", "no_deps", "keep_going")))
        with self.assertRaisesRegex(ValueError, "no such package"):
            asyncio.run(micropip.install("missing"))
        micropip.uninstall("a")
        self.assertEqual(self.requests[2], {"requirements": [], "uninstall": ["a"]})
        with self.assertRaisesRegex(ValueError, "operator"):
            asyncio.run(micropip.install("a", index_urls=["https://example.org"]))
        self.assertEqual(len(self.requests), 3)

    def test_micropip_lists(self):
        listed = micropip.list()
        self.assertTrue(listed)
        name, found = next(iter(listed.items()))
        self.assertEqual((found.name, found.source), (name, "bundle"))
        self.assertIn(name, repr(listed))
        self.assertEqual(json.loads(micropip.freeze())["packages"], {})

    def test_a_change_is_seen_and_imports_nothing(self):
        code = (
            "import sys, tempfile\nsys.path[:0] = sys.argv[1:]\nfrom _brumate import packages\n"
            "with tempfile.TemporaryDirectory() as place:\n"
            "    sys.path.insert(0, place)\n"
            "    try: import newly_there\n"
            "    except ImportError: pass\n"
            "    finder, forgotten = sys.path_importer_cache[place], []\n"
            "    finder.invalidate_caches = lambda: forgotten.append(place)\n"
            "    before = set(sys.modules)\n    packages.packages_changed()\n"
            "    print(forgotten == [place], sorted(set(sys.modules) - before), 'importlib.metadata' in sys.modules)"
        )
        command = [sys.executable, "-I", "-c", code, *guest_path.ROOTS]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "True [] False\n")

    def test_bounds(self):
        with self.assertRaisesRegex(packages.InstallError, "more than"):
            packages.install(["a"] * (packages.MAX_REQUIREMENTS + 1))
        with self.assertRaisesRegex(packages.InstallError, "longer than"):
            packages.install(["ü" * packages.MAX_REQUIREMENT])
        self.assertEqual(self.requests, [])


class Bytecode(unittest.TestCase):
    def test_modules_are_compiled_as_python_wants_them(self):
        with tempfile.TemporaryDirectory() as directory:
            os.mkdir(os.path.join(directory, "p"))
            for name, text in (("p/__init__.py", b"x = 1\n"), ("b.py", b"def (:\n"), ("z.py", b"\0"), ("d.txt", b"")):
                with open(os.path.join(directory, name), "wb") as file:
                    file.write(text)
            target = io.BytesIO()
            path = list(sys.path)
            try:
                # As in the sandbox, wherever the bytecode of these tests goes.
                with unittest.mock.patch.object(sys, "pycache_prefix", None):
                    bytecode.make(target, directory)
            finally:
                sys.path[:] = path
            archive = zipfile.ZipFile(target)
            name = f"p/__pycache__/__init__.{sys.implementation.cache_tag}.pyc"
            self.assertEqual(archive.namelist(), [name])
            data = archive.read(name)
            self.assertEqual(data[:8], importlib.util.MAGIC_NUMBER + b"\1\0\0\0")
            self.assertEqual(data[8:16], importlib.util.source_hash(b"x = 1\n"))
            names = {}
            exec(marshal.loads(data[16:]), names)
            self.assertEqual(names["x"], 1)


class Requirements(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(directory.name)

    def write(self, name, text):
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)

    def test_files(self):
        self.write("r.txt", "a>=1  # why\n\n# all\nb[x] ; \\\n  python_version > '3'\n-r sub/more.txt\n--pre\n")
        self.write("sub/more.txt", "\ufeffc\n-c limits.txt\n")
        self.write("sub/limits.txt", "d<2\n")
        wanted = requirements.parse(["-r", "r.txt", "-csub/limits.txt", "--requirement=sub/more.txt", "e"])
        self.assertEqual(wanted.requirements, ["a>=1", "b[x] ;   python_version > '3'", "c", "c", "e"])
        self.assertEqual(wanted.constraints, ["d<2"] * 3)
        self.assertTrue(wanted.pre)

    def test_refusals(self):
        self.write("self.txt", "-r self.txt\n")
        self.write("index.txt", "--index-url https://example.org\na\n")
        self.write("hash.txt", "a==1 --hash=sha256:00\n")
        for arguments in (
            ["-r"], ["-r", "self.txt"], ["-r", "index.txt"], ["-r", "hash.txt"], ["-r", "https://example.org/r.txt"],
            ["-i", "https://example.org", "a"], ["--find-links=."], ["-e", "."], ["--target", "x", "a"], ["--dry-run"],
        ):  # fmt: skip
            with self.assertRaises(Refused, msg=arguments):
                requirements.parse(arguments)
        with self.assertRaises(OSError):
            requirements.parse(["-r", "missing.txt"])


if __name__ == "__main__":
    unittest.main()
