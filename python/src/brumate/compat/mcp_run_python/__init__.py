"""The interface of the package `mcp_run_python` 0.0.22, upon Brumate's sandbox.

    from brumate.compat.mcp_run_python import code_sandbox

takes the place of `from mcp_run_python import code_sandbox`. There is no Deno. Code has no network, and
`allow_networking` is accepted.
"""

from __future__ import annotations

from ... import __version__
from ._environment import (
    DenoEnv,
    Environment,
    async_prepare_deno_env,
    async_prepare_env,
    prepare_deno_env,
    prepare_env,
    run_mcp_server,
)
from ._sandbox import CodeSandbox, JsonData, LoggingLevel, LogHandler, RunError, RunSuccess, code_sandbox

__all__ = [
    "CodeSandbox",
    "DenoEnv",
    "Environment",
    "JsonData",
    "LogHandler",
    "LoggingLevel",
    "RunError",
    "RunSuccess",
    "__version__",
    "async_prepare_deno_env",
    "async_prepare_env",
    "code_sandbox",
    "prepare_deno_env",
    "prepare_env",
    "run_mcp_server",
]
