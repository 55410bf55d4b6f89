# /// script
# dependencies = ["mcp-pandas==0.5.1"]
# ///
from mcp_pandas import main

main()
