//! The clients, and how each writes an entry.

use std::fmt;
use std::str::FromStr;

/// An MCP client whose configuration file this crate edits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Client {
    /// Claude Desktop: `claude_desktop_config.json`.
    ClaudeDesktop,
    /// Claude Code, for all projects of a user: `.claude.json`.
    ClaudeCode,
    /// Cursor, for all projects of a user: `mcp.json`.
    Cursor,
    /// Visual Studio Code, the user's default profile: `mcp.json`.
    VsCode,
}

impl Client {
    /// All clients, in the order in which help lists them.
    pub const ALL: [Client; 4] = [Client::ClaudeDesktop, Client::ClaudeCode, Client::Cursor, Client::VsCode];

    /// Returns the name on the command line, such as `claude-desktop`.
    pub fn name(self) -> &'static str {
        match self {
            Client::ClaudeDesktop => "claude-desktop",
            Client::ClaudeCode => "claude-code",
            Client::Cursor => "cursor",
            Client::VsCode => "vscode",
        }
    }

    /// Returns the product's name, such as `Claude Desktop`.
    pub fn title(self) -> &'static str {
        match self {
            Client::ClaudeDesktop => "Claude Desktop",
            Client::ClaudeCode => "Claude Code",
            Client::Cursor => "Cursor",
            Client::VsCode => "Visual Studio Code",
        }
    }

    /// Returns the key of the object that has an entry for each server.
    pub fn key(self) -> &'static str {
        match self {
            Client::VsCode => "servers",
            _ => "mcpServers",
        }
    }

    /// Returns true if the client documents comments and trailing commas as allowed in its file. The others read JSON alone.
    pub fn reads_comments(self) -> bool {
        self == Client::VsCode
    }

    /// Returns true if an entry names its transport: `"type": "stdio"`.
    pub(crate) fn writes_type(self) -> bool {
        matches!(self, Client::ClaudeCode | Client::VsCode)
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// No client has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is no client: use {}", Client::ALL.map(Client::name).join(", "))]
pub struct UnknownClient {
    name: String,
}

impl FromStr for Client {
    type Err = UnknownClient;

    fn from_str(name: &str) -> Result<Client, UnknownClient> {
        Client::ALL
            .into_iter()
            .find(|client| client.name() == name)
            .ok_or_else(|| UnknownClient { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for client in Client::ALL {
            assert_eq!(client.to_string().parse(), Ok(client));
        }
        let error = "emacs".parse::<Client>().expect_err("no client").to_string();
        assert_eq!(error, "`emacs` is no client: use claude-desktop, claude-code, cursor, vscode");
    }
}
