//! Checks of paths that are sent to machines, and of listings and pieces of files that come from them.

use super::error::truncate_bytes;
use crate::api::{EngineError, FileChunk, FileError, FileInfo, MAX_NEW_FILES};

/// Longest path, in bytes: what the guest's own calls accept.
const MAX_PATH: usize = 4095;

/// Returns the error for a file that cannot be read or changed.
pub(super) fn refused(reason: impl Into<String>) -> EngineError {
    EngineError::File(FileError::Other(reason.into()))
}

/// Returns the error for a machine's error about a file.
pub(super) fn failed(error: FileError) -> EngineError {
    match error {
        FileError::Other(reason) => refused(truncate_bytes(reason)),
        error => EngineError::File(error),
    }
}

/// Returns `path` if it may be sent to a machine.
pub(super) fn checked(path: &str) -> Result<String, EngineError> {
    match path {
        path if !path.starts_with('/') => Err(refused("the path must be absolute")),
        path if path.len() > MAX_PATH => Err(refused("the path is too long")),
        path if path.contains('\0') => Err(refused("the path contains a null character")),
        path => Ok(path.to_owned()),
    }
}

/// Whether a correct machine could have sent this listing.
pub(super) fn is_listing(files: &[FileInfo]) -> bool {
    let is_name = |name: &str| !name.is_empty() && !name.starts_with('.') && !name.contains('\0');
    files.iter().all(|file| file.path.len() <= MAX_PATH && file.path.split('/').all(is_name))
        && files.is_sorted_by(|a, b| a.path < b.path)
}

/// Whether a correct machine could have named these files in an outcome.
pub(super) fn are_new_files(files: &[FileInfo]) -> bool {
    let below_root =
        |file: &FileInfo| FileInfo { path: file.path.get(1..).unwrap_or_default().to_owned(), ..file.clone() };
    files.len() <= MAX_NEW_FILES
        && files.iter().all(|file| file.path.starts_with('/'))
        && is_listing(&files.iter().map(below_root).collect::<Vec<_>>())
}

/// Whether a correct machine could have sent this piece.
pub(super) fn is_piece(chunk: &FileChunk, offset: u64, length: usize) -> bool {
    let end = offset.saturating_add(chunk.bytes.len() as u64);
    chunk.bytes.len() <= length && (chunk.bytes.is_empty() || end <= chunk.size)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(paths: &[&str]) -> Vec<FileInfo> {
        paths.iter().map(|&path| FileInfo { path: path.to_owned(), size: 0, modified: 0, stamp: 0 }).collect()
    }

    #[test]
    fn listings_that_cannot_be_are_refused() {
        assert!(is_listing(&listing(&["a", "a b/c\n", "b"])));
        let long = "x".repeat(MAX_PATH + 1);
        for paths in [
            &["../a"][..],
            &["a/../b"],
            &["a/.."],
            &["."],
            &[""],
            &["/a"],
            &["a//b"],
            &["a/"],
            &["a\0"],
            &[".hidden"],
            &["b", "a"],
            &["a", "a"],
            &[&long],
        ] {
            assert!(!is_listing(&listing(paths)), "{paths:?}");
        }
        assert!(are_new_files(&listing(&["/a", "/b/c"])));
        for paths in [&["a"][..], &["/../a"], &["/.hidden"], &["/b", "/a"], &["//a"], &["/"], &[""]] {
            assert!(!are_new_files(&listing(paths)), "{paths:?}");
        }
        let many: Vec<String> = (0..=MAX_NEW_FILES).map(|number| format!("/{number:05}")).collect();
        assert!(!are_new_files(&listing(&many.iter().map(String::as_str).collect::<Vec<_>>())));
    }

    #[test]
    fn pieces_that_cannot_be_are_refused() {
        let chunk = |length, size| FileChunk { bytes: vec![0; length], size };
        assert!(is_piece(&chunk(4, 10), 6, 4) && is_piece(&chunk(0, 0), 6, 4) && is_piece(&chunk(2, 10), 0, 4));
        for (chunk, offset) in [(chunk(5, 10), 0), (chunk(4, 3), 0), (chunk(1, 10), u64::MAX)] {
            assert!(!is_piece(&chunk, offset, 4), "{chunk:?} {offset}");
        }
    }

    #[test]
    fn paths_are_checked_before_they_are_sent() {
        assert_eq!(checked("/home/user/../a b").unwrap(), "/home/user/../a b");
        for path in ["", "a", "./a", "/a\0b", &format!("/{}", "x".repeat(MAX_PATH))] {
            assert!(matches!(checked(path), Err(EngineError::File(_))), "{path}");
        }
    }
}
