"""A shell for images: made, used for what sessions do most, and clean again."""

from ..pristine import __builtins__

import builtins
import json
import sys

from IPython.core.interactiveshell import InteractiveShell

from .. import display

# Cells that import what IPython leaves for later, and fill its caches. They end well unless marked.
_CELLS = (
    "1 + 1",
    "x = [1, 2]\nprint(x)\nx",
    "%time sum(range(10))",
    "%%time\nsum(range(10))",
    "%timeit -n1 -r1 1 + 1",
    "%who",
    "%whos",
    "%pwd",
    "%lsmagic",
    "%config InlineBackend.figure_formats",
    "%%capture out\nprint(1)\ndisplay(2)",
    "str.upper?",
    "import json\njson.dumps??",
    "!ls -la /nowhere 2>/dev/null; echo $HOME | wc -c",
    "%%bash\necho hello > /dev/null",
    "%pip install IPython",
    "from IPython.display import HTML, Markdown, Image, Latex\ndisplay(HTML('<b>1</b>'), Markdown('**1**'))",
    "handle = display('a', display_id=True)\nhandle.update('b')",
    "import asyncio\nawait asyncio.sleep(0)",
    "_, Out, In[-1]",
)
_FAILING = (
    "1/0",
    "unknown_name",
    "def f(x):\n    return g(x)\ndef g(x):\n    return x['a']\nf({})",
    "1 +",
    "import no_such_module",
)
# With the modules of the image.
_WITH = {
    "pandas": "import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': ['x', 'y']})",
    "numpy": "import numpy as np\nnp.arange(6.0).reshape(2, 3)",
    "matplotlib": (
        "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2, 3], label='a')\nplt.title('t')\n"
        "plt.legend()\nplt.show()"
    ),
}


def warm():
    """Makes the shell and runs cells in it."""
    # Commands that no cell below runs, and that many sessions do.
    from brumate_shell.tools import python, system

    from ..execution import execute

    def run(code):
        return json.loads(execute(json.dumps({"code": code, "mode": "notebook_cell"})))["ended"]

    for code in (*_CELLS, *[code for name, code in _WITH.items() if name in sys.modules]):
        ended = run(code)
        if "Returned" not in ended:
            raise RuntimeError(f"the cell {code!r} failed: {ended}")
    for code in _FAILING:
        ended = run(code)
        if "Raised" not in ended:
            raise RuntimeError(f"the cell {code!r} did not fail: {ended}")


def forget(shell):
    """Takes away all that cells have left: history, names, what [`ZMQInteractiveShell.attach`] put in place."""
    import linecache
    import types

    history = shell.history_manager
    for cells in (history.input_hist_parsed, history.input_hist_raw):
        cells[:] = [""]
    for kept in (history.output_hist, history.output_hist_reprs, history.outputs, history.exceptions):
        kept.clear()
    history.dir_hist[:] = []
    history.db_input_cache[:] = []
    history.db_output_cache[:] = []
    for name in ("_i00", "_i", "_ii", "_iii"):
        setattr(history, name, "")
    shell.execution_count = 1
    shell.last_execution_result = None
    shell.last_execution_succeeded = True
    for name in shell.compile._filename_map:
        linecache.cache.pop(name, None)
    shell.compile._filename_map.clear()
    shell.compile.reset_compiler_flags()
    shell._main_mod_cache.clear()
    shell._memory.clear()
    shell.user_ns_hidden.clear()
    hook = shell.displayhook
    hook._ = hook.__ = hook.___ = ""
    # No session's module: the next session brings its own.
    shell.user_module = types.ModuleType("__main__")
    shell.user_ns = shell.user_module.__dict__
    for kind in type(shell)._walk_mro():
        kind._instance = None
    if InteractiveShell._instance is not None:
        raise RuntimeError("the shell is still the process's")
    vars(builtins).pop("__IPYTHON__", None)
    builtins.display = display.display
    for name in ("ps1", "ps2", "ps3", "last_type", "last_value", "last_traceback", "last_exc"):
        if hasattr(sys, name):
            delattr(sys, name)
