"""Exceptions of this package."""

from __future__ import annotations

from typing import Any


class BrumateError(Exception):
    """The base class of all exceptions of this package."""


class BinaryNotFoundError(BrumateError):
    """There is no `brumate` binary to start."""


class SandboxError(BrumateError):
    """The sandbox could not run the code: it does not start, it has ended, or it is misused."""


class BusyError(SandboxError):
    """As many sessions are in use as there may be; try again later."""


class CancelledError(SandboxError):
    """The call was cancelled before its code ran."""


class SessionError(BrumateError):
    """A session cannot be used."""


class SessionNotFoundError(SessionError):
    """There is no such session, or it has expired."""


class SessionLostError(SessionError):
    """The state of a session is gone."""


class FileError(BrumateError):
    """A file of a session cannot be read or written."""


class CodeError(BrumateError):
    """The code in the sandbox failed. The text is its traceback, or what ended it."""

    def __init__(self, message: str, status: str) -> None:
        super().__init__(message)
        #: `run-error`, or `install-error` when a package cannot be had
        self.status = status

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickle makes an exception from its `args`, which lack the status.
        return type(self), (str(self), self.status), self.__dict__


_BY_KIND: dict[str, type[BrumateError]] = {
    "busy": BusyError,
    "cancelled": CancelledError,
    "session-not-found": SessionNotFoundError,
    "session-lost": SessionLostError,
    "session": SessionError,
    "file": FileError,
}


def of_kind(kind: str, message: str) -> BrumateError:
    """Returns the exception for an error of the binary."""
    # What follows is advice for models, which call tools.
    text = message.partition(" Please create a new session")[0]
    return _BY_KIND.get(kind, SandboxError)(text)
