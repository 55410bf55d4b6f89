"""Cells that are compared with a real Jupyter kernel, one session in this order.

`python notebook_cells.py` records `golden/notebook.json` with the ipykernel of the interpreter that runs it; it needs
ipykernel, jupyter_client, pandas, numpy and sympy. `test_notebook_golden.py` compares our own shell with it.
"""

import json
import os
import re

# Normalised away: times, addresses, terminal colours, directories.
_NOISE = (
    (re.compile(r"\x1b\[[0-9;]*[A-Za-z]"), ""),
    (re.compile(r"0x[0-9a-f]{6,}"), "0x..."),
    (re.compile(r"\d+(\.\d+)?(e[+-]\d+)? ?(ns|μs|us|ms|s|min)\b"), "TIME"),
    (re.compile(r"/\S*/(site-packages|lib/python3\.\d+)/"), "LIB/"),
    (re.compile(r"(/\S*/)?(ipykernel_\d+/)?\b\d{5,}\.py|(/tmp/tmp\w+/)?<ipython-input-\d+-\w+>"), "CELL"),
    # Blank lines of a source around an error: kernels show some of them.
    (re.compile(r"(?m)^ +\d+ *\n"), ""),
    (re.compile(r"/tmp/tmp\w+"), "TMP"),
    # The docstring of `int`, before Python 3.13.
    (re.compile(r"\bfloating point(?=\s+numbers)"), "floating-point"),
)

CELLS = [
    "1 + 1",
    "_ * 2",
    "a = 5",
    "a",
    "a;",
    "a; # comment",
    "print('out'); 'value'",
    "None",
    "'text'",
    "_, __, ___",
    "Out[1], _1, In[1], _i1",
    "[list(range(5)), {'k': 'v'}, (1,)]",
    "list(range(60))",
    "{'name': 'x' * 70, 'other': 'y' * 70}",
    "class Rich:\n    def _repr_html_(self): return '<b>rich</b>'\n    def __repr__(self): return 'Rich()'\nRich()",
    "class Bundle:\n    def _repr_mimebundle_(self, include=None, exclude=None): return {'text/plain': 'p', 'application/x+json': {'a': 1}}\nBundle()",
    "class Pretty:\n    def _repr_pretty_(self, p, cycle): p.text('pretty')\nPretty()",
    "display(1, 'two', Rich())",
    "from IPython.display import *\ndisplay(HTML('<i>h</i>'))",
    "Markdown('**m**')",
    "Latex('$x$')",
    "Math('x^2')",
    "SVG('<svg xmlns=\"http://www.w3.org/2000/svg\"/>')",
    "JSON({'a': [1, 2]})",
    "Javascript('1')",
    "Image(data=b'\\x89PNG\\r\\n\\x1a\\n' + bytes(40), format='png')",
    "Code('x = 1')",
    "Pretty2 = lambda: None\nPretty2",
    "h = display('first', display_id='one')",
    "h.update('second')",
    "%who_ls int",
    "%precision 3",
    "3.14159",
    "%precision %r",
    "%%capture c\nprint('caught')\ndisplay('shown')\n5",
    "c.stdout, len(c.outputs)",
    "c.show()",
    "%%writefile made.py\nx_made = 1\nprint('made')",
    "%run made.py",
    "x_made",
    "%%writefile -a made.py\nprint('more')",
    "!cat made.py",
    "files = !ls *.py\nfiles",
    "files.n",
    "!echo {a} $a",
    "%sx echo sx",
    "%%html\n<p>cell</p>",
    "%%markdown\n# title",
    "%%latex\n$y$",
    "1/0",
    "def f():\n    return undefined_name\n\nf()",
    "try:\n    1/0\nexcept ZeroDivisionError as error:\n    raise ValueError('second') from error",
    "raise KeyError('k')",
    "for",
    "def broken(:\n    pass",
    "  indented = 1\nno = 2",
    "int('x')",
    "import no_such_module",
    "assert a == 6, 'a is not 6'",
    "class Bad:\n    def __repr__(self): raise RuntimeError('no repr')\nBad()",
    "%no_such_magic",
    "%%no_such_cell_magic\n1",
    "?no_such_object",
    "a?",
    "len?",
    "f??",
    "import warnings\nwarnings.warn('careful')",
    "import sys\nprint('to stderr', file=sys.stderr)",
    "import asyncio\nasync def later():\n    await asyncio.sleep(0)\n    return 'later'\nawait later()",
    "[await later() for _ in range(2)]",
    "later",
    "get_ipython().execution_count > 1",
    "%env NEW_NAME=1",
    "%env NEW_NAME",
    "%alias_magic t time",
    "%macro mac 3",
    "%history 1-3",
    "%recall 1",
    "%rerun 1",
    "%psource f",
    "%pdoc len",
    "%pinfo a",
    "%pfile no_such_object",
    "%automagic",
    "%automagic",
    "who_ls int",
    "%xmode Minimal",
    "1/0",
    "%xmode Context",
    "%pprint",
    "[1, 2, 3]",
    "%pprint",
    "%store a",
    "%%time\nb = 1\nb",
    "%time a",
    "import numpy as np\nnp.arange(12).reshape(3, 4)",
    "np.float64(1.5), np.nan",
    "import pandas as pd\ndf = pd.DataFrame({'n': [1, 2, None], 's': ['x', 'y', 'z']})\ndf",
    "df.describe()",
    "df.s",
    "pd.DataFrame({f'column{i}': range(100) for i in range(30)})",
    "df.groupby('s').n.sum()",
    "df['missing']",
    "import sympy\nsympy.symbols('x') ** 2 / 3",
    "sympy.init_printing()\nsympy.Matrix([[1, 2]])",
    "exec('1/0')",
    "eval('1 +')",
    "raise ExceptionGroup('g', [ValueError(1)])",
    "%reset -f",
    "a",
    "In[-1]",
    "%tb",
]


def normal(text):
    """Text without what differs from run to run."""
    for pattern, other in _NOISE:
        text = pattern.sub(other, text)
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())


def record():
    """Runs the cells in a real kernel; one dictionary each."""
    import tempfile

    from jupyter_client.manager import start_new_kernel

    with tempfile.TemporaryDirectory() as directory:
        manager, client = start_new_kernel(kernel_name="python3", cwd=directory, env={**os.environ, "COLUMNS": "80"})
        try:
            return [_one(client, code) for code in CELLS]
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)


def _one(client, code):
    cell = {"out": "", "err": "", "displays": [], "result": None, "error": None}

    def take(message):
        content = message["content"]
        kind = message["msg_type"]
        if kind == "stream":
            cell["out" if content["name"] == "stdout" else "err"] += content["text"]
        elif kind in ("display_data", "update_display_data"):
            cell["displays"].append(bundle(content["data"]))
        elif kind == "execute_result":
            cell["result"] = bundle(content["data"])
        elif kind == "error":
            cell["error"] = {
                "name": content["ename"],
                "value": normal(content["evalue"]),
                "text": normal("\n".join(content["traceback"])),
            }

    reply = client.execute_interactive(code, output_hook=take, timeout=60)
    # What a frontend shows in its pager, or puts into the next cell.
    for payload in reply["content"].get("payload", ()):
        cell["out"] += (
            payload["data"]["text/plain"] + "\n" if payload["source"] == "page" else payload.get("text", "") + "\n"
        )
    if reply["content"]["status"] == "error" and cell["error"] is None:
        cell["error"] = {"name": reply["content"]["ename"], "value": normal(reply["content"]["evalue"]), "text": None}
    cell["out"], cell["err"] = normal(cell["out"]), normal(cell["err"])
    return cell


def bundle(data):
    """A mime bundle in comparable form."""
    return {mime: normal(_canonical(mime, text)) for mime, text in sorted(data.items())}


def _canonical(mime, payload):
    """JSON, which is text in our bundles, in one form."""
    if mime.endswith("json"):
        payload = json.loads(payload) if isinstance(payload, str) else payload
        return json.dumps(payload, sort_keys=True)
    return payload


if __name__ == "__main__":
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden", "notebook.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(list(zip(CELLS, record(), strict=True)), file, indent=1, ensure_ascii=False)
        file.write("\n")
