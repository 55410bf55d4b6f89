# /// script
# dependencies = ["mcp-server-git==2026.10.19"]
# ///
from mcp_server_git import main

main()
