//! Files of a guest, as they are listed and read from outside.

use serde::{Deserialize, Serialize};

/// Working directory of sessions, in the guest.
pub const WORKSPACE: &str = "/workspace";

/// Files that one listing may name; a directory with more is refused.
pub const MAX_LISTED_FILES: usize = 10_000;

/// Files that an outcome may name.
pub const MAX_NEW_FILES: usize = 1_000;

/// Bytes of one piece of a file, read or written.
pub const MAX_FILE_CHUNK: usize = 1 << 20;

/// Regular file in a guest directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileInfo {
    /// Path relative to the directory that was listed, `/` between names; an absolute one in an [`Outcome`](crate::Outcome).
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// Last modification, nanoseconds since 1970, by the guest's clock; the guest can set it.
    pub modified: i64,
    /// Another number whenever the content may have changed. Made of what the guest cannot set.
    pub stamp: u64,
}

/// Piece of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChunk {
    /// The bytes; fewer than were asked for at the end of the file.
    pub bytes: Vec<u8>,
    /// Bytes of the whole file.
    pub size: u64,
}
