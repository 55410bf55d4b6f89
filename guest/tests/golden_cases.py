"""Scripts whose stderr must be CPython's own, and how to record it.

`python3.14 golden_cases.py` writes `golden/<case>.txt` with what the interpreter that runs it prints for
`python main.py`; the tests compare a guest with these files under the version that made them, and with a live run of
the interpreter at hand under any version.
"""

import os
import re
import subprocess
import sys
import tempfile

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden")
VERSION = (3, 14)

CASES = {
    "unknown_name": "print(unknown)\n",
    "suggestion": "value = 1\nprint(valeu)\n",
    "attribute_suggestion": "class A:\n    colour = 1\n\nA().color\n",
    "missing_import": "x = json.loads('1')\n",
    "nested": "def f(x):\n    return g(x + 1) * 2\n\n\ndef g(x):\n    return 1 / (x - 1)\n\n\nprint(f(0))\n",
    "carets": "d = {'a': {'b': None}}\nprint(d['a']['b']['c'] + 1)\n",
    "multi_line": "x = 1\ny = (\n    x\n    + 'a'\n    + 2\n)\n",
    "wide": "täxt = 'é😀'\nprint(täxt.upper(), täxt['ü'])\n",
    "context": "try:\n    1 / 0\nexcept ZeroDivisionError:\n    [][1]\n",
    "cause": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError('k') from e\n",
    "suppressed": "try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise KeyError('k') from None\n",
    "notes": "e = ValueError('bad')\ne.add_note('first')\ne.add_note('second\\nline')\nraise e\n",
    "group": "raise ExceptionGroup('many', [ValueError(1), ExceptionGroup('inner', [TypeError('t')])])\n",
    "group_caught": "def f():\n    raise ValueError(1)\n\n\nerrors = []\nfor _ in range(2):\n    try:\n        f()\n    except ValueError as e:\n        errors.append(e)\nraise ExceptionGroup('two', errors) from KeyError('k')\n",
    "recursion": "def f(n):\n    return f(n + 1)\n\n\nf(0)\n",
    "mutual_recursion": "def f(n):\n    g(n)\n\n\ndef g(n):\n    f(n)\n\n\nf(0)\n",
    "own_exception": "class Oops(Exception):\n    def __str__(self):\n        return 'two\\nlines'\n\n\nraise Oops(1)\n",
    "nested_class": "def f():\n    class E(Exception):\n        pass\n\n    raise E\n\n\nf()\n",
    "key_error": "{}['x']\n",
    "str_fails": "class E(Exception):\n    def __str__(self):\n        raise RuntimeError\n\n\nraise E\n",
    "keyboard_interrupt": "def f():\n    raise KeyboardInterrupt\n\n\nf()\n",
    "assertion": "x = 1\nassert x == 2, f'{x=}'\n",
    "lambda_and_comprehension": "f = lambda x: [1 / y for y in x]\nf([1, 0])\n",
    "generator": "def g():\n    yield 1\n    raise ValueError('g')\n\n\nprint(sum(g()))\n",
    "with_block": "class C:\n    def __enter__(self):\n        return self\n\n    def __exit__(self, *exc):\n        raise TypeError('exit')\n\n\nwith C():\n    1 / 0\n",
    "exec_string": "exec('x = 1\\n1/0')\n",
    "eval_syntax": "eval('1 +')\n",
    "import_missing": "import no_such_module_here\n",
    "import_from": "from os import no_such_name\n",
    "unpack": "a, b = 1, 2, 3\n",
    "type_error_call": "def f(a, *, b):\n    pass\n\n\nf(1, 2)\n",
    "unicode_error": "'é'.encode('ascii')\n",
    "syntax": "x = 1\ny = = 2\n",
    "syntax_unclosed": "print((1, 2)\nx = 3\n",
    "syntax_missing_colon": "if True\n    pass\n",
    "syntax_fstring": "f'{a b}'\n",
    "syntax_keyword": "whille True:\n    pass\n",
    "syntax_tabs": "if 1:\n\tx = 1\n        y = 2\n",
    "indentation": "def f():\nreturn 1\n",
    "return_outside": "return 1\n",
    "nonlocal_module": "nonlocal x\n",
    "no_newline_at_end": "1 / 0",
    "blank_line_with_error_at_end": "\n\n\nprint(1)\nraise ValueError\n",
    "user_warning": "import warnings\n\nwarnings.warn('careful')\n",
    "syntax_warning": "x = 5\nprint(x is 5)\n",
    "unraisable": "class A:\n    def __del__(self):\n        raise ValueError('del')\n\n\na = A()\ndel a\n",
    "unraisable_without_text": "class A:\n    def __repr__(self):\n        1 / 0\n\n    def __del__(self):\n        raise KeyboardInterrupt\n\n\na = A()\ndel a\n",
    "unraisable_recursion": "class E(Exception):\n    pass\n\n\nclass A:\n    def __del__(self):\n        f(10)\n\n\ndef f(n):\n    if n:\n        f(n - 1)\n    raise E(1)\n\n\na = A()\ndel a\n",
    "stderr_and_error": "import sys\n\nprint('to stderr', file=sys.stderr)\n1 / 0\n",
    "excepthook_calls_original": "import sys\n\n\ndef hook(*error):\n    print('hook', file=sys.stderr)\n    sys.__excepthook__(*error)\n\n\nsys.excepthook = hook\n1 / 0\n",
    "print_exc": "import traceback\n\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    traceback.print_exc()\n",
    "logging_exception": "import logging\n\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    logging.exception('failed')\n",
    "long_line": "x = [" + "1, " * 200 + "1 / 0]\n",
    "exit_text": "raise SystemExit('stopped')\n",
    "atexit_error": "import atexit\n\n\n@atexit.register\ndef bye():\n    1 / 0\n\n\nraise ValueError('first')\n",
}


def expected(code, executable=sys.executable):
    """stderr of `python main.py`, the script's path shortened."""
    with tempfile.TemporaryDirectory() as directory:
        directory = os.path.realpath(directory)
        with open(os.path.join(directory, "main.py"), "w", encoding="utf-8", newline="") as file:
            file.write(code)
        done = subprocess.run(
            [executable, "-X", "utf8", "main.py"],
            cwd=directory,
            capture_output=True,
            text=True,
            encoding="utf-8",
            env={**os.environ, "NO_COLOR": "1"},
        )
        return normalized(done.stderr.replace(os.path.join(directory, "main.py"), "main.py"))


def normalized(text):
    """Text without what differs between two runs: addresses, and where the standard library lies."""
    text = re.sub(r"0x[0-9a-f]+", "0xADDRESS", text)
    return re.sub(r'(?<=["(])/[^"()]*?/?lib/python3[^/"]*/', "/lib/python3/", text)


def main():
    if sys.version_info[:2] != VERSION:
        raise SystemExit(f"golden files are made by Python {VERSION}")
    os.makedirs(GOLDEN, exist_ok=True)
    for name, code in CASES.items():
        with open(os.path.join(GOLDEN, name + ".txt"), "w", encoding="utf-8") as file:
            file.write(expected(code))


if __name__ == "__main__":
    main()
