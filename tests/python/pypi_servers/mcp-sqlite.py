# /// script
# dependencies = ["mcp-sqlite==0.3.2"]
# ///
from mcp_sqlite.server import main_cli

main_cli()
