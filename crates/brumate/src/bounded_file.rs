//! Reading of files with a limit.

use std::fs::File;
use std::io::{Error, ErrorKind, Read};
use std::path::Path;

use brumate_session::units::format_size;

/// Reads at most `limit` bytes.
///
/// # Errors
///
/// The system's error, or [`ErrorKind::FileTooLarge`].
#[expect(clippy::disallowed_methods, reason = "at most a given number of bytes")]
pub(crate) fn read_bounded(input: impl Read, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        let message = format!("it is longer than {}", format_size(limit));
        return Err(Error::new(ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// Reads a file of at most `limit` bytes of UTF-8.
///
/// # Errors
///
/// A text with the file and the reason.
#[expect(clippy::disallowed_methods, reason = "at most a given number of bytes")]
pub(crate) fn read_text(file: &Path, limit: u64) -> Result<String, String> {
    let wrong = |reason: String| format!("{} cannot be read: {reason}", file.display());
    let mut text = String::new();
    let opened = File::open(file).map_err(|error| wrong(error.to_string()))?;
    opened.take(limit.saturating_add(1)).read_to_string(&mut text).map_err(|error| wrong(error.to_string()))?;
    if text.len() as u64 > limit {
        return Err(wrong(format!("it is larger than {limit} bytes")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_are_bounded() {
        assert_eq!(read_bounded(&b"abc"[..], 16 << 20).unwrap(), b"abc");
        let error = read_bounded(std::io::repeat(b'x'), 16 << 20).unwrap_err();
        assert!(error.to_string().contains("16 MiB"), "{error}");
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "abc").unwrap();
        assert_eq!(read_text(file.path(), 3).unwrap(), "abc");
        let error = read_text(file.path(), 2).unwrap_err();
        assert!(error.contains("larger than 2 bytes"), "{error}");
    }
}
