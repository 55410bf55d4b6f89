"""The module `__main__` that guest code runs in: a new one for each run, or the one a session keeps."""

from .pristine import __builtins__

import builtins
import linecache
import os
import sys

from .ignored import print_ignored
from .text import parse

DEFAULT_FILE_NAME = "main.py"

_Module = type(sys)


class Space:
    """A namespace and what belongs to it from one cell to the next."""

    __slots__ = ("module", "namespace", "file_name", "futures", "cells")

    def __init__(self):
        self.module = _Module("__main__")
        self.namespace = self.module.__dict__
        self.file_name = DEFAULT_FILE_NAME
        self.futures = 0
        self.cells = 0

    def enter(self, request, session):
        """Makes this the `__main__` of the process, with the request's names, arguments and environment."""
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
        self.file_name = name
        names = self.namespace
        extra = request.get("globals_json")
        if extra:
            extra = parse(extra)
            if type(extra) is not dict:
                raise ValueError("globals_json: not a JSON object")
            names.update(extra)
        names["__name__"] = "__main__"
        names["__file__"] = name
        names["__builtins__"] = builtins
        sys.modules["__main__"] = self.module
        sys.argv = request.get("argv") or [name]
        env = request.get("env")
        if env:
            os.environ.update(env)
        _forget_stale_paths()
        return self


_session = None


def open_space(request, session):
    """The space for a request, entered."""
    global _session
    if not session:
        return Space().enter(request, False)
    if _session is None:
        _session = Space()
    return _session.enter(request, True)


def _forget_stale_paths():
    """Lets imports see directories that appeared after the last run (or after boot, before the fork).

    `importlib.invalidate_caches` would also make zipimport read the directory of the standard library's zip again.
    """
    finders = sys.path_importer_cache
    for path, finder in list(finders.items()):
        if finder is None:
            del finders[path]
        elif hasattr(finder, "_path_mtime"):
            finder._path_mtime = -1
