# /// script
# dependencies = ["mcp-datetime==0.1.4"]
# ///
from mcp_datetime import main

main()
