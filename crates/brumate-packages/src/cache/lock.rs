//! Locks of entries: one thread of one process at a time makes an entry.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Exclusive lock on a file that exists only while it is locked, or after a process was killed while it held the lock.
#[derive(Debug)]
pub(super) struct EntryLock {
    path: PathBuf,
    _file: File,
}

impl EntryLock {
    /// Waits for the lock.
    pub(super) fn acquire(path: &Path) -> io::Result<Self> {
        loop {
            let file = open(path)?;
            file.lock()?;
            if is_at(&file, path) {
                return Ok(Self { path: path.to_owned(), _file: file });
            }
        }
    }

    /// Tries to take the lock; `None` if another process or thread has it.
    pub(super) fn try_acquire(path: &Path) -> io::Result<Option<Self>> {
        loop {
            let file = open(path)?;
            match file.try_lock() {
                Ok(()) if is_at(&file, path) => return Ok(Some(Self { path: path.to_owned(), _file: file })),
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }
}

impl Drop for EntryLock {
    /// Removes the file before the lock ends: a waiting process notices that and starts again.
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).custom_flags(no_follow()).open(path)
}

/// Returns the flag that refuses a symbolic link as the last part of a path.
pub(super) fn no_follow() -> i32 {
    rustix::fs::OFlags::NOFOLLOW.bits() as i32
}

/// Returns whether `path` still names `file`.
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    let identity = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), std::fs::symlink_metadata(path)) {
        (Ok(open), Ok(there)) => identity(open) == identity(there),
        _ => false,
    }
}
