"""Which distributions a source text needs, read from its syntax tree. Never runs the text, never raises."""

from .pristine import __builtins__

import ast
import os
import re
import sys
import warnings

from . import interrupts
from .text import quote

# Names reported of one source text.
MAX_NAMES = 1000

# Ours, and what Pyodide's standard library archive holds besides the standard library. `js` and `pyodide` are
# JavaScript's side of it, which does not exist here: there is nothing to install for them.
_NOT_DISTRIBUTIONS = frozenset((
    "__main__", "_brumate", "_pyodide", "_pyodide_core", "brumate_plotly", "brumate_shell", "js", "micropip", "psutil",
    "pyodide", "pyodide_js",
))  # fmt: skip
STANDARD = frozenset(sys.stdlib_module_names) | frozenset(sys.builtin_module_names) | _NOT_DISTRIBUTIONS
# Shared by many distributions: which one is meant, only the modules below tell.
_NAMESPACES = frozenset(("azure", "backports", "google", "jaraco", "opentelemetry", "ruamel", "sphinxcontrib", "zope"))
# Modules whose use tells more than their name: which version of `mcp` a server is written for.
_SERVER_MODULES = frozenset(("mcp", "mcp_types", "fastmcp"))
_CATCHES = frozenset(("ImportError", "ModuleNotFoundError", "Exception", "BaseException"))
_FLAGS = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT

_compile = compile
_TRY = tuple(getattr(ast, name) for name in ("Try", "TryStar") if hasattr(ast, name))


def analyze(code):
    """The engine's `Analysis` as JSON text."""
    found, error = interrupts.call(_analyze, code)
    if isinstance(error, SyntaxError):
        found, error = interrupts.call(_analyze_cell, code)
    interrupts.forget()
    if error is not None:
        return '{"imports":[],"optional_imports":[],"requirements":[],"syntax_error":true}'
    required = ",".join([quote(name) for name, optional in found.items() if not optional])
    optional = ",".join([quote(name) for name, optional in found.items() if optional])
    meant = ",".join([quote(text) for text in _requirements(code, found)])
    return f'{{"imports":[{required}],"optional_imports":[{optional}],"requirements":[{meant}],"syntax_error":false}}'


def _requirements(code, found):
    """Requirements that the text means beyond the names of its imports: those of MCP servers."""
    if _SERVER_MODULES.isdisjoint(found):
        return []
    needs, _ = interrupts.call(_server_needs, code)
    interrupts.forget()
    return needs[:MAX_NAMES] if needs else []


def _server_needs(code):
    from .serving.requirements import needs

    found = needs(code)
    return [*found.requirements, *found.dependencies]


# Lines that only IPython understands, with the Python that some of them hold.
_MAGIC_LINE = re.compile(
    r"([ \t]*)(?:%%?(?:time|timeit|prun|memit|capture)\b[ \t]*(?P<code>[^-\n]*)|[%!?].*"
    r"|[\w., ]+=[ \t]*[%!].*|[^#'\"\n]*\?\??[ \t]*)$"
)
# Cell magics whose body is Python.
_PYTHON_CELLS = ("time", "timeit", "capture", "prun", "memit", "python", "python3")


def _analyze_cell(code):
    """Like [`_analyze`], for a notebook's cell: without magics, shell lines and questions."""
    lines = code.split("\n")
    first = code.lstrip()
    if first[:2] == "%%" and first[2:].split(None, 1)[:1] and first[2:].split(None, 1)[0] not in _PYTHON_CELLS:
        return {}
    for number, line in enumerate(lines):
        found = _MAGIC_LINE.match(line)
        if found is not None:
            body = "" if line.lstrip()[:2] == "%%" else (found["code"] or "").strip()
            lines[number] = found[1] + (body or "pass")
    return _analyze("\n".join(lines))


def _analyze(code):
    """Name → whether it is optional, in order of appearance."""
    if code[:1] == "\ufeff":
        code = code[1:]
    if "\\" in code or "import" in code:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # running the text will show its SyntaxWarnings
            tree = _compile(code, "main.py", "exec", _FLAGS, True)
    else:
        tree = _compile(code, "main.py", "exec", _FLAGS, True)
    found = {}
    if "import" not in code:
        return found
    calls = "import_module" in code or "__import__" in code
    # A stack of (node, whether it is optional), children pushed in reverse: order of appearance without recursion.
    todo = [(tree, False)]
    while todo:
        node, optional = todo.pop()
        kind = type(node)
        if kind is ast.Import:
            for alias in node.names:
                _add(found, alias.name, optional)
        elif kind is ast.ImportFrom:
            if not node.level and node.module:
                for alias in node.names:
                    _add(found, node.module, optional, alias.name)
        elif kind is ast.Call and calls:
            name = _dynamic_import(node)
            if name is not None:
                _add(found, name, True)
        if calls or not isinstance(node, ast.expr):
            children = list(_children(node, optional, calls))
            children.reverse()
            todo.extend(children)
    return found


def _children(node, optional, calls):
    """The children of a node with their optionality; expressions only when calls are looked for."""
    kind = type(node)
    guarded = ()
    if kind in _TRY and any(catches_import_error(handler.type) for handler in node.handlers):
        # A handler's imports are the alternative: either side may be missing.
        guarded = ("body", "handlers")
    elif kind is ast.If and _last_name(node.test) == "TYPE_CHECKING":
        guarded = ("body",)
    elif kind in (ast.With, ast.AsyncWith) and any(suppresses_import_error(item) for item in node.items):
        guarded = ("body",)
    for field in node._fields:
        value = getattr(node, field, None)
        if isinstance(value, list):
            for child in value:
                if isinstance(child, ast.AST) and (calls or not isinstance(child, ast.expr)):
                    yield child, optional or field in guarded
        elif isinstance(value, ast.AST) and (calls or not isinstance(value, ast.expr)):
            yield value, optional


def _last_name(node):
    """`b` of the expressions `b` and `a.b`."""
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else None


def catches_import_error(node):
    """Whether an `except` clause with this expression catches an ImportError."""
    if node is None:
        return True
    if isinstance(node, ast.Tuple):
        return any(_last_name(item) in _CATCHES for item in node.elts)
    return _last_name(node) in _CATCHES


# Calls that give context managers which end an exception: of contextlib, pytest and unittest.
_SUPPRESSES = ("suppress", "raises", "assertRaises", "assertRaisesRegex")


def suppresses_import_error(item):
    """Whether an item of a `with` statement suppresses an ImportError, or expects it."""
    call = item.context_expr
    return (
        isinstance(call, ast.Call)
        and _last_name(call.func) in _SUPPRESSES
        and any(_last_name(argument) in _CATCHES for argument in call.args)
    )


def _dynamic_import(call):
    if _last_name(call.func) not in ("import_module", "__import__") or not call.args:
        return None
    name = call.args[0]
    if isinstance(name, ast.Constant) and type(name.value) is str and name.value[:1] != ".":
        return name.value
    return None


def _add(found, name, optional, member=""):
    """Notes the first part of `name`; of a namespace all of it, with what is imported from there."""
    top = name.partition(".")[0]
    if top in _NAMESPACES:
        name = name + "." + member if member.isidentifier() else name
    else:
        name = top
    if name in found:
        found[name] = found[name] and optional
    elif top not in STANDARD and len(found) < MAX_NAMES and _is_module_name(name) and not _is_local(top):
        found[name] = optional


def _is_module_name(name):
    for part in name.split("."):
        if not part.isidentifier():
            return False
    return True


def _is_local(name):
    """Whether the working directory holds a module of this name."""
    try:
        if os.path.isfile(name + ".py"):
            return True
        return os.path.isdir(name) and any(entry.endswith(".py") for entry in os.listdir(name))
    except (OSError, ValueError):
        return False
