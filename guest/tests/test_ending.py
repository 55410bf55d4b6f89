"""How programs inside a session end, and what a cell that awaits leaves to the next."""

import unittest

from support import cells, run

try:
    import IPython  # noqa: F401
except ImportError:
    IPython = None

SCRIPT = """
import atexit, decimal, logging, os, sys, threading, weakref
class A:
    def __del__(self): print("del", self.name)
a, b = A(), A()
a.name, b.name = 1, 2
b.me = b
f = open("out.txt", "w")
f.write("written")
def used(): return f
weakref.finalize(a, print, "finalized")
threading._register_atexit(print, "threading")
atexit.register(print, "exit function")
logging.basicConfig(filename="log.txt")
logging.warning("logged")
decimal.getcontext().prec = 3
sys.excepthook = print
os.environ["FROM_SCRIPT"] = "1"
os.chdir("..")
print("end")
"""


@unittest.skipIf(IPython is None, "needs IPython")
class ScriptsOfSessions(unittest.TestCase):
    def test_a_script_ends_and_the_session_does_not(self):
        result = cells(
            f"open('s.py', 'w').write({SCRIPT!r})\nimport os\nhere = os.getcwd()\nx = 5\nmine = open('mine.txt', 'w')",
            "!python s.py",
            "print(open('out.txt').read(), open('log.txt').read(), end='')\n"
            "import atexit, decimal, logging, sys\n"
            "print(x, mine.closed, os.getcwd() == here, decimal.getcontext().prec, logging.getLogger().handlers)\n"
            "print(sys.excepthook is print, atexit.register, 'FROM_SCRIPT' in os.environ, __name__)",
            "open('t.py', 'w').write(\"import atexit\\natexit.register(print, 'bye')\\ng = open('g.txt', 'w')\\ng.write('g')\")\n"
            "%run t.py",
            "print(open('g.txt').read(), g.closed)\n"
            "!python -c \"print(open('nothing', 'w').write('1'), len(__builtins__.__name__))\"",
        )
        ended = "end\nexit function\nthreading\nfinalized\ndel 1\ndel 2\n"
        after = "written WARNING:root:logged\n5 False True 28 []\nFalse <built-in function register> False __main__\n"
        lines = sorted(ended.splitlines()), (after + "bye\ng False\n1 8\n").splitlines()
        got = result.output.splitlines()
        count = len(lines[0])
        self.assertEqual((sorted(got[:count]), got[count:]), lines)

    def test_modules_of_a_script(self):
        result = cells(
            "open('helper.py', 'w').write('class A:\\n    def __del__(self): print(\"module\")\\na = A()')",
            "open('s.py', 'w').write('import helper, sys\\nsys.modules[0] = 1')\n!python s.py\nprint(1)",
            "import sys\nprint('helper' in sys.modules, 0 in sys.modules)\nimport helper\nprint(type(helper.a).__name__)",
        )
        self.assertEqual(result.output, "module\n1\nFalse False\nA\n")

    def script(self, script, *codes, line="!python s.py", before=""):
        """Runs a script in a session, and cells after it. Returns what all of it prints."""
        return cells(f"{before}\n_ = open('s.py', 'w').write({script!r})", line, *codes).output

    def test_builtins_and_warnings_are_those_of_the_session_again(self):
        output = self.script(
            "import builtins, helper, warnings\n"
            "builtins.print, builtins.extra = helper.shout, 1\n"
            "warnings.showwarning, warnings.formatwarning = helper.shout, helper.shout\n"
            "warnings.simplefilter('error')\nprint('x')",
            "print('y')\nprint(hasattr(builtins, 'extra'), warnings.filters == filters)\n"
            "warnings.warn('told')\nprint(warnings.formatwarning.__module__)",
            before="import builtins, warnings\nfilters = warnings.filters[:]\n"
            "open('helper.py', 'w').write('import sys\\ndef shout(*a, **k): sys.stdout.write(str(a[0]).upper())')",
        )
        self.assertTrue(output.startswith("Xy\nFalse True\n"), output)
        self.assertIn("UserWarning: told", output)
        self.assertTrue(output.endswith("warnings\n"), output)

    def test_an_interrupt_in_an_exit_function(self):
        script = (
            "import atexit\ndef stop(): raise KeyboardInterrupt\natexit.register(print, 'no')\natexit.register(stop)"
        )
        for line in ("!python s.py", "%run s.py"):
            result = cells(
                f"import atexit\nbefore = atexit.register\n_ = open('s.py', 'w').write({script!r})",
                line,
                "print(atexit.register is before, atexit._run_exitfuncs.__self__ is atexit)",
            )
            self.assertEqual(result.all[1]["Raised"]["ename"], "KeyboardInterrupt")
            self.assertEqual(result.output, "True True\n")

    def test_a_reader_that_wants_no_more_ends_exit_functions(self):
        script = "import atexit\nfor i in range(9): atexit.register(print, i)"
        self.assertEqual(self.script(script, line="!python s.py | head -n 2"), "8\n7\n")

    def test_logging_of_a_script_is_its_own(self):
        before = (
            "import logging, sys\nlogging.basicConfig(level='INFO', stream=sys.stdout, format='session %(message)s')\n"
            "app = logging.getLogger('app')\napp.setLevel('DEBUG')\nlogging.disable(10)"
        )
        output = self.script(
            "import logging, logging.config, sys\n"
            "root = logging.getLogger()\nprint(root.handlers, root.level, root.manager.disable, len(logging._handlerList))\n"
            "logging.config.dictConfig({'version': 1, 'root': {'level': 'DEBUG'}})\n"
            "logging.basicConfig(stream=sys.stdout, format='script %(message)s')\n"
            "root.debug('a')\nnew = logging.getLogger('new')\n"
            "new.handlers = [logging.NullHandler(), logging.StreamHandler(sys.stdout)]\n"
            "logging.getLogger('app').propagate = False\nlogging.disable(50)",
            "app.debug('no')\napp.info('b')\nlogging.debug('no')\n"
            "print(app.disabled, logging.root.level, len(logging.root.handlers), len(logging.getLogger('new').handlers))",
            before=before,
        )
        self.assertEqual(output, "[] 30 0 0\nscript a\nsession b\nFalse 20 1 1\n")

    def test_exit_functions_of_libraries_are_those_of_the_session(self):
        library = (
            "import atexit, threading\natexit.register(print, 'library')\nthreading._register_atexit(print, 'threads')"
        )
        output = self.script(
            "import sys\n"
            "import atexit\nexec(compile(open('l.py').read(), sys.prefix + '/l.py', 'exec'), {'__name__': 'l'})\n"
            "atexit.register(print, 'script')",
            "print('after', atexit._ncallbacks() - count, len(threading._threading_atexits) - threads)",
            before=f"import atexit, threading\n_ = open('l.py', 'w').write({library!r})\n"
            "count, threads = atexit._ncallbacks(), len(threading._threading_atexits)",
        )
        self.assertEqual(output, "script\nafter 1 1\n")

    def test_modules_that_wait_for_their_first_use_are_not_run(self):
        output = self.script(
            "import importlib.util, sys, types\n"
            "spec = importlib.util.find_spec('lazy')\n"
            "spec.loader = importlib.util.LazyLoader(spec.loader)\n"
            "module = sys.modules['lazy'] = importlib.util.module_from_spec(spec)\nspec.loader.exec_module(module)\n"
            "other = sys.modules['other'] = types.ModuleType('other')\n"
            "other.__getattr__ = lambda name: print('asked for', name)\nprint('end')",
            "import sys\nprint('lazy' in sys.modules, 'other' in sys.modules)",
            before="_ = open('lazy.py', 'w').write('print(\"run\")')",
        )
        self.assertEqual(output, "end\nFalse False\n")

    def test_a_file_has_the_interpreter_of_a_process(self):
        output = self.script(
            "import sys\nprint(sys.orig_argv, sys.path[0] == __file__[:-5])\n"
            "out = sys.stdout\nout.reconfigure(encoding='utf-8', line_buffering=True)\nprint(out.encoding, out.errors)\n"
            "for i in range(3): out.buffer.write('\u20ac'.encode()[i:i + 1])\n"
            "out.buffer.flush()\nprint()",
            "import os, sys\n!python -m s x\nprint(sys.orig_argv == before, sys.path == path)",
            line="!python -B s.py a",
            before="import sys\nbefore, path = sys.orig_argv, sys.path[:]",
        )
        own = "True\nutf-8 strict\n\u20ac\n"
        self.assertEqual(output, f"['python', '-B', 's.py', 'a'] {own}['python', '-m', 's', 'x'] {own}True True\n")

    def test_a_module_as_a_program(self):
        output = self.script(
            "import atexit, sys\nname = 'mine'\n"
            "@atexit.register\ndef bye(): print(sys.modules['__main__'].name, __spec__.name, sys.argv[0] == __file__)",
            "!python -m nothing_there",
            line="!python -m s",
        )
        self.assertTrue(output.startswith("mine s True\npython: No module named nothing_there\n"), output)


class Processes(unittest.TestCase):
    """Programs after which nothing runs."""

    def ended(self, code, **options):
        return run(code, mode="script", ends_program=True, **options)

    def test_classes_that_are_not_hashable(self):
        code = """
class Meta(type):
    __hash__ = None
    def __getattribute__(self, name): raise SystemError(name)
    def __subclasscheck__(self, kind): raise SystemError
class A(metaclass=Meta): pass
class B(metaclass=Meta):
    def __del__(self): print("del")
import builtins, io, sys, threading
class C(io.StringIO):
    __hash__ = None
    def flush(self):
        print("flushed")
        raise SystemExit
builtins.len.__self__.__dict__["kept"] = threading.kept = [A(), B(), C(), open("out.txt", "w")]
threading.kept[-1].write("written")
"""
        result = run({"code": code, "mode": "script", "ends_program": True}, "print(open('out.txt').read())")
        self.assertEqual(sorted(result.output.split()), ["del", "flushed", "written"])

    def test_full_memory(self):
        code = """
import gc, sys, threading
ending = sys.modules["_brumate.ending"]
found = ending._objects
calls = []
def objects():
    calls.append(1)
    if len(calls) in FAIL: raise MemoryError
    return found()
ending._objects = objects
class A: pass
a = A()
a.me, a.file = a, open("a.txt", "w")
a.file.write("a")
threading.kept = open("b.txt", "w")
threading.kept.write("b")
"""
        shown = "print(open('a.txt').read() + open('b.txt').read())"
        for fail in ((), (1,), (2,), (1, 2)):
            program = {"code": f"FAIL = {fail}\n{code}", "mode": "script", "ends_program": True}
            result = run(program, shown)
            self.assertEqual(result.output, "ab\n", fail)


class Contexts(unittest.TestCase):
    CODES = (
        "import asyncio, contextvars, decimal\nv = contextvars.ContextVar('v', default=0)\ntoken = v.set(1)",
        "await asyncio.sleep(0)\nv.set(2)\ndecimal.getcontext().prec = 5",
        "print(v.get(), decimal.Decimal(1) / 3)\n_ = v.set(3)",
        "print(v.get())\nawait asyncio.sleep(0)\nv.reset(token)",
        "print(v.get())",
        "async def change(): v.set(7)\nawait change()",
        "print(v.get())\nasyncio.run(change())\nasync def read(): return v.get()\nprint(v.get(), asyncio.run(read()))",
    )
    OUTPUT = "2 0.33333\n3\n0\n7\n7 7\n"

    def test_cells(self):
        self.assertEqual(run(*self.CODES, mode="cell").output, self.OUTPUT)

    def test_one_program(self):
        self.assertEqual(run("\n".join(self.CODES), mode="script", emulate=True).output, self.OUTPUT)

    def test_another_program(self):
        self.assertEqual(
            run(self.CODES[0] + "\nawait asyncio.sleep(0)", "import decimal\ndecimal.getcontext().prec").value, 28
        )

    @unittest.skipIf(IPython is None, "needs IPython")
    def test_notebook(self):
        more = (
            "%time _ = v.set(8)",
            "await asyncio.sleep(0)\n_ = get_ipython().run_cell('_ = v.set(v.get() + 1)')",
            "print(v.get(), asyncio.run(read()))",
        )
        lines = cells(*self.CODES, *more).output.splitlines()
        self.assertEqual([line for line in lines if "time" not in line.lower()], [*self.OUTPUT.splitlines(), "9 9"])


class Memory(unittest.TestCase):
    CODE = """
class Large: pass
def fail(error):
    large = Large()
    kept.append(weakref.ref(large))
    large.me = large
    raise error
fail(MemoryError)
"""

    def check(self, result):
        self.assertEqual([ended["Raised"]["ename"] for ended in result.all[1:3]], ["MemoryError", "ValueError"])
        self.assertEqual(result.output, "True\nTrue\n")

    def cells(self):
        caught = "try:\n    fail(MemoryError)\nexcept MemoryError as error:\n    raise ValueError from error"
        shown = "print(kept[-1]() is None)"
        return "import weakref\nkept = []", self.CODE, caught, shown, "print(kept[0]() is None)"

    def test_cells(self):
        self.check(run(*self.cells(), mode="cell"))

    @unittest.skipIf(IPython is None, "needs IPython")
    def test_notebook(self):
        import sys

        if sys.version_info < (3, 13):
            self.skipTest("frames keep a copy of their names there")
        self.check(cells(*self.cells()))


if __name__ == "__main__":
    unittest.main()
