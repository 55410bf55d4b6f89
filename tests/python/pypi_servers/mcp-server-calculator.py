# /// script
# dependencies = ["mcp-server-calculator==0.2.1"]
# ///
from mcp_server_calculator import main

main()
