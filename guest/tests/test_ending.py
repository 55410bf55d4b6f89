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
