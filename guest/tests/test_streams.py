"""stdout and stderr: what arrives, in which order, in how many writes."""

import tempfile
import unittest

from support import run


class Order(unittest.TestCase):
    def test_interleaved(self):
        code = (
            "import sys\nfor i in range(300):\n"
            "    print('o', i)\n    print('e', i, file=sys.stderr)\n"
            "    print('o-', end='')\n    print('e-', end='', file=sys.stderr)\n"
            "    sys.stdout.write('x')\n    sys.stderr.write('y\\n')\n"
        )
        expected = "".join(f"o {i}\ne {i}\no-e-xy\n" for i in range(300))
        self.assertEqual(run(code).output, expected)

    def test_bytes_and_text(self):
        code = "import sys\nprint('a')\nsys.stdout.buffer.write(b'b')\nsys.stdout.buffer.write(bytearray(b'c'))\nsys.stderr.buffer.write(b'd')\nprint('e')"
        self.assertEqual(run(code).output, "a\nbcde\n")

    def test_warning_between_prints(self):
        output = run("import warnings\nprint('a', end='')\nwarnings.warn('w')\nprint('b')").output
        self.assertTrue(output.startswith("amain.py:3: UserWarning: w\n") and output.endswith("b\n"), output)

    def test_partial_line_at_the_end(self):
        self.assertEqual(run("print('a', end='')", "print('b', end='')").output, "ab")

    def test_output_before_an_error_and_an_exit(self):
        self.assertEqual(run("print('a', end='')\n1/0").output, "a")
        self.assertEqual(run("print('a', end='')\nraise SystemExit(1)").output, "a")
        self.assertEqual(run("print('a', end='')\nraise KeyboardInterrupt").output, "a")

    def test_replaced_stream_is_flushed(self):
        code = "import sys, io\nsys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='utf-8')\nprint('a')"
        self.assertEqual(run(code).output, "a\n")

    def test_redirect(self):
        code = "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()) as f: print('a')\nf.getvalue()"
        self.assertEqual((run(code).value, run(code).output), ("a\n", ""))

    def test_input_prompt(self):
        self.assertEqual(run("print('a')\nx = input('? ')\nprint(x)", stdin=b"b\n").output, "a\n? b\n")


class Writes(unittest.TestCase):
    def count(self, code):
        with tempfile.TemporaryDirectory() as directory:
            counted = (
                "import io, sys\n_real = sys.stdout.buffer.raw\n_count = 0\n"
                "from _brumate import streams as _s\n"
                "class _Raw(io.RawIOBase):\n"
                "    def writable(self): return True\n"
                "    def write(self, b):\n        global _count\n        _count += 1\n        return _real.write(b)\n"
                f"sys.stdout = _out = _s._Text(_Raw())\n{code}\n_out.flush()\n_count"
            )
            result = run(counted, cwd=directory)
        return result.value, result.output

    def test_a_flood_takes_few_writes(self):
        writes, output = self.count("for i in range(100_000): print(i)")
        self.assertEqual(output, "".join(f"{i}\n" for i in range(100_000)))
        self.assertLess(writes, 5_000)

    def test_few_lines_are_passed_on_at_once(self):
        writes, _ = self.count("for i in range(100): print('line', i)")
        self.assertEqual(writes, 100)

    def test_parts_of_a_line_are_not(self):
        writes, output = self.count("for i in range(100): print('.', end='')")
        self.assertEqual((writes, output), (1, "." * 100))

    def test_flush_is_obeyed(self):
        writes, _ = self.count("for i in range(100): print('.', end='', flush=True)")
        self.assertEqual(writes, 100)

    def test_lines_arrive_before_a_hard_stop(self):
        with self.assertRaisesRegex(AssertionError, r"(?s)guest died.*first\nsecond\n"):
            run("print('first')\nprint('second')\nimport os, signal\nos.kill(os.getpid(), signal.SIGKILL)")


class Shape(unittest.TestCase):
    def test_attributes(self):
        code = (
            "import sys, io\n[[s.name, s.encoding, s.mode, s.fileno(), s.isatty(), isinstance(s, io.TextIOWrapper), "
            "s.errors, s.writable(), isinstance(s.buffer, io.BufferedWriter), isinstance(s.buffer.raw, io.FileIO)] for s in (sys.stdout, sys.stderr)]"
        )
        self.assertEqual(
            run(code).value,
            [
                ["<stdout>", "utf-8", "w", 1, False, True, "surrogateescape", True, True, True],
                ["<stderr>", "utf-8", "w", 2, False, True, "backslashreplace", True, True, True],
            ],
        )

    def test_reconfigured_by_the_guest(self):
        code = "import sys\nsys.stdout.reconfigure(line_buffering=False)\nprint('a')\nprint('b', file=sys.stderr)\nsys.stdout.reconfigure(encoding='latin-1', newline='\\r\\n')\nprint('c')"
        self.assertEqual(run(code).output, "a\nb\nc\r\n")

    def test_odd_text(self):
        self.assertEqual(run("print('é😀\\x00\\r\\n')").output, "é😀\x00\r\n\n")
        self.assertEqual(run("import sys\nprint('\\ud800', file=sys.stderr)").output, "\\ud800\n")
        self.assertEqual(run("print('\\ud800')").raised["ename"], "UnicodeEncodeError")

    def test_closed_streams_come_back(self):
        result = run(
            "import sys\nsys.stdout.close()\nsys.stderr.close()",
            "import sys\nprint('a')\nprint('b', file=sys.stderr)",
            mode="cell",
        )
        self.assertEqual(result.output, "a\nb\n")

    def test_session_keeps_its_own_stream(self):
        code = "import sys, io\nkept = sys.stdout\nsys.stdout = mine = io.StringIO()"
        result = run(code, "print('a')", "sys.stdout = kept\nmine.getvalue()", mode="cell")
        self.assertEqual((result.value, result.output), ("a\n", ""))


if __name__ == "__main__":
    unittest.main()
