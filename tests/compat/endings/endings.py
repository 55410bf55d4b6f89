"""How programs end: what each leaves in files, prints and exits with.

python endings.py list              JSON: the programs' texts, by name
python endings.py run DIRECTORY     runs each with this Python, in DIRECTORY/NAME; JSON: `[exit status, output]` by name
python endings.py files DIRECTORY   JSON: what the files below DIRECTORY/NAME hold, by name
"""

import bz2
import gzip
import json
import lzma
import os
import pathlib
import sqlite3
import subprocess
import sys
import zipfile

PROGRAMS = {
    "open_file": "f = open('log.txt', 'w')\nf.write('one line\\n')",
    "with_functions": "f = open('log.txt', 'w')\ndef write(): f.write('x\\n')\nwrite()",
    "written_by_a_finalizer": """
class Log:
    def __init__(self): self.file = open('log.txt', 'w')
    def __del__(self): self.file.write('bye')
log = Log()
def other(): pass
""",
    "finalizers": """
class A:
    def __init__(self, name): self.name = name
    def __del__(self): print('del', self.name, prefix)
prefix = 'p'
a, b = A(1), A(2)
b.me = b
c = [A(3)]
c.append(c)
""",
    "exit_functions": """
import atexit
class A:
    def __del__(self): print('del')
a = A()
atexit.register(print, 'first')
atexit.register(lambda: atexit.register(print, 'late'))
""",
    "exit_function_that_fails": "import atexit\natexit.register(print, 'on')\natexit.register(lambda: 1 / 0)",
    "threading_first": "import atexit, threading\natexit.register(print, 'atexit')\nthreading._register_atexit(print, 'threading')",
    "weak_references": """
import weakref
class A: pass
a, b = A(), A()
r = weakref.ref(a, lambda _: print('gone'))
weakref.finalize(b, print, 'finalized')
""",
    "generators": """
def numbers():
    try:
        yield 1
    finally:
        print('closed')
kept = numbers()
next(kept)
""",
    "own_modules": """
open('helper.py', 'w').write('''
class A:
    def __del__(self): print('module')
a = A()
f = open('module.txt', 'w')
f.write('m')
''')
import sys
sys.path.insert(0, '.')
import helper
""",
    "kept_by_a_library": """
import functools, json
class A:
    def __del__(self): print('del')
json.kept = A(), open('kept.txt', 'w')
json.kept[1].write('k')
@functools.lru_cache
def opened(name):
    f = open(name, 'w')
    f.write('c')
    return f
opened('cached.txt')
""",
    "kept_by_sys": "import builtins, sys\nsys.f = open('a', 'w')\nsys.f.write('1')\nbuiltins.g = open('b', 'w')\ng.write('2')",
    "standard_output_elsewhere": "import sys\nsys.stdout = open('out.txt', 'w')\nprint('to a file')",
    "layers": """
import io
text = io.TextIOWrapper(open('utf16.txt', 'wb'), encoding='utf-16-le')
text.write('hi')
both = io.BufferedRandom(io.FileIO('both.bin', 'w+'))
both.write(b'yy')
""",
    "csv": "import csv\ncsv.writer(open('a.csv', 'w', newline='')).writerows([[1, 2]])",
    "csv_kept": "import csv\nw = csv.writer(open('a.csv', 'w', newline=''))\ndef go(): w.writerow([1, 'é'])\ngo()",
    "gzip": "import gzip\nf = gzip.open('a.gz', 'wt')\nf.write('hello\\n' * 100)",
    "bz2": "import bz2\nf = bz2.open('a.bz2', 'wt')\nf.write('hello\\n' * 100)\ndef g(): pass",
    "lzma": "import lzma\nf = lzma.open('a.xz', 'wt')\nf.write('hello\\n' * 100)",
    "zip": "import zipfile\nz = zipfile.ZipFile('a.zip', 'w')\nz.writestr('inside', 'b')",
    "database": """
import sqlite3
c = sqlite3.connect('a.db')
c.execute('create table t(x)')
c.execute('insert into t values (1)')
c.commit()
c.execute('insert into t values (2)')
""",
    "temporary": """
import tempfile
file = tempfile.NamedTemporaryFile(dir='.')
file.write(b'x')
directory = tempfile.TemporaryDirectory(dir='.')
open(directory.name + '/inside', 'w').write('x')
""",
    "shelf": "import dbm.dumb, shelve\ns = shelve.Shelf(dbm.dumb.open('s', 'c'), 4, writeback=True)\ns['a'] = [1]\ns['a'].append(2)",
    "logging": """
import logging, logging.handlers
handler = logging.handlers.MemoryHandler(100, target=logging.FileHandler('log.txt'))
logging.getLogger().addHandler(handler)
logging.warning('kept until the end')
""",
    "executor": "import concurrent.futures\npool = concurrent.futures.ThreadPoolExecutor(2)\npool.submit(print, 'done')",
    "asynchronous_generator": """
import asyncio
async def numbers():
    try:
        yield 1
    finally:
        print('closed')
async def main():
    global kept
    kept = numbers()
    await anext(kept)
asyncio.run(main())
""",
    "finalizing": "import sys\nclass A:\n    def __del__(self): print(sys.is_finalizing())\na = A()\nprint(sys.is_finalizing())",
    "exit_status": "import sys\nf = open('a', 'w')\nf.write('1')\nsys.exit(3)",
    "exit_status_is_a_byte": "import sys\nf = open('a', 'w')\nf.write('1')\nsys.exit(256 + 7)",
    "exception": "f = open('a', 'w')\ndef fail():\n    g = open('b', 'w')\n    g.write('2')\n    f.write('1')\n    1 / 0\nfail()",
    "exit_in_an_exit_function": "import atexit, sys\nf = open('a', 'w')\nf.write('1')\natexit.register(sys.exit, 4)",
    "finalizer_that_fails": "class A:\n    def __del__(self): raise ValueError\na = A()\nf = open('a', 'w')\nf.write('1')",
    "at_once": "import os\nf = open('a', 'w')\nf.write('1')\nos._exit(5)",
}


def content(path):
    """What a file holds, told in a way that does not depend on versions of libraries."""
    data = path.read_bytes()
    if path.suffix in (".gz", ".bz2", ".xz"):
        return {".gz": gzip, ".bz2": bz2, ".xz": lzma}[path.suffix].decompress(data).decode()
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name).decode() for name in archive.namelist()}
    if path.suffix == ".db":
        return sqlite3.connect(path).execute("select x from t").fetchall()
    return data.hex() if path.suffix in (".dat", ".bin") else data.decode("utf-8", "backslashreplace")


def files(directory):
    found = [path for path in sorted(directory.rglob("*")) if path.is_file() and path.suffix != ".bak"]
    return {str(path.relative_to(directory)): content(path) for path in found}


def run(directory):
    result = {}
    for name, code in PROGRAMS.items():
        (directory / name).mkdir()
        command = [sys.executable, "-X", "utf8", "-B", "-c", code]
        ended = subprocess.run(command, cwd=directory / name, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        result[name] = [ended.returncode, ended.stdout.decode()]
    return result


def main(command, *arguments):
    directories = [pathlib.Path(argument) for argument in arguments]
    if command == "list":
        result = PROGRAMS
    elif command == "run":
        result = run(*directories)
    else:
        result = {name: files(directories[0] / name) for name in PROGRAMS}
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    os.environ.pop("PYTHONPATH", None)
    main(*sys.argv[1:])
