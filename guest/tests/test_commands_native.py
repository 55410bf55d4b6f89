"""Shell lines beside the real tools: the cases in `shell/`, whose answers were recorded from them.

`python test_commands_native.py --record` records with bash, GNU coreutils, sed, grep, find, diff and tar, gawk, jq, bc,
zip, unzip, xxd, file and tree of this machine. A file has one case after the other:

    $$$
    the script
    --> 0
    what it writes

The number is the exit status; `--> 0 .` says that what it writes has no newline at its end. A `$$$ differs: reason`
case is one in which we mean to differ: what stands there is our own answer.
"""

import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

import guest_path  # isort: split

import brumate_shell
from support import TESTS

PLACE = os.path.join(TESTS, "shell")
FILES = {
    "people.csv": "name,age,city\nAnn,31,Oslo\nBob,25,Rome\nCid,42,Oslo\nDot,25,Paris\n",
    "log.txt": "2024-01-01 10:00:01 INFO start\n2024-01-01 10:00:02 ERROR disk full\n2024-01-01 10:05:00 WARN slow query\n2024-01-02 09:00:00 INFO stop\n2024-01-02 09:30:00 ERROR disk gone\n",
    "data.json": '{"name": "shop", "open": true, "items": [{"id": 1, "name": "pen", "price": 1.5, "tags": ["a", "b"]}, {"id": 2, "name": "ink", "price": 10, "tags": []}, {"id": 3, "name": "pad", "price": 4.25, "tags": ["b"]}], "none": null}\n',
    "lines.jsonl": '{"k": "x", "n": 1}\n{"k": "y", "n": 2}\n{"k": "x", "n": 3}\n',
    "words.txt": "the quick brown fox\njumps over the lazy dog\nThe End\n",
    "numbers.txt": "10\n9\n2\n33\n1\n10\n",
    "poem.txt": "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n",
    "config.ini": "# settings\n[main]\nhost = localhost\nport=8080\n\n[extra]\ndebug = true\n",
    "old.txt": "alpha\nbeta\ngamma\ndelta\nepsilon\nzeta\neta\ntheta\n",
    "new.txt": "alpha\nbeta two\ngamma\ndelta\nepsilon\nzeta\ntheta\niota\n",
    "tabs.txt": "a\tb\tc\n1\t2\t3\n",
    "empty.txt": "",
    "src/main.py": "import os\n\ndef main():\n    print('hello')  # TODO\n",
    "src/util.py": "def add(a, b):\n    return a + b\n",
    "src/sub/deep.txt": "deep\n",
    "src/sub/.hidden": "hidden\n",
    "docs/readme.md": "# Title\n\nSome *text* here.\n",
    "with space.txt": "spaced\n",
}


def prepared():
    directory = tempfile.TemporaryDirectory()
    for name, text in FILES.items():
        path = os.path.join(directory.name, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o644)
    return directory


def environment(path):
    return {"NAME": "value", "HOME": "/root", "PATH": path, "LC_ALL": "C.UTF-8", "USER": "root", "TZ": "UTC"}


class Case:
    """One script, with what is expected of it."""

    def __init__(self, head, script, status, output):
        self.head = head
        self.script = script
        self.status = status
        self.output = output

    @property
    def differs(self):
        return "differs:" in self.head

    def written(self):
        end = "" if self.output.endswith("\n") or not self.output else " ."
        body = self.output + ("\n" if end else "")
        return f"{self.head}\n{self.script}\n--> {self.status}{end}\n{body}"


def cases(name):
    with open(os.path.join(PLACE, name), encoding="utf-8", newline="") as file:
        text = file.read()
    # Every case ends in a line's end, which is not the output's.
    for block in ("\n" + text + "$$$").split("\n$$$")[1:-1]:
        head, _, rest = ("$$$" + block).partition("\n")
        script, arrow, answer = rest.partition("\n--> ")
        status, newline, output = answer.partition("\n")
        if not arrow:
            yield Case(head, script.rstrip("\n"), None, "")
            continue
        number, _, dot = status.partition(" ")
        yield Case(head, script, int(number), output if dot or not newline else output + "\n")


def ours(script):
    """`(status, stdout, stderr)` in a directory of its own."""
    before, saved = os.getcwd(), dict(os.environ)
    out, err = io.StringIO(), io.StringIO()
    with prepared() as directory:
        try:
            os.chdir(directory)
            os.environ.clear()
            os.environ.update(environment(saved["PATH"]))
            time.tzset()
            status = brumate_shell.run(script, brumate_shell.Streams(io.BytesIO(), out, err))
        finally:
            os.chdir(before)
            os.environ.clear()
            os.environ.update(saved)
            time.tzset()
    return status, out.getvalue(), err.getvalue()


def real(script):
    """`(status, stdout)` of bash."""
    with prepared() as directory, tempfile.TemporaryDirectory() as tools:
        # `awk` is GNU's.
        os.symlink(shutil.which("gawk"), os.path.join(tools, "awk"))
        path = os.path.join(tools, "script")
        with open(path, "w", encoding="utf-8") as file:
            file.write(script)
        done = subprocess.run(
            ["bash", path],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=directory,
            env=environment(f"{tools}:/usr/local/bin:/usr/bin:/bin"),
            timeout=30,
        )
    return done.returncode, done.stdout.decode("utf-8", "surrogateescape")


def names():
    return sorted([name for name in os.listdir(PLACE) if name.endswith(".txt")])


class Native(unittest.TestCase):
    maxDiff = 4000

    def test_there_are_enough(self):
        self.assertGreaterEqual(sum([len(list(cases(name))) for name in names()]), 250)

    def test_as_the_real_tools(self):
        for name in names():
            for case in cases(name):
                # Python 3.11.2, which is Debian 12's, unpacks nothing safely.
                if "tar" in case.script and not hasattr(tarfile, "data_filter"):
                    continue
                with self.subTest(file=name, script=case.script):
                    status, out, err = ours(case.script)
                    self.assertEqual((out, status), (case.output, case.status), err)


def record():
    """Asks the real tools, and writes down what they say; our own answers where we mean to differ."""
    for name in names():
        found = list(cases(name))
        for case in found:
            if case.differs:
                case.status, case.output = ours(case.script)[:2]
            else:
                case.status, case.output = real(case.script)
        with open(os.path.join(PLACE, name), "w", encoding="utf-8", newline="") as file:
            file.write("".join([case.written() for case in found]))
        print(f"{name}: {len(found)} cases")


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        record()
    else:
        unittest.main()
