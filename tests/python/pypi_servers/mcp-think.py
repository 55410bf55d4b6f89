# /// script
# dependencies = ["mcp-think==0.2.2"]
# ///
from mcp_think.__main__ import main

main()
