"""`code_sandbox` and what it returns."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal, TypedDict, Union

from ... import AsyncSandbox, Output, Result
from ..._errors import SandboxError

JsonData = Union[str, bool, int, float, None, "list[JsonData]", "dict[str, JsonData]"]
LoggingLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
LogHandler = Callable[[LoggingLevel, str], None]

#: The level at which each stream is logged.
_LEVELS: dict[str, LoggingLevel] = {"stdout": "info", "stderr": "warning"}


class RunSuccess(TypedDict):
    """The code ran to its end."""

    status: Literal["success"]
    #: lines of stdout and stderr
    output: list[str]
    return_value: JsonData


class RunError(TypedDict):
    """The code failed, or a package cannot be had."""

    status: Literal["install-error", "run-error"]
    output: list[str]
    error: str


class CodeSandbox:
    """Runs code, each time in a fresh interpreter."""

    def __init__(self, sandbox: AsyncSandbox, log_handler: LogHandler | None) -> None:
        self._sandbox = sandbox
        self._log_handler = log_handler

    async def eval(self, code: str, globals: dict[str, Any] | None = None) -> RunSuccess | RunError:
        """Runs code in the sandbox.

        Args:
            code: the source text; the value of the last expression is returned
            globals: variables that it begins with
        """
        text: list[str] = []
        lines = _Lines(self._log_handler)
        result: Result | None = None
        async for event in self._sandbox.stream(code, globals):
            if isinstance(event, Output):
                text.append(event.text)
                lines.add(event)
            elif isinstance(event, Result):
                result = event
        lines.end()
        if result is None:
            raise SandboxError("the run ended without a result")
        whole = "".join(text)
        output = whole.removesuffix("\n").split("\n") if whole else []
        if result.success:
            return {"status": "success", "output": output, "return_value": result.value}
        status: Literal["install-error", "run-error"] = (
            "install-error" if result.status == "install-error" else "run-error"
        )
        return {"status": status, "output": output, "error": result.error or ""}


class _Lines:
    """Hands output to the log handler, a line at a time."""

    def __init__(self, handler: LogHandler | None) -> None:
        self._handler = handler
        self._open = {"stdout": "", "stderr": ""}

    def add(self, output: Output) -> None:
        *whole, self._open[output.stream] = (self._open[output.stream] + output.text).split("\n")
        for line in whole:
            self._log(output.stream, line)

    def end(self) -> None:
        for stream, rest in self._open.items():
            if rest:
                self._log(stream, rest)

    def _log(self, stream: str, line: str) -> None:
        if self._handler is not None:
            self._handler(_LEVELS[stream], line)


@asynccontextmanager
async def code_sandbox(
    *,
    dependencies: list[str] | None = None,
    log_handler: LogHandler | None = None,
    allow_networking: bool = True,
) -> AsyncGenerator[CodeSandbox, None]:
    """Creates a sandbox.

    Args:
        dependencies: packages that every run gets
        log_handler: is called with each line that code prints (`info`; of stderr `warning`), and with what is installed
            (`debug`)
        allow_networking: accepted; code has no network

    Raises:
        RuntimeError: a dependency cannot be had.
    """
    sandbox = AsyncSandbox(packages=dependencies or [])
    if dependencies:
        # The original installs when it is created, and fails then.
        installed = await sandbox.run("")
        if installed.status == "install-error":
            raise RuntimeError(installed.error)
        if log_handler is not None:
            log_handler("debug", f"Loaded {', '.join(installed.packages)}")
    yield CodeSandbox(sandbox, log_handler)
