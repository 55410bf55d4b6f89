# /// script
# dependencies = ["mcp-timeserver==0.1.0"]
# ///
from mcp_timeserver import main

main()
