"""The command `mcp-run-python`."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence

from . import __version__
from ._environment import run_mcp_server
from ._sandbox import LoggingLevel

_logger = logging.getLogger("mcp-run-python-install")


def cli() -> None:
    """Runs the command, and ends the program with its exit status."""
    sys.exit(cli_logic())


def cli_logic(args_list: Sequence[str] | None = None) -> int:
    """Runs the command with these arguments; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="mcp-run-python", description="MCP server for running untrusted Python code, by Brumate."
    )
    parser.add_argument("--port", type=int, help="Port to run the server on, default 3001.")
    parser.add_argument("--deps", "--dependencies", help="Comma separated list of dependencies to install")
    parser.add_argument("--disable-networking", action="store_true", help="Accepted: code has no network")
    parser.add_argument("--verbose", action="store_true", help="Enable verbose logging")
    parser.add_argument("--version", action="store_true", help="Show version and exit")
    modes = ["stdio", "streamable-http", "streamable-http-stateless", "example"]
    parser.add_argument("mode", choices=modes, nargs="?", help="Mode to run the server in.")
    args = parser.parse_args(args_list)
    if args.version:
        print(f"mcp-run-python {__version__} (brumate)")
        return 0
    if not args.mode:
        parser.error("Mode is required")
    logging.basicConfig(level=logging.DEBUG if args.verbose else logging.INFO, stream=sys.stderr, format="%(message)s")
    return run_mcp_server(
        args.mode.replace("-", "_"),
        http_port=args.port,
        dependencies=args.deps.split(",") if args.deps else [],
        deps_log_handler=_log,
        allow_networking=not args.disable_networking,
        verbose=args.verbose,
    )


def _log(level: LoggingLevel, message: str) -> None:
    numbers = {"debug": logging.DEBUG, "info": logging.INFO}
    _logger.log(numbers.get(level, logging.WARNING), "install: %s", message)
