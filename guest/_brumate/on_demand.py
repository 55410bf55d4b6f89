"""Packages of modules that are missing: the host is asked for them when they are imported.

The user's own code gets any module. A library gets what it declares (its requirements and extras) and needs at that
moment: not what it only tries, as `try: import cupy` does.
"""

from .pristine import __builtins__

import ast
import os
import re
import sys
from importlib.machinery import PathFinder

from . import packages

# Modules that were looked for in vain in one run; later ones are not asked for.
MAX_MISSING = 1000
# Bytes of a library's source that are parsed; files, and directories, of which something is remembered.
MAX_SOURCE = 4 << 20
MAX_PARSED = 64
# Extras for a library's developers.
_DEVELOPMENT = frozenset((
    "all", "benchmark", "build", "ci", "dev", "develop", "development", "doc", "docs", "lint", "mypy", "test",
    "testing", "tests", "typing",
))  # fmt: skip

_LIBRARY = "/lib/python3.14/"
_INSTALLED = (_LIBRARY + "site-packages/", packages.DIRECTORY + "/")
_OURS = __file__.rpartition("/")[0] + "/"
_CATCHES = frozenset(("ImportError", "ModuleNotFoundError", "Exception", "BaseException"))
_EXTRA = re.compile(r"""extra\s*==\s*["']([^"']+)["']""")
_NAME = re.compile(r"[A-Za-z0-9._-]+")
# Of pandas: how it imports what it may lack.
_PANDAS_HELPER = "import_optional_dependency"

_get_frame = sys._getframe
_find_spec = PathFinder.find_spec
_standard = frozenset(sys.stdlib_module_names) | frozenset(sys.builtin_module_names) | {"__main__", "_brumate"}


class _Imports:
    # Code is running whose imports may ask.
    active = False
    # (library or "", module) that was looked for in vain.
    missing = set()
    # Requirements by library, and guarded imports by file.
    declared = {}
    parsed = {}
    # Whether packages are installed in a directory.
    places = {}


def start_run():
    """From now on imports ask the host."""
    _Imports.active = True
    _Imports.missing = set()
    _Imports.places = {}


def end_run():
    """Imports do not ask any more."""
    _Imports.active = False


class Finder:
    """Last on `sys.meta_path`: modules that nobody has found."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if not _Imports.active or path is not None or type(name) is not str or not _may_be_asked_for(name):
            return None
        importer = _importer(name)
        if importer is None or len(_Imports.missing) >= MAX_MISSING:
            return None
        library, among = importer
        if (library, name) in _Imports.missing:
            return None
        # An import while the host is asked, of `importlib.metadata` for instance, does not ask again.
        _Imports.active = False
        try:
            packages.install_module(name, among)
        except packages.Nobody:
            return None
        except packages.InstallError:
            _Imports.missing.add((library, name))
            _Imports.active = True
            return None
        except BaseException:
            _Imports.active = True
            raise
        _Imports.active = True
        found = _find_spec(name)
        if found is None:
            _Imports.missing.add((library, name))
        return found

    @staticmethod
    def invalidate_caches():
        pass


def _may_be_asked_for(name):
    return name not in _standard and name.isidentifier() and not name.startswith("_")


def _importer(name):
    """Who imports a module: a library's name and its requirements, two empty ones for the user's code; None for a
    library that does not need the module."""
    frames = []
    frame = _get_frame(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if _root(file):
            frames.append(frame)
        elif not file.startswith(("<frozen ", _OURS, _LIBRARY)):
            break
        elif frame.f_code.co_name == "find_spec" and file.endswith(("importlib/util.py", "importlib.util>")):
            return None  # a question about what there is
        frame = frame.f_back
    if not frames:
        return ("", ()) if frame is not None else None
    file = frames[0].f_code.co_filename
    library = file[len(_root(file)) :].partition("/")[0].partition(".")[0]
    if (library, name) in _Imports.missing:
        return None
    _Imports.active = False
    try:
        if all([_is_needed(frame) for frame in frames]):
            among = declared_by(library)
            if among:
                return library, among
    except Exception:
        pass  # a library that cannot be read
    finally:
        _Imports.active = True
    if len(_Imports.missing) < MAX_MISSING:
        _Imports.missing.add((library, name))
    return None


def _root(file):
    """The directory of installed packages that a file is in; "" for the user's own, and the standard library's."""
    for root in _INSTALLED:
        if file.startswith(root):
            return root
    if file[:1] != "/" or file.startswith((_OURS, _LIBRARY)):
        return ""
    for place in sys.path:
        if type(place) is str and place and file.startswith(place + "/") and _has_packages(place):
            return place + "/"
    return ""


def _has_packages(place):
    """Whether an installer has put packages into a directory."""
    found = _Imports.places.get(place)
    if found is None:
        try:
            found = any([entry.endswith(".dist-info") for entry in os.listdir(place)])
        except OSError:
            found = False
        if len(_Imports.places) < MAX_PARSED:
            _Imports.places[place] = found
    return found


def declared_by(library):
    """The requirements (PEP 508, without markers) of the package that has a module, its extras' among them."""
    found = _Imports.declared.get(library)
    if found is None:
        found = _Imports.declared[library] = tuple(_requirements(library))
    return found


def _requirements(library):
    from importlib import metadata

    try:
        distributions = [metadata.distribution(library)]
    except metadata.PackageNotFoundError:
        distributions = [metadata.distribution(name) for name in metadata.packages_distributions().get(library, ())]
    for distribution in distributions:
        for text in distribution.requires or ():
            requirement, _, marker = text.partition(";")
            extras = set(_EXTRA.findall(marker))
            if (not extras or extras - _DEVELOPMENT) and "@" not in requirement and _NAME.match(requirement):
                yield requirement.strip()


def _is_needed(frame):
    """Whether the code at this line cannot do without what it imports there."""
    if frame.f_code.co_name == _PANDAS_HELPER:
        return frame.f_locals.get("errors", "raise") == "raise"
    line = frame.f_lineno
    return not any([first <= line <= last for first, last in _attempts(frame.f_code.co_filename)])


def _attempts(file):
    """The lines of a file in which a missing module is taken for an answer: (first, last) of each part."""
    found = _Imports.parsed.get(file)
    if found is None:
        if len(_Imports.parsed) >= MAX_PARSED:
            _Imports.parsed.clear()
        found = _Imports.parsed[file] = tuple(_parse_attempts(file))
    return found


def _parse_attempts(file):
    with open(file, "rb") as source:
        tree = ast.parse(source.read(MAX_SOURCE))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Try, ast.TryStar)):
            handlers = [handler for handler in node.handlers if _catches(handler.type)]
            if handlers and not any([_raises(handler) for handler in handlers]):
                yield node.body[0].lineno, node.body[-1].end_lineno
        elif isinstance(node, (ast.With, ast.AsyncWith)) and any([_suppresses(item) for item in node.items]):
            yield node.body[0].lineno, node.body[-1].end_lineno


def _catches(kind):
    if kind is None:
        return True
    if isinstance(kind, ast.Tuple):
        return any([_last_name(item) in _CATCHES for item in kind.elts])
    return _last_name(kind) in _CATCHES


def _suppresses(item):
    call = item.context_expr
    return isinstance(call, ast.Call) and _last_name(call.func) == "suppress" and any(map(_catches, call.args))


def _last_name(node):
    """`b` of the expressions `b` and `a.b`."""
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", None)


def _raises(handler):
    """Whether it ends in an exception, as far as one statement tells."""
    return any([isinstance(node, ast.Raise) for node in ast.walk(handler)])
