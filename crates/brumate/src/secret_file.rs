//! Files with a secret: a token, or a client secret.

use std::io::Read as _;
use std::path::Path;

/// Largest file, in bytes.
const MAX_SECRET: u64 = 64 << 10;

/// Reads the secret in a file. `option`: the option that names the file, for errors.
pub(crate) fn read_secret(path: &Path, option: &str) -> Result<String, String> {
    let wrong = |reason: String| format!("{option}: {} cannot be read: {reason}", path.display());
    let file = std::fs::File::open(path).map_err(|error| wrong(error.to_string()))?;
    let mut text = String::new();
    #[expect(clippy::disallowed_methods, reason = "at most a named number of bytes")]
    file.take(MAX_SECRET + 1).read_to_string(&mut text).map_err(|error| wrong(error.to_string()))?;
    if text.len() as u64 > MAX_SECRET {
        return Err(wrong(format!("it has more than {MAX_SECRET} bytes")));
    }
    check_secret(text.trim().to_owned(), &format!("{option}: {}", path.display()))
}

/// Checks that a secret can be sent in a header. Errors do not contain it. `source`: a file or a variable, for errors.
pub(crate) fn check_secret(secret: String, source: &str) -> Result<String, String> {
    if secret.is_empty() {
        return Err(format!("{source} is empty: put the secret in it, on one line"));
    }
    if !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!(
            "{source} has spaces, several lines or non-ASCII characters: put only the secret in it, on one line"
        ));
    }
    Ok(secret)
}
