//! Stores for the files of hibernated sessions.
//!
//! The engine writes and maps files at local paths. A store takes a file that is complete at its path, and has it there
//! again before it is read. A directory needs to do neither: the path is the place.

use std::fmt;
use std::io;
use std::path::PathBuf;

use async_trait::async_trait;

/// Place of session files, shared by the servers of one [registry](super::registry). A file is written once under its
/// name and never changed.
#[async_trait]
pub(crate) trait FileStore: fmt::Debug + Send + Sync {
    /// Returns the local path at which this server writes the file `name`.
    fn path(&self, name: &str) -> PathBuf;

    /// Stores the file that is complete at its path. The answer that the file belongs to waits for it.
    ///
    /// # Errors
    ///
    /// An I/O error; the file is not stored then.
    async fn store(&self, name: &str) -> io::Result<()>;

    /// Has a stored file at its path, for reading. Returns the path, also of a file that does not exist: the reader
    /// finds that out.
    ///
    /// # Errors
    ///
    /// An I/O error when the store cannot be read.
    async fn fetch(&self, name: &str) -> io::Result<PathBuf>;

    /// Returns whether a file that the registry names can be had.
    fn has(&self, name: &str) -> bool;

    /// Removes a file, in the store and at its path. A file that cannot be removed is removed at the next start.
    fn remove(&self, name: &str);

    /// Returns the names of all files.
    ///
    /// # Errors
    ///
    /// An I/O error when they cannot be listed.
    fn names(&self) -> io::Result<Vec<String>>;
}

#[cfg(test)]
mod tests;
