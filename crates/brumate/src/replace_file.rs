//! Replacing files as a whole.

use std::fs;
use std::path::Path;

/// Writes a file atomically: readers find the old text or the new one. It keeps the permissions of the old file.
///
/// # Errors
///
/// The system's. The old file stays.
pub(crate) fn replace_file(path: &Path, text: &str) -> std::io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    let temporary = Path::new(&name);
    let keep_permissions = || match fs::metadata(path) {
        Ok(old) => fs::set_permissions(temporary, old.permissions()),
        Err(_) => Ok(()),
    };
    let written =
        fs::write(temporary, text).and_then(|()| keep_permissions()).and_then(|()| fs::rename(temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(temporary);
    }
    written
}
