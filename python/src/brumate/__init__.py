"""Python for AI agents, in a sandbox.

`Sandbox` runs code in a fresh interpreter, `Sandbox.session` in one that keeps its state. `AsyncSandbox` is the same
for asyncio.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._binary import find_binary
from ._errors import (
    BinaryNotFoundError,
    BrumateError,
    BusyError,
    CancelledError,
    CodeError,
    FileError,
    SandboxError,
    SessionError,
    SessionLostError,
    SessionNotFoundError,
)
from ._process import close_all
from ._results import Event, Figure, File, Output, Result
from ._sandbox import Sandbox, Session

if TYPE_CHECKING:
    from ._async import AsyncSandbox, AsyncSession

__version__ = "0.1.0"

__all__ = [
    "AsyncSandbox",
    "AsyncSession",
    "BinaryNotFoundError",
    "BrumateError",
    "BusyError",
    "CancelledError",
    "CodeError",
    "Event",
    "Figure",
    "File",
    "FileError",
    "Output",
    "Result",
    "Sandbox",
    "SandboxError",
    "Session",
    "SessionError",
    "SessionLostError",
    "SessionNotFoundError",
    "close_all",
    "find_binary",
]


def load_ipython_extension(ipython: Any) -> None:
    """Adds `%%sandbox` to an IPython shell: `%load_ext brumate`."""
    from . import _magic

    _magic.load(ipython)


def __getattr__(name: str) -> Any:
    """Imports the asynchronous interface when it is used: asyncio takes longer to import than all the rest."""
    if name in ("AsyncSandbox", "AsyncSession"):
        from . import _async

        return getattr(_async, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Returns the public names."""
    return sorted([*__all__, "__all__", "__doc__", "__file__", "__name__", "__path__", "__version__"])
