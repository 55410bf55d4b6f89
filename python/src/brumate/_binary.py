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

#: The environment variable by which the binary is told where its packages are, and the package that has them.
BUNDLE_VARIABLE = "BRUMATE_BUNDLE_FILE"
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
    """Returns the environment variables of a process of the binary: this one's, and where the binary's packages are.

    The binary finds them itself where pip puts them. Elsewhere, as in a directory on `PYTHONPATH`, only Python does.
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
    """Returns what the binary says of wrong options, without the usage of its command line."""
    text = messages.partition("\n\nUsage: ")[0].partition("\n\nFor more information, ")[0]
    return text.removeprefix("error: ").removeprefix("brumate: ").strip()


def _schemes() -> list[str]:
    user = sysconfig.get_preferred_scheme("user")
    return [sysconfig.get_default_scheme(), user]
