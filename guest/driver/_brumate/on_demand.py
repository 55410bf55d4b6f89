"""Packages for missing modules. When code imports a missing module, the host is asked for its package.

The user's own code gets any module. In a project that states its requirements, code gets only the modules that a plain
import statement of the project imports. A library gets a module only if two conditions hold: it declares the package
(in its requirements or extras), and it needs the module at that moment. It does not need a module that it only tries to
import, as in `try: import cupy`.
"""

from .pristine import __builtins__

import ast
import os
import re
import sys
from importlib.machinery import PathFinder

from . import import_hooks, packages, streams
from .imports import STANDARD, catches_import_error, suppresses_import_error
from .own_files import OWN

# Most modules that one run may look for in vain. After that the host is not asked any more.
MAX_MISSING = 1000
# Most bytes of a source file that are parsed.
MAX_SOURCE = 4 << 20
# Most files, and most directories, whose results are remembered.
MAX_PARSED = 64
# Extras that are only for the developers of a library. They do not count as declared.
_DEVELOPMENT = frozenset((
    "all", "benchmark", "build", "ci", "dev", "develop", "development", "doc", "docs", "lint", "mypy", "test",
    "testing", "tests", "typing",
))  # fmt: skip

_LIBRARY = "/usr/lib/python3.14/"
_INSTALLED = (packages.BUNDLE, packages.DIRECTORY + "/")
_EXTRA = re.compile(r"""extra\s*==\s*["']([^"']+)["']""")
_NAME = re.compile(r"[A-Za-z0-9._-]+")
# Possible endings of the path of `importlib.util` in a frame.
_ASKING = ("importlib/util.py", "importlib.util>")
# Possible endings of the path of `runpy` in a frame.
_RUNNING = ("/runpy.py", "<frozen runpy>")
# Paths of the import system: its core, and the loaders of files.
_BOOTSTRAP = "<frozen importlib._bootstrap>"
_LOADERS = "<frozen importlib._bootstrap_external>"
# Function of pandas that imports its optional dependencies.
_PANDAS_HELPER = "import_optional_dependency"

_get_frame = sys._getframe
_find_spec = PathFinder.find_spec


class _Imports:
    # Whether imports may ask the host. They may while code of a run is running.
    active = False
    # `stated`: whether the code belongs to a project that states its requirements. `beyond`: the modules that the
    # project got in addition to its requirements.
    stated = False
    beyond = []
    # Pairs of a library (or "") and a module that it looked for in vain.
    missing = set()
    # Requirements by library, and imports by file.
    declared = {}
    parsed = {}
    # For each directory that was checked, whether it has installed packages.
    places = {}


def start_run(stated=False):
    """Makes imports ask the host from now on. `stated`: the code belongs to a project that states its requirements."""
    _Imports.active = True
    _Imports.stated = stated
    _Imports.beyond = []
    _Imports.missing = set()
    _Imports.places = {}


def end_run():
    """Makes imports stop asking the host."""
    _Imports.active = False


def tell_beyond():
    """Writes to standard error the names of the modules that a project got in addition to its requirements."""
    if _Imports.beyond:
        names = ", ".join(sorted(set(_Imports.beyond)))
        streams.write_error(
            f"brumate: fetched {names}, which the project imports but does not have in its requirements\n"
        )


class Finder:
    """Finder for modules that no other finder has found. It is the last one on `sys.meta_path`."""

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
        # Imports during the installation do not ask the host, for example the import of `importlib.metadata`.
        _Imports.active = False
        try:
            installed = _install(name, library, frames)
        except packages.Nobody:
            return None  # no one installs packages in this run, so imports no longer ask the host
        except BaseException:
            _Imports.active = True
            raise
        _Imports.active = True
        found = (import_hooks.Finder.find_spec(name) or _find_spec(name)) if installed else None
        # If a library only tried the module, `installed` is None. The module may be needed later, so it is not noted as
        # missing.
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
    """Returns a pair: the frames of libraries between an import and the user's code, the innermost first, and the frame
    of the user's code or None. Returns None instead of a pair if the host is not to be asked."""
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
    """Returns whether an extension module imports the module during its own initialization. An extension module has no
    source here, so it is unknown whether it only tries the import. The packages that it needs were installed together
    with it, as its requirements."""
    while frame is not None and frame.f_code.co_filename == _BOOTSTRAP:
        if frame.f_code.co_name == "_call_with_frames_removed":
            caller = frame.f_back
            if caller is not None and caller.f_code.co_filename == _LOADERS:
                return caller.f_code.co_name in ("create_module", "exec_module")
        frame = frame.f_back
    return False


def _file_of(frame):
    """Returns the file of a frame's code. For code that was compiled from a string, it is the file of the module in
    which the code runs."""
    file = frame.f_code.co_filename
    if file[:1] == "<" and not file.startswith("<frozen "):
        of_module = frame.f_globals.get("__file__")
        if type(of_module) is str:
            return of_module
    return file


def _asks(frame):
    """Returns whether a frame belongs to `importlib.util.find_spec`. Such code only asks whether a module exists."""
    return frame.f_code.co_name == "find_spec" and frame.f_code.co_filename.endswith(_ASKING)


def runs_a_module(frame):
    """Returns whether a frame belongs to `runpy`, which finds a module by the name that the user gave, and runs it."""
    return frame is not None and frame.f_code.co_filename.endswith(_RUNNING)


def asker(frame):
    """Returns the frame that asks with `find_spec` whether a module exists. Returns None if the module is imported
    instead. `frame` is a frame of the import system."""
    while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib._bootstrap"):
        frame = frame.f_back
    return frame.f_back if frame is not None and _asks(frame) else None


def _library_of(file):
    return file[len(_root(file)) :].partition("/")[0].partition(".")[0]


def _install(name, library, frames):
    """Asks the host to mount the package of a module, if the importing code may have the package. Returns whether the
    package was mounted. Returns None if a library only tries the module."""
    among = ()
    if library:
        try:
            if not _are_needed(frames):
                return None
            among = declared_by(library)
        except Exception:
            pass  # the library cannot be read, so it gets nothing
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
    """Returns the directory of installed packages that contains a file. Returns "" for files of the user, of the
    standard library and of Brumate."""
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
    """Returns whether a directory has packages from an installer."""
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
    """Returns the requirements (PEP 508, without markers) of the package that contains a module. The requirements of
    its extras are included, except extras for developers."""
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
    """Returns whether the code of a frame needs the module that it imports at its current line."""
    if frame.f_code.co_name == _PANDAS_HELPER:
        return frame.f_locals.get("errors", "raise") == "raise"
    line, file = frame.f_lineno, frame.f_code.co_filename
    # Code that was compiled from a string has no file to read, so the module counts as needed.
    return file[:1] == "<" or not _is_in(line, _imports_of(file)[0])


def _is_plain(frame, name):
    """Returns whether a plain import statement in the frame's file imports the module. A statement in a part that
    handles a missing module does not count. For `runpy` always returns True."""
    if runs_a_module(frame):
        return True
    try:
        return name in _imports_of(frame.f_code.co_filename)[1]
    except Exception:
        return False  # the file cannot be read or parsed


def _imports_of(file):
    """Returns a pair: the parts of a file that handle a missing module, each as (first line, last line), and the
    modules that the other lines import."""
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
    """Returns whether an exception handler contains a `raise` statement anywhere. Then it is assumed to end with an
    exception."""
    return any([isinstance(node, ast.Raise) for node in ast.walk(handler)])
