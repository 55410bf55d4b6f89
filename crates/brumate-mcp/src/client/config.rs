//! The file in which MCP clients name their servers: `{"mcpServers": {NAME: {…}}}`.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The largest file, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// A server of the file: a command, or an address.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ServerConfig {
    /// The program to start.
    #[serde(default)]
    pub command: Option<String>,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Variables of its environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The directory it is started in.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    /// The address to connect to.
    #[serde(default, alias = "serverUrl")]
    pub url: Option<String>,
    /// Headers of every request.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The transport: `stdio`, `http` (also `streamable-http`) or `sse`. Without it a command means the first, an address the second.
    #[serde(default, rename = "type", alias = "transport")]
    pub transport: Option<String>,
    /// Whether clients skip the server.
    #[serde(default)]
    pub disabled: bool,
}

impl std::fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Arguments, variables and headers may be secrets.
        f.debug_struct("ServerConfig").field("command", &self.command).field("url", &self.url).finish_non_exhaustive()
    }
}

/// Why a file of servers cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", path.display())]
pub struct ConfigError {
    path: PathBuf,
    reason: String,
}

/// Reads the servers of a file, by their names; those that are disabled are left out.
///
/// # Errors
///
/// The file cannot be read, or is none.
#[expect(clippy::disallowed_methods, reason = "a file that the program names")]
pub fn read_config(path: impl AsRef<Path>) -> Result<BTreeMap<String, ServerConfig>, ConfigError> {
    #[derive(Deserialize)]
    struct File {
        // VS Code's name for it.
        #[serde(rename = "mcpServers", alias = "servers")]
        servers: BTreeMap<String, ServerConfig>,
    }
    let path = path.as_ref();
    let failed = |reason: String| ConfigError { path: path.to_owned(), reason };
    let size = std::fs::metadata(path).map_err(|error| failed(error.to_string()))?.len();
    if size > MAX_FILE {
        return Err(failed(format!("it has more than {MAX_FILE} bytes")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    let File { mut servers } = serde_json::from_str(&text).map_err(|error| failed(error.to_string()))?;
    servers.retain(|_, server| !server.disabled);
    Ok(servers)
}
