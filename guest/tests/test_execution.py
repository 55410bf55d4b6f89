"""What runs, what comes back, how a run ends."""

import json
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

from support import run


class Values(unittest.TestCase):
    def test_last_expression(self):
        for code, json_text in [
            ("1+1", "2"),
            ("a = 1\na + 1", "2"),
            ('"foobar"', '"foobar"'),
            ("[1]", "[\n  1\n]"),
            ("None", None),
            ("x = 1", None),
            ("", None),
            ("# nothing", None),
            ("print(1)", None),
            ("5;", None),
            ("5 ; ", None),
            ("5;\n\n# end", None),
            ("5 # a; b", "5"),
            ('"é;"', '"é;"'),
            ("'é';", None),
            ("x = 1; x", "1"),
            ("(1,\n 2\n)", "[\n  1,\n  2\n]"),
            ("if 1:\n  5", None),
            ("\ufeff7", "7"),
            ("x = 1\r\nx", "1"),
            ('"""doc"""\nx = __doc__\nx', '"doc"'),
            ("from __future__ import annotations\ndef f(a: undefined): pass\nf.__annotations__['a']", '"undefined"'),
            ("import __future__\n1 if True else 2", "1"),
        ]:
            with self.subTest(code=code):
                result = run(code)
                self.assertEqual(result.json, json_text)

    def test_is_str(self):
        returned = run("'a'", "class S(str): pass\nS('b')", "1").all
        self.assertEqual([ended["Returned"]["is_str"] for ended in returned], [True, True, False])

    def test_golden_output(self):
        result = run("x = 4\nprint(f'{x=}')\nx")
        self.assertEqual((result.output, result.value), ("x=4\n", 4))

    def test_script_has_no_value(self):
        self.assertIsNone(run("1+1", mode="script").json)

    def test_repr_that_raises(self):
        raised = run("class A:\n    def __repr__(self): raise ValueError('no')\nA()").raised
        self.assertEqual(raised["ename"], "ValueError")
        self.assertIn('File "main.py", line 2, in __repr__', raised["traceback"])
        self.assertNotIn("_brumate", raised["traceback"])

    def test_repr_that_exits(self):
        self.assertEqual(run("class A:\n    def __repr__(self): raise SystemExit(7)\n[A()]").exited, (7, ""))

    def test_value_that_lies_about_its_class(self):
        result = run("class A:\n    __class__ = str\n    def __repr__(self): return 'A'\nA()")
        self.assertEqual(result.ended["Returned"], {"json": '"A"', "is_str": False})


class Main(unittest.TestCase):
    def test_module(self):
        code = "import sys\n(__name__, __file__, sys.argv, sys.modules['__main__'].__dict__ is globals(), __builtins__.__name__)"
        self.assertEqual(run(code).value, ["__main__", "main.py", ["main.py"], True, "builtins"])
        self.assertEqual(run(code, file_name="a/b.py").value[1:3], ["a/b.py", ["a/b.py"]])
        self.assertEqual(run(code, argv=["p", "--x"]).value[2], ["p", "--x"])

    def test_clean_namespace(self):
        self.assertEqual(
            run("sorted(globals())").value,
            ["__builtins__", "__doc__", "__file__", "__loader__", "__name__", "__package__", "__spec__"],
        )

    def test_fresh_for_each_run(self):
        self.assertIn("NameError", run("x = 1", "x").raised["ename"])

    def test_session_keeps_names_and_futures(self):
        result = run("from __future__ import annotations\nx = 1", "def f(a: undefined): pass\nx + 1", "x", mode="cell")
        self.assertEqual([ended["Returned"] and ended["Returned"]["json"] for ended in result.all], [None, "2", "1"])

    def test_session_sources_stay_apart(self):
        result = run("def f():\n    return 1/0", "# other\nf()", mode="cell", file_name="cell.py")
        self.assertIn("    return 1/0\n", result.raised["traceback"])
        self.assertIn('File "<cell.py 2>", line 2, in <module>\n    f()', result.raised["traceback"])

    def test_globals(self):
        self.assertEqual(run("a", globals_json='{"a": [1, 2, 3]}').value, [1, 2, 3])
        self.assertEqual(run("__name__", globals_json='{"__name__": "x", "__builtins__": {}}').value, "__main__")
        self.assertEqual(run("a", globals_json="[1]").raised["ename"], "ValueError")
        self.assertEqual(run("a", globals_json="{").raised["ename"], "JSONDecodeError")

    def test_environment(self):
        self.assertEqual(run("import os; os.environ['A_B']", env=[["A_B", "ü"]]).value, "ü")

    def test_source_can_be_inspected(self):
        self.assertEqual(run("import inspect\ndef f(): return 1\ninspect.getsource(f)").value, "def f(): return 1\n")
        self.assertEqual(
            run("import inspect\nclass A:\n    b = 1\ninspect.getsource(A)").value, "class A:\n    b = 1\n"
        )

    def test_lines_after_a_form_feed(self):
        self.assertIn("    1/0\n", run("x = '''\x0c \u2028'''\n1/0\n").raised["traceback"])

    def test_pickle_of_a_class_of_main(self):
        self.assertEqual(run("import pickle\nclass A: pass\ntype(pickle.loads(pickle.dumps(A()))) is A").value, True)

    def test_module_written_by_the_guest(self):
        code = "open('fresh_mod.py', 'w').write('v = 3')\nimport fresh_mod\nfresh_mod.v"
        self.assertEqual(run(code).value, 3)

    def test_module_written_between_runs(self):
        result = run(
            "import os\nos.listdir('.')\ntry:\n    import late_mod\nexcept ImportError: pass",
            "open('late_mod.py', 'w').write('v = 4')",
            "import late_mod\nlate_mod.v",
        )
        self.assertEqual(result.value, 4)

    def test_guest_module_hides_ours_not_the_reverse(self):
        with tempfile.TemporaryDirectory() as directory:
            with open(os.path.join(directory, "caio.py"), "w", encoding="utf-8") as file:
                file.write("v = 5")
            self.assertEqual(run("import caio\ncaio.v", cwd=directory).value, 5)

    def test_stdin(self):
        self.assertEqual(run("[input(), input()]", stdin=b"a\nb\n").value, ["a", "b"])
        self.assertEqual(run("input()").raised["ename"], "EOFError")
        self.assertEqual(run("exit()", "input()", stdin=b"a\n").value, "a")


class Modules(unittest.TestCase):
    """`python -m` and `python -c`: the expected texts are those of a process of Python."""

    PACKAGE = {
        "pkg/__init__.py": "",
        "pkg/__main__.py": "from pkg import sub\nsub.show(__name__, __spec__, __file__)\nraise SystemExit(7)\n",
        "pkg/sub.py": textwrap.dedent("""
            import os, sys
            def show(name, spec, file):
                print(name, spec.name, os.path.relpath(file), sys.argv[1:], os.path.samefile(sys.path[0], "."))
                print(os.path.relpath(sys.argv[0]), sys.orig_argv[1:])
            if __name__ == "__main__":
                show(__name__, __spec__, __file__)
                import nosuch
        """),
    }

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        os.mkdir(os.path.join(self.directory, "pkg"))
        for name, text in self.PACKAGE.items():
            with open(os.path.join(self.directory, name), "w") as file:
                file.write(text)

    def native(self, *arguments, **variables):
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.directory,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout, done.stderr

    def module(self, name, *arguments, **request):
        request = {"code": name, "mode": "module", "argv": ["-m", *arguments], "ends_program": True, **request}
        return run(request, cwd=self.directory)

    def test_a_module_runs_as_natively(self):
        for line in (["pkg", "a", "-m"], ["pkg.sub", "--x"], ["nosuch"], ["nosuch.x"]):
            with self.subTest(line=line):
                status, out, err = self.native("-m", *line)
                result = self.module(*line)
                raised = result.ended.get("Raised")
                message = raised["traceback"] if raised else result.exited[1]
                self.assertEqual(1 if raised else result.exited[0], status)
                # The message at its end is in the output, or only in the answer.
                shown = result.output if message.strip() in result.output else result.output + message + "\n"
                self.assertTrue(shown.startswith(out), shown)
                # Before Python 3.13 the lines of a traceback have other marks.
                if sys.version_info >= (3, 13) or not raised:
                    self.assertEqual(shown[len(out) :], err)

    def test_the_directory_is_the_first_place(self):
        elsewhere = run({"code": "pkg.sub", "mode": "module", "argv": ["-m"], "directory": self.directory}, cwd="/")
        self.assertIn("__main__ pkg.sub pkg/sub.py [] True\n", elsewhere.output)

    def test_variables_are_read_as_at_the_start_of_python(self):
        code = "import sys, warnings\nprint(sys.path[:4], sys.dont_write_bytecode, sys.warnoptions)\nprint(sys.argv, sys.orig_argv[1:])\nwarnings.warn('x', DeprecationWarning)"
        variables = {
            "PYTHONPATH": "/a:sub::/a",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONWARNINGS": "error::UserWarning,ignore",
        }
        status, out, err = self.native("-c", code, "y", **variables)
        request = {
            "code": code,
            "mode": "script",
            "file_name": "<string>",
            "argv": ["-c", "y"],
            "env": [*variables.items()],
        }
        result = run(request, cwd=self.directory)
        self.assertEqual((status, result.output), (0, out + err))

    def test_variables_of_one_run_are_not_those_of_the_next(self):
        request = {"code": "import sys\nsys.path[1]", "env": [("PYTHONPATH", "/a:/b")]}
        self.assertEqual(run(request).value, "/a")
        self.assertNotIn("/a", run(request, "import sys\nsys.path").value)


class Exits(unittest.TestCase):
    def test_codes(self):
        table = [
            ("raise SystemExit", (0, "")),
            ("raise SystemExit(None)", (0, "")),
            ("raise SystemExit(0)", (0, "")),
            ("raise SystemExit(3)", (3, "")),
            ("raise SystemExit(-1)", (255, "")),
            ("raise SystemExit(256)", (0, "")),
            ("raise SystemExit(257)", (1, "")),
            ("raise SystemExit(2**64)", (255, "")),
            ("raise SystemExit(True)", (1, "")),
            ("raise SystemExit('text')", (1, "text")),
            ("raise SystemExit('')", (1, "")),
            ("raise SystemExit(1, 2)", (1, "(1, 2)")),
            ("raise SystemExit([1])", (1, "[1]")),
            ("raise SystemExit(1.0)", (1, "1.0")),
            ("import sys; sys.exit('\\ud800')", (1, "\\ud800")),
            ("quit(4)", (4, "")),
            ("class E(SystemExit): pass\nraise E(5)", (5, "")),
        ]
        for script in (False, True):
            result = run(*[code for code, _ in table], script=script)
            for (code, expected), ended in zip(table, result.all, strict=True):
                with self.subTest(code=code, script=script):
                    self.assertEqual((ended["Exited"]["code"], ended["Exited"]["message"]), expected)

    def test_message_that_cannot_be_printed(self):
        result = run("class M:\n    def __str__(self): raise ValueError('no')\nraise SystemExit(M())")
        self.assertIn(result.raised["ename"], ("SystemExit",))

    def test_in_a_task(self):
        result = run(
            "import asyncio\nasync def f(): raise SystemExit(9)\nasync def g(): await asyncio.gather(f())\nawait g()"
        )
        self.assertEqual(result.exited, (9, ""))

    def test_atexit_runs_at_the_end_of_a_script(self):
        code = "import atexit\natexit.register(print, 'bye')\nprint('hi')\n"
        self.assertEqual(run(code, mode="script").output, "hi\nbye\n")
        result = run(code + "1/0", mode="script")
        self.assertEqual((result.output, result.raised["ename"]), ("hi\nbye\n", "ZeroDivisionError"))
        self.assertEqual(run(code).output, "hi\n")

    def test_atexit_that_raises(self):
        result = run("import atexit\natexit.register(lambda: 1/0)", mode="script")
        self.assertIsNone(result.json)
        self.assertIn("ZeroDivisionError", result.output)

    def test_excepthook_of_a_script(self):
        code = "import sys\nsys.excepthook = lambda kind, error, tb: print('hook', kind.__name__)\n1/0"
        result = run(code, mode="script")
        self.assertEqual((result.exited, result.output), ((1, ""), "hook ZeroDivisionError\n"))
        self.assertEqual(run(code).raised["ename"], "ZeroDivisionError")

    def test_excepthook_that_raises(self):
        result = run("import sys\nsys.excepthook = None\n1/0", mode="script")
        self.assertEqual(result.raised["ename"], "ZeroDivisionError")


class Async(unittest.TestCase):
    def test_top_level_await(self):
        self.assertEqual(run("import asyncio\nawait asyncio.sleep(0.01)\n5").value, 5)
        self.assertEqual(run("import asyncio\nawait asyncio.sleep(0.01, 6)").value, 6)
        self.assertEqual(run("import asyncio\nt = asyncio.create_task(asyncio.sleep(0, 7))\nawait t").value, 7)
        self.assertEqual(run("async def g():\n yield 1\n[x async for x in g()]").value, [1])
        self.assertEqual(run("import asyncio\nasync with asyncio.timeout(1):\n    x = 8\nx").value, 8)

    def test_last_value_is_awaited(self):
        self.assertEqual(run("async def f(): return 5\nf()").value, 5)
        self.assertEqual(
            run("import asyncio\nasync def f(): return 6\nawait asyncio.sleep(0)\nasyncio.create_task(f())").value, 6
        )

    def test_script_awaits_too(self):
        self.assertEqual(run("import asyncio\nawait asyncio.sleep(0)\nprint(1)", mode="script").output, "1\n")

    def test_asyncio_run(self):
        self.assertEqual(run("import asyncio\nasync def f(): return 5\nasyncio.run(f())").value, 5)

    def test_leftover_tasks_are_cancelled(self):
        code = (
            "import asyncio\nasync def f():\n    try: await asyncio.sleep(100)\n    finally: print('cancelled')\n"
            "t = asyncio.create_task(f())\nawait asyncio.sleep(0)\n1"
        )
        result = run(code)
        self.assertEqual((result.value, result.output), (1, "cancelled\n"))

    def test_session_keeps_its_loop(self):
        result = run(
            "import asyncio\nasync def f():\n    await asyncio.sleep(0.01)\n    return 5\nt = asyncio.create_task(f())\nawait asyncio.sleep(0)",
            "await t",
            mode="cell",
        )
        self.assertEqual(result.value, 5)

    def test_loop_is_gone_after_a_run(self):
        result = run("import asyncio\nawait asyncio.sleep(0)", "import asyncio\nasyncio.get_running_loop()")
        self.assertEqual(result.raised["ename"], "RuntimeError")


class Syntax(unittest.TestCase):
    def test_errors_are_reported(self):
        for code, name in [
            ("x = = 1", "SyntaxError"),
            ("if 1:\nx", "IndentationError"),
            ("return 1", "SyntaxError"),
            ("a\0b", "SyntaxError" if sys.version_info >= (3, 11, 4) else "ValueError"),
            ("'\ud800'", "UnicodeEncodeError"),
            ("(" * 1000, "SyntaxError"),
        ]:
            with self.subTest(code=code[:10]):
                result = run(code)
                self.assertEqual(result.raised["ename"], name)
                self.assertNotIn("_brumate", result.raised["traceback"])

    def test_deep_nesting(self):
        for code in ("-" * 100_000 + "1", "[" * 150 + "]" * 150 + "+1" * 100_000, "a" + ".b" * 100_000):
            with self.subTest(code=code[:5]):
                self.assertIn(
                    run(code).raised["ename"],
                    ("RecursionError", "MemoryError", "TypeError", "SyntaxError", "NameError"),
                )

    def test_warnings_once(self):
        output = run("x = '\\d'\nx is 'a'\n1").output
        if sys.version_info >= (3, 12):  # a DeprecationWarning before
            self.assertEqual(output.count("invalid escape"), 1)
        self.assertEqual(output.count('"is" with'), 1)


class Requests(unittest.TestCase):
    def test_bad_requests_are_answered(self):
        from _brumate import execution

        for request in ("", "{", "[]", "{}", '{"code": 5}', "null", '{"code":"1"} x'):
            with self.subTest(request=request):
                self.assertIn("Raised", json.loads(execution.execute(request))["ended"])


if __name__ == "__main__":
    unittest.main()
