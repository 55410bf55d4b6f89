//! The file in which MCP clients name their servers: `{"mcpServers": {NAME: {…}}}`.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The largest file, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// A server of the file: a command or a URL.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ServerConfig {
    /// The program to start.
    #[serde(default)]
    pub command: Option<String>,
    /// The arguments of the program.
    #[serde(default)]
    pub args: Vec<String>,
    /// Environment variables of the program.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The working directory of the program.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    /// The URL to connect to.
    #[serde(default, alias = "serverUrl")]
    pub url: Option<String>,
    /// Headers of every request.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The transport: `stdio`, `http` (also `streamable-http`) or `sse`. Without it, a command means `stdio` and a URL
    /// `http`.
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

/// The reason why a file of servers cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", path.display())]
pub struct ConfigError {
    path: PathBuf,
    reason: String,
}

/// Reads the servers of a file by name. Disabled servers are left out.
///
/// # Errors
///
/// Returns an error if the file cannot be read, has more than 1 MiB, or is not valid.
#[expect(clippy::disallowed_methods, reason = "a file that the program names")]
pub fn read_config(path: impl AsRef<Path>) -> Result<BTreeMap<String, ServerConfig>, ConfigError> {
    #[derive(Deserialize)]
    struct File {
        // VS Code calls it `servers`.
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
