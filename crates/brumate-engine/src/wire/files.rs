//! Operations of the server on a guest's files.

use serde::{Deserialize, Serialize};

use crate::api::{FileChunk, FileInfo, MAX_LISTED_FILES, bounded};

/// An operation of the server on the guest's files. Paths are absolute and the guest's own.
#[derive(Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "fields are those of the machine's methods of the same name")]
pub enum FileRequest {
    /// Regular files below a directory.
    List { directory: String },
    /// A piece of a file.
    Read { path: String, offset: u64, length: u32 },
    /// Writes a piece, making the file and the directories above it.
    Write { path: String, offset: u64, bytes: Vec<u8>, truncate: bool },
    /// Removes a file or link.
    Remove { path: String },
    /// Removes what is in a directory.
    RemoveTree { directory: String },
}

impl FileRequest {
    /// Whether it leaves the files as they are.
    pub fn is_read_only(&self) -> bool {
        matches!(self, FileRequest::List { .. } | FileRequest::Read { .. })
    }
}

/// Answer to a [`FileRequest`].
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileReply {
    /// For `List`, in the order of the paths' bytes.
    List(#[serde(deserialize_with = "bounded::list::<_, _, MAX_LISTED_FILES>")] Vec<FileInfo>),
    /// For `Read`.
    Read(FileChunk),
    /// For the others.
    Done,
}
