"""Guests that break what the driver needs: the answer still comes, and the next run works."""

import unittest

import guest_path
from support import run

CASES = {
    "builtins emptied": "import builtins\nfor n in list(vars(builtins)):\n    if n != 'setattr': pass\nfor n in ['len','isinstance','compile','exec','str','print','getattr','type','__import__','__build_class__','BaseException','KeyboardInterrupt']:\n    vars(builtins)[n] = None\n[1]",
    "builtins deleted": "import builtins\nvars(builtins).clear()\n[1]",
    "json patched": "import json\njson.dumps = json.loads = json.JSONDecoder = json.decoder = None\n[1]",
    "traceback patched": "import traceback\ntraceback.TracebackException.__init__ = None\n1/0",
    "traceback emptied": "import traceback\nvars(traceback).clear()\n1/0",
    "linecache emptied": "import linecache\nlinecache.cache.clear()\nlinecache.getlines = linecache.checkcache = None\n1/0",
    "stdout closed": "import sys\nsys.stdout.close(); sys.stderr.close()\n[1]",
    "stdout detached": "import sys\nsys.stdout.detach(); sys.stderr.detach()\n[1]",
    "stdout None": "import sys\nsys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = None\n[1]",
    "stdout broken": "import sys\nclass X:\n    def __getattr__(self, name): raise ZeroDivisionError\nsys.stdout = sys.stderr = X()\n[1]",
    "trace": "import sys\ndef t(*a): raise KeyError('trace')\nsys.settrace(t)\n[1]",
    "profile": "import sys\ndef t(*a): raise KeyError('profile')\nsys.setprofile(t)\n",
    "excepthook": "import sys\nsys.excepthook = sys.unraisablehook = sys.displayhook = None\n1/0",
    "modules cleared": "import sys\nsys.modules.clear()\n[1]",
    "own modules gone": "import sys\nfor n in list(sys.modules):\n    if 'brumate' in n: sys.modules[n] = None\n[1]",
    "recursion limit": "import sys\nsys.setrecursionlimit(60)\n[1]",
    "recursion limit and error": "import sys\nsys.setrecursionlimit(60)\n1/0",
    "endless recursion": "def f(): f()\nf()",
    "endless repr": "class A:\n    def __repr__(self): return repr(self)\nA()",
    "str raises": "class E(Exception):\n    def __str__(self): raise ValueError\nraise E('x')",
    "str exits": "class E(Exception):\n    def __str__(self): raise SystemExit(3)\nraise E('x')",
    "str recursive": "class E(Exception):\n    def __str__(self): return str(self)\nraise E('x')",
    "str returns no str": "class E(Exception):\n    def __str__(self): return 5\nraise E('x')",
    "notes": "e = ValueError()\ne.__notes__ = [object(), 5]\nraise e",
    "notes broken": "class N:\n    def __iter__(self): raise KeyError\ne = ValueError()\ne.__notes__ = N()\nraise e",
    "metaclass": "class M(type):\n    def __getattribute__(self, name): raise KeyError(name)\nclass E(Exception, metaclass=M): pass\nraise E('x')",
    "metaclass of value": "class M(type):\n    def __getattribute__(self, name): raise KeyError(name)\nclass E(metaclass=M): pass\nE()",
    "context cycle": "a, b = ValueError('a'), ValueError('b')\na.__context__ = b\nb.__context__ = a\nraise a",
    "long chain": "e = None\nfor i in range(5000):\n    n = ValueError(i); n.__context__ = e; e = n\nraise e",
    "deep group": "e = ValueError(1)\nfor i in range(3000):\n    e = ExceptionGroup('g', [e])\nraise e",
    "wide group": "raise ExceptionGroup('g', [ValueError(i) for i in range(10000)])",
    "memory error": "raise MemoryError",
    "memory": "x = bytearray(1 << 60)",
    "keyboard interrupt": "raise KeyboardInterrupt",
    "generator exit": "raise GeneratorExit",
    "base exception": "class B(BaseException): pass\nraise B(1)",
    "tracebacklimit": "import sys\nsys.tracebacklimit = 'x'\n1/0",
    "signal handler": "import signal\ndef h(*a): raise KeyError('handler')\nsignal.signal(signal.SIGINT, h)\n[1]",
    "argv and path": "import sys\nsys.argv = sys.path = sys.meta_path = None\n[1]",
    "path cache": "import sys\nsys.path_importer_cache[1] = object()\nsys.path_importer_cache['x'] = None\n[1]",
    "main replaced": "import sys\nsys.modules['__main__'] = None\n[1]",
    "main deleted": "globals().clear()",
    "codecs": "import codecs\ncodecs.lookup = None\n[1]",
    "warnings": "import warnings, sys\nwarnings.simplefilter('error')\nwarnings.showwarning = None\n[1]",
    "gc": "import gc\ngc.disable()\ngc.callbacks.append(lambda *a: 1/0)\n[1]",
    "asyncio patched": "import asyncio\nasyncio.new_event_loop = asyncio.run = None\n[1]",
    "asyncio loop closed": "import asyncio\nasyncio.get_running_loop().stop()\nawait asyncio.sleep(1)",
    "fd closed": "import os\nos.close(1); os.close(2)\nprint('x')",
    "int digits": "10**5000",
    "print of surrogate": "print('\\udc80')",
    "evil key": "class K(str):\n    def __eq__(self, o): raise KeyError\n    __hash__ = str.__hash__\n{K('a'): 1}",
    "evil module name": "class A: pass\nA.__module__ = {}\nA()",
    "evil dict": "class D(dict):\n    def items(self): 1/0\n    def __iter__(self): 1/0\nD(a=1)",
    "weird dataclass": "import dataclasses\n@dataclasses.dataclass(slots=True)\nclass A:\n    x: int\na = A(1)\ndel a.x\na",
    "fields replaced": "class A: __dataclass_fields__ = 5\nA()",
    "serializer replaced": "class A: __pydantic_serializer__ = 5\nA()",
    "numpy impostor": "class ndarray: size = 1\nndarray.__module__ = 'numpy'\nndarray()",
    "datetime impostor": "class datetime: pass\ndatetime.__module__ = 'datetime'\ndatetime()",
    "enum broken": "import enum\nenum.EnumMeta = enum.Enum = None\n[1]",
    "os patched": "import os, sys\nos.write = os.path = os.environ = None\n1",
    "at the end of everything": "import atexit\natexit.register(lambda: exit(5))\n1/0",
    "sys attributes": "import sys\nfor n in ['stdin', 'path_hooks', 'warnoptions', 'flags', 'getrecursionlimit', 'setprofile']:\n    setattr(sys, n, None)\n1/0",
    "frames cleared": "import sys\nf = sys._getframe()\nwhile f:\n    try: f.clear()\n    except Exception: pass\n    f = f.f_back\n1",
    "driver's locals": "import sys\nf = sys._getframe()\nwhile f:\n    f.f_globals.get('__builtins__', {})\n    f = f.f_back\n1",
}


class Hostile(unittest.TestCase):
    pass


def add(name, code):
    def test(self):
        for script in (False, True):
            result = run(code, script=script)
            self.assertEqual(len(result.ended), 1)
            text = str(result.ended)
            for place in guest_path.ROOTS:
                self.assertNotIn(place, text)

    setattr(Hostile, "test_" + name.replace(" ", "_").replace("'", ""), test)


for _name, _code in CASES.items():
    add(_name, _code)

# What only affects the run itself: the next one in the same interpreter works.
RECOVERS = [
    "builtins emptied",
    "json patched",
    "stdout closed",
    "stdout detached",
    "stdout None",
    "trace",
    "profile",
    "excepthook",
    "recursion limit",
    "endless recursion",
    "long chain",
    "memory error",
    "main replaced",
    "main deleted",
    "signal handler",
    "keyboard interrupt",
    "tracebacklimit",
]


class Recovery(unittest.TestCase):
    def test_next_run(self):
        for name in RECOVERS:
            with self.subTest(case=name):
                result = run(CASES[name], "print('ok')\n[1, 2]")
                self.assertEqual(result.value, [1, 2])
                self.assertTrue(result.output.endswith("ok\n"), result.output)

    def test_session_keeps_a_patch_but_reports_without_it(self):
        result = run("import builtins\nbuiltins.len = lambda x: 42", "len([])", mode="cell")
        self.assertEqual(result.value, 42)


class Endings(unittest.TestCase):
    def expect(self, name, ending, **options):
        ended = run(CASES[name], **options).ended
        self.assertEqual(ended, ending)

    def test_results_survive(self):
        returned = {"Returned": {"json": "[\n  1\n]", "is_str": False}}
        for name in (
            "builtins emptied",
            "json patched",
            "stdout closed",
            "recursion limit",
            "warnings",
            "asyncio patched",
        ):
            with self.subTest(case=name):
                self.expect(name, returned)

    def test_names_survive(self):
        for name, ename in [
            ("traceback patched", "ZeroDivisionError"),
            ("traceback emptied", "ZeroDivisionError"),
            ("str raises", "E"),
            ("str exits", "E"),
            ("str recursive", "E"),
            ("metaclass", "E"),
            ("memory error", "MemoryError"),
            ("endless recursion", "RecursionError"),
            ("endless repr", "RecursionError"),
            ("deep group", "ExceptionGroup"),
            ("tracebacklimit", "ZeroDivisionError"),
            ("base exception", "B"),
            ("recursion limit and error", "ZeroDivisionError"),
            ("linecache emptied", "ZeroDivisionError"),
        ]:
            with self.subTest(case=name):
                raised = run(CASES[name]).raised
                self.assertEqual(raised["ename"], ename)

    def test_long_traceback_is_bounded(self):
        from _brumate import reports

        raised = run("raise ValueError('x' * 10_000_000)").raised
        self.assertLess(len(raised["traceback"]), reports.MAX_TRACEBACK_CHARS + 200)
        self.assertLess(len(raised["evalue"]), reports.MAX_MESSAGE_CHARS + 200)
        self.assertIn("characters left out", raised["traceback"])
        self.assertTrue(raised["traceback"].startswith("Traceback"))

    def test_many_frames(self):
        code = "import sys\nsys.setrecursionlimit(10**6)\ndef f(n):\n    if n: f(n - 1)\n    else: 1/0\ndef g(n):\n    if n: h(n - 1)\n    else: f(2)\ndef h(n): g(n)\ng(60_000)"
        raised = run(code).raised
        self.assertEqual(raised["ename"], "ZeroDivisionError")
        self.assertIn("in <module>", raised["traceback"])
        self.assertTrue(raised["traceback"].endswith("ZeroDivisionError: division by zero\n"))


if __name__ == "__main__":
    unittest.main()
