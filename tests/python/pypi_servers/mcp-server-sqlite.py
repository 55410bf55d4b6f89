# /// script
# dependencies = ["mcp-server-sqlite==2025.4.25"]
# ///
from mcp_server_sqlite import main

main()
