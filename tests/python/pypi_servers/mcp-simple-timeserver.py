# /// script
# dependencies = ["mcp-simple-timeserver==3.3.2"]
# ///
from mcp_simple_timeserver.server import app

app.run()
