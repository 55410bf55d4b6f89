"""Every module of the standard library imports, but those that `missing.toml` lists with a reason."""

import gc
import hashlib
import importlib
import operator
import os
import socket
import sys
import tomllib
import warnings
import weakref
import webbrowser

from checks import equal, raises

with open(os.path.join(os.path.dirname(__file__), "missing.toml"), "rb") as file:
    MISSING = {name: entry["why"] for entry in tomllib.load(file)["reason"] for name in entry["modules"]}

# They open a browser, or print a poem.
EASTER_EGGS = {"antigravity", "this"}
# Pyodide's own, in the same directory; the sandbox has no JavaScript and refuses them.
FOREIGN = {"_pyodide", "pyodide"}


def files(directory, prefix=""):
    """The modules and packages below a directory, by name."""
    for entry in os.scandir(directory):
        stem, extension = os.path.splitext(entry.name)
        if entry.is_dir() and os.path.exists(f"{entry.path}/__init__.py"):
            yield prefix + entry.name
            yield from files(entry.path, f"{prefix}{entry.name}.")
        elif extension == ".py" and not stem.startswith("__"):
            yield prefix + stem


def all_modules():
    names = set(sys.stdlib_module_names) | set(files(os.path.dirname(os.__file__)))
    return sorted(name for name in names if name.partition(".")[0] not in FOREIGN | EASTER_EGGS)


def is_missing(name):
    parts = name.split(".")
    return any(".".join(parts[:n]) in MISSING for n in range(1, len(parts) + 1))


def import_error(name):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            importlib.import_module(name)
    except ImportError as error:
        return error
    return None


def test_every_module_imports_but_the_listed_ones():
    names = all_modules()
    assert len(names) > 600, len(names)
    unexpected = {name: str(error) for name in names if not is_missing(name) and (error := import_error(name))}
    assert not unexpected, unexpected


def test_what_is_listed_as_missing_is():
    present = sorted(name for name in MISSING if import_error(name) is None)
    assert not present, present
    unknown = sorted(name for name in MISSING if name.partition(".")[0] not in sys.stdlib_module_names)
    assert not unknown, unknown


def test_javascript_is_refused_with_a_reason():
    for name in ("js", "pyodide", "pyodide.ffi", "_pyodide_core"):
        assert "without JavaScript" in str(import_error(name)), name


def test_the_platform_says_what_it_is():
    version = sys.version_info
    found = (sys.implementation.name, version[:2], sys.platform, os.name, sys.byteorder, sys.maxsize)
    assert found == ("cpython", (3, 14), "emscripten", "posix", "little", 2**31 - 1), found


def test_what_this_build_leaves_out_is_there():
    key = hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 2, 20)
    equal(key.hex(), "ae4d0c95af6b46d32d0adff928f06dd02a303f8e")
    with raises(ValueError):
        hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 0)
    equal(socket.inet_pton(socket.AF_INET6, "2001:db8::1"), bytes.fromhex("20010db8" + "0" * 23 + "1"))
    equal(socket.inet_ntop(socket.AF_INET6, bytes(10) + b"\xff\xff\1\2\3\4"), "::ffff:1.2.3.4")
    with raises(OSError):
        socket.inet_pton(socket.AF_INET6, "2001:db8::1::")
    equal(webbrowser.open("https://example.org"), False)
    with raises(webbrowser.Error, "could not locate runnable browser"):
        webbrowser.get()


def test_a_cycle_through_a_methodcaller_is_collected():
    class Items(list):
        pass

    items = Items()
    caller = operator.methodcaller("append", items)
    items.append(caller)
    gone = weakref.ref(items)
    del items
    # What only the methodcaller reaches comes after it in the collector's list, which so clears the methodcaller first.
    gc.collect()
    assert gone() is not None
    del caller
    gc.collect()
    assert gone() is None
