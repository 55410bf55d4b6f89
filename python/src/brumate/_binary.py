"""The binary that this package drives."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sysconfig
from pathlib import Path

from ._errors import BinaryNotFoundError

#: The environment variable that names another binary.
VARIABLE = "BRUMATE_BINARY"

#: The environment variable that names the file with the binary's packages.
BUNDLE_VARIABLE = "BRUMATE_BUNDLE_FILE"
#: The package that has this file.
BUNDLE_PACKAGE = "brumate_bundle"


def find_binary() -> str:
    """Returns the path of the `brumate` binary.

    It is what the environment variable `BRUMATE_BINARY` names, else the one that was installed with this package, else
    the first on `PATH`.

    Raises:
        BinaryNotFoundError: there is none.
    """
    named = os.environ.get(VARIABLE)
    if named:
        if not os.access(named, os.X_OK):
            raise BinaryNotFoundError(f"{VARIABLE} names {named!r}, which is no program that can be started")
        return named
    candidates = [Path(sysconfig.get_path("scripts", scheme)) / "brumate" for scheme in _schemes()]
    # A directory given to `pip install --target`.
    candidates.append(Path(__file__).parent.parent / "bin" / "brumate")
    for candidate in candidates:
        if os.access(candidate, os.X_OK):
            return str(candidate)
    found = shutil.which("brumate")
    if found:
        return found
    raise BinaryNotFoundError(
        "the program `brumate` is not installed beside this package, nor on PATH; install a wheel of this package for "
        f"your platform (Linux on x86-64 or AArch64), or name the program in {VARIABLE}"
    )


def environment() -> dict[str, str]:
    """Returns the environment of the binary: the variables of this process, and the file with the binary's packages.

    Where pip puts this file, the binary finds it itself. In a directory on `PYTHONPATH`, only Python finds it.
    """
    variables = dict(os.environ)
    if VARIABLE not in variables and BUNDLE_VARIABLE not in variables:
        found = importlib.util.find_spec(BUNDLE_PACKAGE)
        if found is not None and found.origin is not None:
            file = Path(found.origin).parent / "brumate.bundle"
            if file.is_file():
                variables[BUNDLE_VARIABLE] = str(file)
    return variables


def without_usage(messages: str) -> str:
    """Returns the binary's message about wrong options, without the usage of its command line."""
    text = messages.partition("\n\nUsage: ")[0].partition("\n\nFor more information, ")[0]
    return text.removeprefix("error: ").removeprefix("brumate: ").strip()


def _schemes() -> list[str]:
    user = sysconfig.get_preferred_scheme("user")
    return [sysconfig.get_default_scheme(), user]
