# /// script
# dependencies = ["mcp-text-editor==1.2.2"]
# ///
from mcp_text_editor import run

run()
