# /// script
# dependencies = ["mcp-server-qdrant==0.8.1"]
# ///
from mcp_server_qdrant.main import main

main()
