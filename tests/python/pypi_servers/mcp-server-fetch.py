# /// script
# dependencies = ["mcp-server-fetch==2026.10.24"]
# ///
from mcp_server_fetch import main

main()
