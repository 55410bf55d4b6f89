# /// script
# dependencies = ["excel-mcp-server==0.1.8"]
# ///
from excel_mcp.__main__ import app

app()
