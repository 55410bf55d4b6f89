"""Packages of modules that are missing: the host is asked for them when they are imported.

The user's own code gets any module. Code of a project that states its requirements gets only what a plain statement of
its own imports. A library gets what it declares (its requirements and extras) and needs at that moment: not what it
only tries, as `try: import cupy` does.
"""

from .pristine import __builtins__

import ast
import os
import re
import sys
from importlib.machinery import PathFinder

from . import packages, streams
from .imports import STANDARD, catches_import_error, suppresses_import_error
from .own_files import OWN

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

_LIBRARY = "/usr/lib/python3.14/"
_INSTALLED = (packages.BUNDLE, packages.DIRECTORY + "/")
_EXTRA = re.compile(r"""extra\s*==\s*["']([^"']+)["']""")
_NAME = re.compile(r"[A-Za-z0-9._-]+")
# Ends of the path of `importlib.util`.
_ASKING = ("importlib/util.py", "importlib.util>")
# Ends of the path of `runpy`.
_RUNNING = ("/runpy.py", "<frozen runpy>")
# Paths of the import system: its core, and the loaders of files.
_BOOTSTRAP = "<frozen importlib._bootstrap>"
_LOADERS = "<frozen importlib._bootstrap_external>"
# Of pandas: how it imports what it may lack.
_PANDAS_HELPER = "import_optional_dependency"

_get_frame = sys._getframe
_find_spec = PathFinder.find_spec


class _Imports:
    # Code is running whose imports may ask.
    active = False
    # Whether the code belongs to a project that states its requirements, and the modules that it got beyond them.
    stated = False
    beyond = []
    # (library or "", module) that was looked for in vain.
    missing = set()
    # Requirements by library, and imports by file.
    declared = {}
    parsed = {}
    # Whether packages are installed in a directory.
    places = {}


def start_run(stated=False):
    """From now on imports ask the host. `stated`: the code belongs to a project that states its requirements."""
    _Imports.active = True
    _Imports.stated = stated
    _Imports.beyond = []
    _Imports.missing = set()
    _Imports.places = {}


def end_run():
    """Imports do not ask any more."""
    _Imports.active = False


def tell_beyond():
    """Writes to standard error which modules a project got beyond its requirements."""
    if _Imports.beyond:
        names = ", ".join(sorted(set(_Imports.beyond)))
        streams.write_error(f"brumate: fetched {names}: imported by the project, and in none of its requirements\n")


class Finder:
    """Last on `sys.meta_path`: modules that nobody has found."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if not _Imports.active or path is not None or type(name) is not str or not _may_be_asked_for(name):
            return None
        importers = _importers()
        if importers is None or len(_Imports.missing) >= MAX_MISSING:
            return None
        frames, own = importers
        if frames and _is_imported_by_extension(_get_frame(1)):
            return None
        library = _library_of(_file_of(frames[0])) if frames else ""
        if (library, name) in _Imports.missing or (_Imports.stated and not library and not _is_plain(own, name)):
            return None
        # Imports meanwhile, of `importlib.metadata` for instance, do not ask.
        _Imports.active = False
        try:
            installed = _install(name, library, frames)
        except packages.Nobody:
            return None  # nor is anybody there for the rest of the run
        except BaseException:
            _Imports.active = True
            raise
        _Imports.active = True
        found = _find_spec(name) if installed else None
        # A module that is only tried may be needed later.
        if found is None and installed is not None:
            _Imports.missing.add((library, name))
        if found is not None and _Imports.stated and not library:
            _Imports.beyond.append(name)
        return found

    @staticmethod
    def invalidate_caches():
        pass


def _may_be_asked_for(name):
    return name not in STANDARD and name.isidentifier() and not name.startswith("_")


def _importers():
    """The frames of libraries between an import and the user's code, the innermost first, and the frame of that code
    or None; None instead if nothing is asked."""
    frames = []
    frame = _get_frame(2)
    while frame is not None:
        file = _file_of(frame)
        if _root(file):
            frames.append(frame)
        elif not file.startswith(("<frozen ", *OWN, _LIBRARY)) or runs_a_module(frame):
            return frames, frame
        elif _asks(frame) and not runs_a_module(frame.f_back):
            return None
        frame = frame.f_back
    return (frames, None) if frames else None


def _is_imported_by_extension(frame):
    """Whether an extension module imports the module while it is initialized. Its source is not there, so nobody sees
    whether it only tries. What it cannot do without came with it as a requirement."""
    while frame is not None and frame.f_code.co_filename == _BOOTSTRAP:
        if frame.f_code.co_name == "_call_with_frames_removed":
            caller = frame.f_back
            if caller is not None and caller.f_code.co_filename == _LOADERS:
                return caller.f_code.co_name in ("create_module", "exec_module")
        frame = frame.f_back
    return False


def _file_of(frame):
    """The file of a frame's code. Code that was made from a text has the file of the module that it runs in."""
    file = frame.f_code.co_filename
    if file[:1] == "<" and not file.startswith("<frozen "):
        of_module = frame.f_globals.get("__file__")
        if type(of_module) is str:
            return of_module
    return file


def _asks(frame):
    """Whether a frame is that of `importlib.util.find_spec`: a question about what there is."""
    return frame.f_code.co_name == "find_spec" and frame.f_code.co_filename.endswith(_ASKING)


def runs_a_module(frame):
    """Whether a frame is one of `runpy`, which looks for a module that the user has named, and runs it."""
    return frame is not None and frame.f_code.co_filename.endswith(_RUNNING)


def asker(frame):
    """The frame that asks whether a module is there; None when one imports it. `frame` is the import system's."""
    while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib._bootstrap"):
        frame = frame.f_back
    return frame.f_back if frame is not None and _asks(frame) else None


def _library_of(file):
    return file[len(_root(file)) :].partition("/")[0].partition(".")[0]


def _install(name, library, frames):
    """Has the package of a module mounted, if whoever imports it may have it. Returns whether it is mounted; None for a
    module that is only tried."""
    among = ()
    if library:
        try:
            if not _are_needed(frames):
                return None
            among = declared_by(library)
        except Exception:
            pass  # a library that cannot be read
        if not among:
            return False
    try:
        packages.install_module(name, among)
    except packages.Nobody:
        raise
    except packages.InstallError:
        return False
    return True


def _root(file):
    """The directory of installed packages that a file is in; "" for the user's own, and the standard library's."""
    for root in _INSTALLED:
        if file.startswith(root):
            return root
    if file[:1] != "/" or file.startswith((*OWN, _LIBRARY)):
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


def _are_needed(frames):
    for frame in frames:
        if not _is_needed(frame):
            return False
    return True


def _is_needed(frame):
    """Whether the code at this line cannot do without what it imports there."""
    if frame.f_code.co_name == _PANDAS_HELPER:
        return frame.f_locals.get("errors", "raise") == "raise"
    line, file = frame.f_lineno, frame.f_code.co_filename
    # Code that was made from a text has no file that could be read.
    return file[:1] == "<" or not _is_in(line, _imports_of(file)[0])


def _is_plain(frame, name):
    """Whether a statement of this frame's file imports the module, and the file does not do without it."""
    if runs_a_module(frame):
        return True
    try:
        return name in _imports_of(frame.f_code.co_filename)[1]
    except Exception:
        return False  # no file that could be read


def _imports_of(file):
    """The lines of a file in which a missing module is taken for an answer: (first, last) of each part; and the modules
    that its other lines import."""
    found = _Imports.parsed.get(file)
    if found is None:
        if len(_Imports.parsed) >= MAX_PARSED:
            _Imports.parsed.clear()
        found = _Imports.parsed[file] = _parse_imports(file)
    return found


def _parse_imports(file):
    with open(file, "rb") as source:
        tree = ast.parse(source.read(MAX_SOURCE))
    attempts, imports = [], []
    for node in ast.walk(tree):
        if isinstance(node, (ast.Try, ast.TryStar)):
            handlers = [handler for handler in node.handlers if catches_import_error(handler.type)]
            if handlers and not any([_raises(handler) for handler in handlers]):
                attempts.append((node.body[0].lineno, node.body[-1].end_lineno))
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            if any([suppresses_import_error(item) for item in node.items]):
                attempts.append((node.body[0].lineno, node.body[-1].end_lineno))
        elif isinstance(node, ast.Import):
            imports += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            imports.append((node.lineno, node.module))
    plain = [name.partition(".")[0] for line, name in imports if not _is_in(line, attempts)]
    return attempts, frozenset(plain)


def _is_in(line, parts):
    return any([first <= line <= last for first, last in parts])


def _raises(handler):
    """Whether it ends in an exception, as far as one statement tells."""
    return any([isinstance(node, ast.Raise) for node in ast.walk(handler)])
