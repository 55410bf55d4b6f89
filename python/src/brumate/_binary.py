"""The binary that this package drives."""

from __future__ import annotations

import os
import shutil
import sysconfig
from pathlib import Path

from ._errors import BinaryNotFoundError

#: The environment variable that names another binary.
VARIABLE = "BRUMATE_BINARY"


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


def without_usage(messages: str) -> str:
    """Returns what the binary says of wrong options, without the usage of its command line."""
    text = messages.partition("\n\nUsage: ")[0].partition("\n\nFor more information, ")[0]
    return text.removeprefix("error: ").removeprefix("brumate: ").strip()


def _schemes() -> list[str]:
    user = sysconfig.get_preferred_scheme("user")
    return [sysconfig.get_default_scheme(), user]
