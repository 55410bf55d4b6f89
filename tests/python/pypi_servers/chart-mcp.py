# /// script
# dependencies = ["chart-mcp==0.1.1"]
# ///
from chart_mcp import main

main()
