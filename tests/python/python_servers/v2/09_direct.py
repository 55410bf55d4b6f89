from mcp.server.mcpserver import MCPServer

mcp = MCPServer("My App")

if __name__ == "__main__":
    mcp.run()
