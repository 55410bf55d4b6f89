//! Exceptions of the checks, each with its reason.

use crate::workspace;
use anyhow::{Context, Result};
use serde::Deserialize;

/// The file of the exceptions.
pub(super) const FILE: &str = "crates/xtask/structure.toml";

/// All exceptions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Exceptions {
    #[serde(default)]
    pub(super) duplicate: Vec<Duplicate>,
}

/// Two files that may have lines in common.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Duplicate {
    pub(super) files: [String; 2],
    /// Why one piece of code does not serve both.
    pub(super) reason: String,
}

/// Reads the exceptions.
///
/// # Errors
/// If the file cannot be read.
pub(super) fn read() -> Result<Exceptions> {
    let text = std::fs::read_to_string(workspace::root().join(FILE)).context(FILE)?;
    toml::from_str(&text).context(FILE)
}
