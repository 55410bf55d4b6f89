# /// script
# dependencies = ["sequential-thinking-mcp==0.10.2"]
# ///
from sequential_thinking.__main__ import cli

cli()
