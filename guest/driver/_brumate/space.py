"""The module `__main__` that guest code runs in: a new one for each run, or the one a session keeps."""

from .pristine import __builtins__

import builtins
import importlib.machinery
import linecache
import os
import sys

from .ignored import print_ignored
from .scalars import without_digit_limit
from .text import parse

DEFAULT_FILE_NAME = "main.py"
# File name of the code of `python -c`, as in Python.
COMMAND_NAME = "<string>"
# Home and working directory of sessions, inside the sandbox.
WORKSPACE = "/workspace"

_Module = type(sys)
_FileFinder = importlib.machinery.FileFinder
_FileLoader = importlib.machinery.SourceFileLoader


class Space:
    """A namespace and what belongs to it from one cell to the next."""

    __slots__ = ("module", "namespace", "file_name", "futures", "cells", "entered_from")

    def __init__(self):
        self.module = _Module("__main__")
        self.namespace = self.module.__dict__
        self.file_name = DEFAULT_FILE_NAME
        self.futures = 0
        self.cells = 0
        self.entered_from = None

    def enter(self, request, session, cell=False, script=False):
        """Makes this the `__main__` of the process, with the request's names, arguments and environment.

        A notebook's `cell` has no `__file__`. The one of a `script` is absolute, and modules are looked for beside it.
        A module that runs as a program (`python -m`) gets its own from `runpy`; modules are looked for in the working
        directory.
        """
        if request.get("directory"):
            os.chdir(request["directory"])
        module = request.get("mode") == "module"
        name = request.get("file_name") or (f"<cell {self.cells + 1}>" if session else DEFAULT_FILE_NAME)
        if not session:
            # What an earlier run of the same process left behind.
            sys.excepthook = sys.__excepthook__
            sys.displayhook = sys.__displayhook__
            sys.unraisablehook = print_ignored
        else:
            self.cells += 1
            if name in linecache.cache:
                # Functions of an earlier cell keep pointing at that cell's text.
                name = f"<{name.strip('<>')} {self.cells}>"
        sys.argv = request.get("argv") or [name]
        if script:
            sys.orig_argv = ["python", *sys.argv]
            if module or name == COMMAND_NAME:
                sys.orig_argv[1:2] = ["-m" if module else "-c", request["code"]]
            cell = module or name[:1] == "<"
            name = name if cell else os.path.abspath(name)
            _look_first_in(os.getcwd() if module else "" if cell else os.path.dirname(name))
        elif not session:
            _look_first_in("")
        self.file_name = name
        names = self.namespace
        extra = request.get("globals_json")
        if extra:
            extra = without_digit_limit(parse, extra)
            if type(extra) is not dict:
                raise ValueError("globals_json: not a JSON object")
            names.update(extra)
        names["__name__"] = "__main__"
        if script:
            named = name[:1] != "<"
            names["__loader__"] = _FileLoader("__main__", name) if named else importlib.machinery.BuiltinImporter
        if not cell:
            names["__file__"] = name
        else:
            names.pop("__file__", None)
        names["__builtins__"] = builtins
        sys.modules["__main__"] = self.module
        env = request.get("env")
        if env:
            os.environ.update(env)
        if not session:
            _read_variables(dict(env or ()))
        forget_stale_paths()
        return self


# The first place that modules are looked for in: that of the last script, or the working directory.
_first = ""


def _look_first_in(directory):
    global _first
    if directory == _first:
        return
    if sys.path[:1] == [_first]:
        sys.path[0] = directory
    else:
        sys.path.insert(0, directory)
    _first = directory


# Places of `PYTHONPATH` that are on `sys.path`.
_given = []


def _read_variables(env):
    """Applies the variables that Python reads at its start."""
    global _given
    text = env.get("PYTHONPATH")
    before, _given = _given, list(dict.fromkeys(map(os.path.abspath, text.split(":")))) if text else []
    if before or _given:
        # Behind the program's own place. A place that is there already comes earlier now.
        sys.path[1:] = [*_given, *[place for place in sys.path[1:] if place not in before and place not in _given]]
    if env.get("PYTHONDONTWRITEBYTECODE"):
        sys.dont_write_bytecode = True
    if env.get("PYTHONWARNINGS"):
        import warnings

        options = env["PYTHONWARNINGS"].split(",")
        sys.warnoptions.extend(options)
        warnings._processoptions(options)


# Scripts that were put into the file system.
_scripts = set()


def put_script(path, data):
    """Puts a script's bytes where its `__file__` says, for code that reads it. A file that is there stays, unless it is
    the script of an earlier run."""
    if sys.platform != "emscripten" or path[:1] == "<":
        return
    path = os.path.abspath(path)
    try:
        with open(path, "wb" if path in _scripts else "xb") as file:
            _scripts.add(path)
            file.write(data)
    except (OSError, ValueError):
        pass  # code that reads it will see why


_session = None
# What the user is called.
USER = os.environ.get("USER", "user")
# Where the user's home is at first; a session has its own.
_boot_home = os.environ.get("HOME", "/")


def set_home(directory):
    """Makes a directory the user's home, until a session begins."""
    global _boot_home
    _boot_home = os.environ["HOME"] = directory


def home():
    """The user's home, whatever code has made of `HOME`."""
    return WORKSPACE if _session is not None and sys.platform == "emscripten" else _boot_home


def open_space(request, session, cell=False, script=False):
    """The space for a request, entered."""
    global _session
    if not session:
        return Space().enter(request, False, script=script)
    if _session is None:
        _session = Space()
        _session.entered_from = _enter_workspace()
    return _session.enter(request, True, cell)


def _enter_workspace():
    """Makes the session's directory the home and working directory. Returns what they were."""
    before = os.environ.get("HOME"), os.getcwd()
    if sys.platform == "emscripten":
        try:
            os.makedirs(WORKSPACE, exist_ok=True)
            os.chdir(WORKSPACE)
            os.environ["HOME"] = WORKSPACE
        except OSError:
            pass  # a file system that is full, or read-only
    return before


def forget_session():
    """Leaves the session as if it had never been; for images."""
    global _session
    if _session is None:
        return
    (home, directory), _session = _session.entered_from, None
    os.chdir(directory)
    if home is not None:
        os.environ["HOME"] = home


def forget_stale_paths():
    """Lets imports see directories that appeared after the last run (or after boot, before the fork).

    `importlib.invalidate_caches` would also make zipimport read the directory of the standard library's zip again.
    """
    finders = sys.path_importer_cache
    # Written to only when it knows something: each finder lies on a page of its own.
    knowing = [
        path
        for path, finder in finders.items()
        if finder is None or type(finder) is not _FileFinder or finder._path_mtime != -1
    ]
    for path in knowing:
        finder = finders[path]
        if finder is None:
            del finders[path]
        elif getattr(finder, "_path_mtime", -1) != -1:
            finder._path_mtime = -1
