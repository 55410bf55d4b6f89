"""`python -m brumate.compat.mcp_run_python` is the command `mcp-run-python`."""

from ._cli import cli

if __name__ == "__main__":
    cli()
