//! Files that hold a secret of the command line: a token, or a client's secret.

use std::io::Read as _;
use std::path::Path;

/// The largest file of a token or a secret, in bytes.
const MAX_SECRET: u64 = 64 << 10;

pub(crate) fn read_secret(path: &Path, option: &str) -> Result<String, String> {
    let wrong = |reason: String| format!("{option}: {} cannot be read: {reason}", path.display());
    let file = std::fs::File::open(path).map_err(|error| wrong(error.to_string()))?;
    let mut text = String::new();
    #[expect(clippy::disallowed_methods, reason = "at most a named number of bytes")]
    file.take(MAX_SECRET + 1).read_to_string(&mut text).map_err(|error| wrong(error.to_string()))?;
    if text.len() as u64 > MAX_SECRET {
        return Err(wrong(format!("it has more than {MAX_SECRET} bytes")));
    }
    usable(text.trim().to_owned(), &format!("{option}: {}", path.display()))
}

/// Refuses what no header can carry. What it is is not shown.
pub(crate) fn usable(secret: String, place: &str) -> Result<String, String> {
    if secret.is_empty() {
        return Err(format!("{place} is empty: put the secret in it, on one line"));
    }
    if !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!(
            "{place} has spaces, lines or signs that are not ASCII: put the secret alone in it, on one line"
        ));
    }
    Ok(secret)
}
