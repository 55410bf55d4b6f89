# /// script
# dependencies = ["mcp-dice==0.1.2"]
# ///
from mcp_dice import main

main()
