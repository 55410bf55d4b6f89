# /// script
# dependencies = ["mcp-hashlib==0.1.2"]
# ///
from mcp_hashlib.__main__ import run

run()
