# /// script
# dependencies = ["mcp-server-math==0.1.0"]
# ///
from mcp_server_math import main

main()
