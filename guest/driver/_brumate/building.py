"""Source distributions become wheels (PEP 517), in a machine that has nothing but the archive and the backend.

The host calls `inspect`, mounts what the build requires, calls `requirements`, mounts what that names, and calls
`build`.
The archive comes through standard input. The host does not trust the answers of these functions: code of the
distribution may have changed them.
"""

from .pristine import __builtins__

import contextlib
import importlib
import os
import shutil
import sys
import tarfile
import tomllib
import zipfile
from email.parser import HeaderParser

# Most entries of an archive, most bytes of its files together, and most bytes unpacked from one byte.
MAX_ENTRIES = 20_000
MAX_BYTES = 256 << 20
MAX_RATIO = 200
# Archives that unpack to less are not held to the ratio.
SMALL = 16 << 20
MAX_PYPROJECT = 1 << 20
MAX_PKG_INFO = 8 << 20
# Characters of the headers of `PKG-INFO`.
MAX_HEADERS = 1 << 20

PLACE = "/tmp/build"
ARCHIVE = f"{PLACE}/archive"
SOURCE = f"{PLACE}/source"
WHEELS = f"{PLACE}/wheels"

# Backend, and what it requires, of projects whose `pyproject.toml` names none (PEP 517, PEP 518).
_LEGACY = ("setuptools.build_meta:__legacy__", ["setuptools>=40.8.0"])

# Backends that do nothing but drive compilers.
_COMPILING_BACKENDS = (
    "maturin", "mesonpy", "scikit_build_core", "skbuild", "setuptools_rust", "sipbuild", "py_build_cmake", "enscons",
    "cppyy_backend", "pybind11", "nanobind",
)  # fmt: skip
_COMPILERS = (
    "cc", "gcc", "g++", "c++", "clang", "clang++", "cmake", "make", "ninja", "meson", "cargo", "rustc", "swig",
)  # fmt: skip
_COMPILED_SOURCES = (".c", ".cc", ".cpp", ".cxx", ".pyx", ".pxd", ".rs", ".f", ".f90", ".go", ".cu")
_MODULES = (".so", ".pyd", ".dll", ".dylib", ".a", ".o")


class BuildError(Exception):
    """The archive cannot be built; the text says why."""


class Compiled(BuildError):
    """It has parts that a compiler would have to make; the text names them."""


def inspect(name):
    """Unpacks the archive `name` from standard input. Returns what its build requires, and its static metadata."""
    return _answer(_inspect, name)


def requirements():
    """Returns what the backend requires beyond what `inspect` returned."""
    return _answer(_requirements)


def build():
    """Builds the wheel. Returns its path and its file name."""
    return _answer(_build)


def _answer(function, *arguments):
    """Calls a function; an error becomes an answer, since the host reads no tracebacks of strangers."""
    try:
        return function(*arguments)
    except KeyboardInterrupt:
        raise
    except Compiled as error:
        return {"error": str(error), "compiled": True}
    except BaseException as error:
        compiled = _compiled_parts(error)
        if compiled:
            return {"error": compiled, "compiled": True}
        return {"error": _described(error), "compiled": False}


def _described(error):
    if isinstance(error, BuildError):
        return str(error)
    if isinstance(error, SystemExit):
        return f"it ended with {error.code!r}" if not isinstance(error.code, str) else error.code
    return f"{type(error).__name__}: {error}"


# The archive.


def _inspect(name):
    for directory in (SOURCE, WHEELS):
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(directory)
    with open(ARCHIVE, "wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    try:
        (_unpack_zip if name.endswith(".zip") else _unpack_tar)(ARCHIVE, SOURCE)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, ValueError, NotImplementedError) as error:
        raise BuildError(f"the archive cannot be unpacked: {error}") from error
    finally:
        os.remove(ARCHIVE)
    root = _root()
    backend, requires, _ = _build_system(root)
    compiler = backend.partition(":")[0].partition(".")[0]
    if compiler in _COMPILING_BACKENDS:
        raise Compiled(f"its build backend is `{compiler}`")
    metadata = None if _has_compiled_sources(root) else _static_metadata(root)
    return {"requires": requires, "metadata": metadata}


class _Allowance:
    """Counts the entries and bytes that an archive unpacks to."""

    def __init__(self, archive):
        self.entries = MAX_ENTRIES
        self.bytes = min(MAX_BYTES, max(SMALL, os.path.getsize(archive) * MAX_RATIO))

    def take(self, size, entries=1):
        self.entries -= entries
        self.bytes -= size
        if self.entries < 0:
            raise BuildError(f"the archive has more than {MAX_ENTRIES} entries")
        if self.bytes < 0:
            raise BuildError(
                f"the archive unpacks to more than {MAX_BYTES >> 20} MiB, or to more than {MAX_RATIO} times its size"
            )


def _unpack_tar(archive, directory):
    allowance = _Allowance(archive)
    # The stream is read once: what is refused has not been unpacked.
    with tarfile.open(archive, "r:*") as tar:
        for member in tar:
            allowance.take(member.size if member.isreg() else 0)
            # `data` refuses what leads out of the directory, links among it, and devices.
            tar.extract(member, directory, filter="data")


def _unpack_zip(archive, directory):
    allowance = _Allowance(archive)
    with zipfile.ZipFile(archive) as unpacked:
        for entry in unpacked.infolist():
            parts = entry.filename.replace("\\", "/").split("/")
            if entry.filename.startswith("/") or ".." in parts or ":" in parts[0]:
                raise BuildError(f"the archive has an entry outside of its directory: {entry.filename!r}")
            if (entry.external_attr >> 16) & 0o170000 == 0o120000:
                raise BuildError(f"the archive has a link: {entry.filename!r}")
            target = os.path.join(directory, *parts)
            allowance.take(0)
            if entry.is_dir():
                os.makedirs(target, exist_ok=True)
                continue
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with unpacked.open(entry) as source, open(target, "wb") as file:
                # The size that the directory states is not believed.
                while piece := source.read(1 << 16):
                    allowance.take(len(piece), entries=0)
                    file.write(piece)


def _root():
    """The one directory of a source distribution."""
    places = [os.path.join(SOURCE, name) for name in os.listdir(SOURCE) if name != "__MACOSX"]
    found = [place for place in places if _is_project(place)]
    if len(found) == 1:
        return found[0]
    if _is_project(SOURCE):
        return SOURCE
    raise BuildError(
        "the archive is no source distribution: it has no directory with a `pyproject.toml` or a `setup.py`"
    )


def _is_project(directory):
    return any(os.path.isfile(os.path.join(directory, name)) for name in ("pyproject.toml", "setup.py", "setup.cfg"))


def _build_system(root):
    """Returns the backend, what it requires, and the directories of the backend's own code."""
    path = os.path.join(root, "pyproject.toml")
    if not os.path.isfile(path):
        return *_LEGACY, []
    try:
        if os.path.getsize(path) > MAX_PYPROJECT:
            raise BuildError("its `pyproject.toml` is too large")
        with open(path, "rb") as file:
            table = tomllib.load(file).get("build-system")
    except (ValueError, OSError) as error:
        raise BuildError(f"its `pyproject.toml` cannot be read: {error}") from error
    if table is None:
        return *_LEGACY, []
    requires = table.get("requires") if isinstance(table, dict) else None
    if not _are_texts(requires):
        raise BuildError("`[build-system]` in its `pyproject.toml` has no list `requires`")
    backend = table.get("build-backend", _LEGACY[0])
    paths = table.get("backend-path", [])
    if not isinstance(backend, str) or not _are_texts(paths):
        raise BuildError("`build-backend` or `backend-path` in its `pyproject.toml` is of the wrong type")
    root = os.path.realpath(root)
    inside = [os.path.realpath(os.path.join(root, path)) for path in paths]
    if any(os.path.commonpath([root, path]) != root for path in inside):
        raise BuildError("`backend-path` in its `pyproject.toml` leads out of the archive")
    return backend, requires, inside


def _are_texts(value):
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _static_metadata(root):
    """`PKG-INFO`, if what it says of requirements holds for every wheel (PEP 643)."""
    path = os.path.join(root, "PKG-INFO")
    if not os.path.isfile(path) or os.path.getsize(path) > MAX_PKG_INFO:
        return None
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    headers = HeaderParser().parsestr(text)
    try:
        version = tuple(int(part) for part in headers.get("Metadata-Version", "").split("."))
    except ValueError:
        return None
    dynamic = {field.strip().lower() for field in headers.get_all("Dynamic", [])}
    if version < (2, 2) or dynamic & {"requires-dist", "requires-python", "provides-extra", "version", "name"}:
        return None
    # The description is no part of what is resolved. Line ends are "\n": the file was read as text.
    text = text.partition("\n\n")[0] + "\n"
    return text if len(text) <= MAX_HEADERS else None


def _has_compiled_sources(root):
    return any(name.endswith(_COMPILED_SOURCES) for _, _, names in os.walk(root) for name in names)


# The backend.


def _backend():
    """Makes the project the working directory, and imports its backend."""
    root = _root()
    name, _, paths = _build_system(root)
    module, _, attribute = name.partition(":")
    os.chdir(root)
    sys.argv = ["build"]
    # Backends are not looked for in the working directory (PEP 517).
    sys.path[:] = [*paths, *[place for place in sys.path if place not in ("", *paths)]]
    try:
        found = importlib.import_module(module)
        for part in filter(None, attribute.split(".")):
            found = getattr(found, part)
    except ImportError as error:
        if error.name is not None and module.split(".")[0] == error.name.split(".")[0]:
            raise BuildError(f"its build backend `{module}` is not among what its build requires: {error}") from error
        raise
    return found


def _requirements():
    hook = getattr(_backend(), "get_requires_for_build_wheel", None)
    more = [] if hook is None else hook({})
    if not isinstance(more, list):
        raise BuildError("its build backend does not return a list of requirements")
    return {"requires": [str(text) for text in more]}


def _build():
    backend = _backend()
    path = _wheel_of(backend)
    if not _is_pure(path) and not _has_modules(path):
        # Every compiled part was optional and has been left out. setuptools remembers the directories that it has made,
        # by their paths: the second build has others.
        second = SOURCE + "-without-extensions"
        shutil.copytree(os.getcwd(), second, symlinks=True)
        os.chdir(second)
        with _without_extensions():
            path = _wheel_of(backend)
    if not _is_pure(path):
        raise Compiled(_compiled_parts(None) or f"its wheel is `{os.path.basename(path)}`")
    return {"path": path, "name": os.path.basename(path)}


def _wheel_of(backend):
    shutil.rmtree(WHEELS, ignore_errors=True)
    os.makedirs(WHEELS)
    name = backend.build_wheel(WHEELS, {}, None)
    path = os.path.join(WHEELS, os.path.basename(str(name)))
    if not os.path.isfile(path):
        raise BuildError(f"its build backend names the wheel {name!r}, and has not made it")
    return path


def _is_pure(path):
    return path.endswith("-none-any.whl")


def _has_modules(path):
    with zipfile.ZipFile(path) as wheel:
        return any(name.endswith(_MODULES) for name in wheel.namelist())


@contextlib.contextmanager
def _without_extensions():
    distribution = sys.modules.get("setuptools.dist")
    if distribution is None:
        yield
        return
    original = distribution.Distribution.has_ext_modules
    distribution.Distribution.has_ext_modules = lambda self: False
    try:
        yield
    finally:
        distribution.Distribution.has_ext_modules = original


def _compiled_parts(error):
    """Names the parts of the distribution that need a compiler; None if there are none."""
    core = sys.modules.get("distutils.core") or sys.modules.get("setuptools._distutils.core")
    distribution = getattr(core, "_setup_distribution", None)
    for attribute in ("ext_modules", "cffi_modules", "rust_extensions", "libraries"):
        parts = getattr(distribution, attribute, None)
        if parts:
            names = sorted({str(getattr(part, "name", part)) for part in parts})
            return ", ".join(f"`{name}`" for name in names[:5]) + (" and others" if names[5:] else "")
    while error is not None:
        if type(error).__name__ in ("CompileError", "LinkError", "CCompilerError", "UnknownFileError"):
            return str(error)
        if isinstance(error, FileNotFoundError) and os.path.basename(str(error.filename)) in _COMPILERS:
            return f"its build starts `{error.filename}`"
        error = error.__cause__ or error.__context__
    return None
