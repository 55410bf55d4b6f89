"""Forks of one booted interpreter must not share their randomness."""

import importlib.util
import os
import subprocess
import sys
import unittest

from guest_path import ROOTS

FORKS = """
import os, sys
sys.path[:0] = {roots!r}
import _brumate
_brumate.boot()
import random, tempfile, uuid, multiprocessing.process
{imports}
tempfile.gettempdir(); next(tempfile._get_candidate_names()); uuid.uuid1()
sys.stdout.flush()
for n in range(2):
    if os.fork() == 0:
        _brumate.reseed({entropy})
        assert uuid._node is None and uuid._last_timestamp is None
        print([random.random(), next(tempfile._get_candidate_names()), random.Random().random(),
               multiprocessing.process.current_process().authkey, {values}], flush=True)
        os._exit(0)
    os.wait()
"""


def forks(entropy, imports="", values=""):
    """What two forks drew."""
    code = FORKS.format(roots=ROOTS, entropy=entropy, imports=imports, values=values)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


class Reseeding(unittest.TestCase):
    def test_different_entropy(self):
        first, second = (eval(line) for line in forks("os.urandom(64)"))
        for a, b in zip(first, second, strict=True):
            self.assertNotEqual(a, b)

    def test_same_entropy_same_numbers(self):
        first, second = (eval(line) for line in forks("b'x' * 64"))
        self.assertEqual(first[0], second[0])
        self.assertEqual(first[3], second[3])

    @unittest.skipIf(importlib.util.find_spec("numpy") is None, "numpy is not installed")
    def test_numpy(self):
        with_numpy = ("import numpy.random", "float(numpy.random.rand()), float(numpy.random.default_rng().random())")
        first, second = (eval(line) for line in forks("os.urandom(64)", *with_numpy))
        self.assertNotEqual(first[4], second[4])
        self.assertNotEqual(first[5], second[5])

    @unittest.skipIf(importlib.util.find_spec("numpy") is None, "numpy is not installed")
    def test_numpy_seeded_on_purpose(self):
        seeded = (
            "import numpy.random; numpy.random.seed(3)",
            "float(numpy.random.rand()), float(numpy.random.normal())",
        )
        first, second = (eval(line) for line in forks("os.urandom(64)", *seeded))
        self.assertEqual(first[4:], second[4:])
        self.assertNotEqual(first[0], second[0])

    def test_seeded_on_purpose(self):
        # In one process: CPython itself seeds `random` anew after a fork.
        code = """
import os, sys
sys.path[:0] = {roots!r}
import _brumate
_brumate.boot()
import random
random.seed(3)
_brumate.reseed(os.urandom(64))
assert random.random() == random.Random(3).random()
random.seed()
_brumate.reseed(b"x" * 64)
drawn = random.random()
_brumate.reseed(b"x" * 64)
assert random.random() == drawn
"""
        subprocess.run([sys.executable, "-c", code.format(roots=ROOTS)], check=True)

    def test_short_entropy_does_not_fail(self):
        self.assertEqual(len(forks("b''")), 2)

    def test_boot_imports_neither_numpy_nor_matplotlib(self):
        code = f"import sys; sys.path[:0] = {ROOTS!r}; import _brumate; _brumate.boot(); print([m for m in ('numpy', 'matplotlib', 'pandas', 'pydantic') if m in sys.modules])"
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ}
        )
        self.assertEqual(done.stdout, "[]\n")


if __name__ == "__main__":
    unittest.main()
