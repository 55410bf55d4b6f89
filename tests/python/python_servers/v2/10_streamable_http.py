from mcp.server.mcpserver import MCPServer

# Stateful server (maintains session state)
mcp = MCPServer("StatefulServer")

# Stateless server (no session persistence)
mcp = MCPServer("StatelessServer", stateless_http=True)

# Stateless server (no session persistence, no sse stream with supported client)
mcp = MCPServer("StatelessServer", stateless_http=True, json_response=True)

# Run server with streamable_http transport
mcp.run(transport="streamable-http")
