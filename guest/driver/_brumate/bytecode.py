"""Bytecode of a wheel, made by the machine that has it mounted and runs nothing of it."""

from .pristine import __builtins__

import marshal
import os
import sys
import warnings
import zipfile
from importlib.util import MAGIC_NUMBER, cache_from_source, source_hash

from . import packages

# Bytes of one source file that is compiled, and of all bytecode of a wheel.
MAX_SOURCE = 16 << 20
MAX_TOTAL = 256 << 20

_EPOCH = (1980, 1, 1, 0, 0, 0)
# The interpreter's number, and "hash based, not checked at import" (PEP 552).
_HEAD = MAGIC_NUMBER + b"\1\0\0\0"


def make(target, directory=packages.DIRECTORY):
    """Compiles every module below `directory`; writes a zip archive of `__pycache__` directories to `target`.

    Files that do not compile are left out.
    """
    # What is compiled must not be imported in the place of what the standard library lacks.
    sys.path[:] = [entry for entry in sys.path if entry != directory]
    warnings.simplefilter("ignore")
    total = 0
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for path in _sources(directory):
            data = _compiled(path)
            if data is None:
                continue
            total += len(data)
            if total > MAX_TOTAL:
                break
            name = cache_from_source(os.path.relpath(path, directory), optimization="")
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), data)


def _sources(directory):
    found = []
    for here, directories, files in os.walk(directory):
        directories[:] = [name for name in directories if name != "__pycache__"]
        found += [os.path.join(here, name) for name in files if name.endswith(".py")]
    return sorted(found)


def _compiled(path):
    try:
        if os.path.getsize(path) > MAX_SOURCE:
            return None
        with open(path, "rb") as file:
            source = file.read()
        code = compile(source, path, "exec", dont_inherit=True)
        return _HEAD + source_hash(source) + marshal.dumps(code)
    except (Exception, RecursionError):
        return None
