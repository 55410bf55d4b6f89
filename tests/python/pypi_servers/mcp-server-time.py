# /// script
# dependencies = ["mcp-server-time==2026.10.19"]
# ///
from mcp_server_time import main

main()
