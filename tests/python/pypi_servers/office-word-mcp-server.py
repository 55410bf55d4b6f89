# /// script
# dependencies = ["office-word-mcp-server==1.1.11"]
# ///
from word_document_server.main import run_server

run_server()
