"""Starting the server: `run_mcp_server`, and the command line that it is started with."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ... import Sandbox, find_binary
from ._sandbox import LogHandler

logger = logging.getLogger(__name__)

Mode = Literal["stdio", "streamable_http", "streamable_http_stateless", "example"]
_HTTP_MODES = ("streamable_http", "streamable_http_stateless")


@dataclass
class Environment:
    """What a server is started with: `command` with `args`, in `cwd`."""

    cwd: Path
    args: list[str]
    command: str = "brumate"


#: The name that the original gives it.
DenoEnv = Environment


@contextmanager
def prepare_env(
    mode: Mode,
    *,
    http_port: int | None = None,
    dependencies: list[str] | None = None,
    return_mode: Literal["json", "xml"] = "xml",
    deps_log_handler: LogHandler | None = None,
    allow_networking: bool = True,
) -> Generator[Environment, None, None]:
    """Gets the dependencies of a server, and yields what it is started with. The directory is removed at the end.

    Raises:
        RuntimeError: a dependency cannot be had.
        ValueError: a port was given for a mode that has none.
    """
    if http_port is not None and mode not in _HTTP_MODES:
        raise ValueError("Port is only supported for `streamable_http` modes")
    if dependencies:
        installed = Sandbox(packages=dependencies).run("")
        if installed.status == "install-error":
            raise RuntimeError(installed.error)
        if deps_log_handler is not None:
            deps_log_handler("debug", f"Loaded {', '.join(installed.packages)}")
    arguments = [mode.replace("_", "-")]
    if mode != "example":
        arguments.append(f"--return-mode={return_mode}")
    if dependencies:
        arguments.append(f"--deps={','.join(dependencies)}")
    if http_port is not None:
        arguments.append(f"--port={http_port}")
    with tempfile.TemporaryDirectory(prefix="brumate-") as directory:
        yield Environment(Path(directory), arguments, find_binary())


@asynccontextmanager
async def async_prepare_env(
    mode: Mode,
    *,
    http_port: int | None = None,
    dependencies: list[str] | None = None,
    return_mode: Literal["json", "xml"] = "xml",
    deps_log_handler: LogHandler | None = None,
    allow_networking: bool = True,
) -> AsyncGenerator[Environment, None]:
    """As `prepare_env`, for asyncio."""
    context = prepare_env(
        mode,
        http_port=http_port,
        dependencies=dependencies,
        return_mode=return_mode,
        deps_log_handler=deps_log_handler,
        allow_networking=allow_networking,
    )
    environment = await asyncio.to_thread(context.__enter__)
    try:
        yield environment
    finally:
        await asyncio.to_thread(context.__exit__, None, None, None)


prepare_deno_env = prepare_env
async_prepare_deno_env = async_prepare_env


def run_mcp_server(
    mode: Mode,
    *,
    http_port: int | None = None,
    dependencies: list[str] | None = None,
    return_mode: Literal["json", "xml"] = "xml",
    deps_log_handler: LogHandler | None = None,
    allow_networking: bool = True,
    verbose: bool = False,
) -> int:
    """Runs the server until its client leaves or it is interrupted; returns its exit status.

    Args:
        mode: the transport, or `example`
        http_port: of the HTTP modes; 3001 when not given
        dependencies: packages that every run gets
        return_mode: how results are written
        deps_log_handler: is called with what is installed
        allow_networking: accepted; code has no network
        verbose: the server logs to standard error
    """
    with prepare_env(
        mode,
        http_port=http_port,
        dependencies=dependencies,
        return_mode=return_mode,
        deps_log_handler=deps_log_handler,
        allow_networking=allow_networking,
    ) as environment:
        logger.info("Running brumate via %s...", mode)
        arguments = [environment.command, *environment.args, *(["--verbose"] if verbose else [])]
        try:
            return subprocess.run(arguments, cwd=environment.cwd, stderr=sys.stderr if verbose else None).returncode
        except KeyboardInterrupt:
            logger.warning("Server stopped.")
            return 0
