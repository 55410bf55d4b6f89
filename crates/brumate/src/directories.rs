//! Default directories of a user.

use std::path::PathBuf;

/// Returns the directory of compiled code and wheels: `brumate` in the user's cache (`XDG_CACHE_HOME`, `~/.cache`).
pub fn cache(xdg_cache_home: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    let home_cache = if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" };
    Some(xdg_cache_home.or_else(|| Some(home?.join(home_cache)))?.join("brumate"))
}

/// Returns the directory of sessions: `brumate` in the user's data directory (`XDG_DATA_HOME`, `~/.local/share`).
pub fn data(xdg_data_home: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    let home_data = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".local/share" };
    Some(xdg_data_home.or_else(|| Some(home?.join(home_data)))?.join("brumate"))
}
