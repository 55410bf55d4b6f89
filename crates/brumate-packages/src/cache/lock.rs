//! Locks of entries: one thread of one process at a time makes an entry.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Longest wait for another process that makes an entry. It downloads a wheel, or compiles its bytecode.
const WAIT_LIMIT: Duration = Duration::from_secs(10 * 60);
/// Time between two attempts.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Exclusive lock on a file that exists only while it is locked, or after a process was killed while it held the lock.
#[derive(Debug)]
pub(super) struct EntryLock {
    path: PathBuf,
    _file: File,
}

impl EntryLock {
    /// Waits for the lock, at most [`WAIT_LIMIT`].
    pub(super) fn acquire(path: &Path) -> io::Result<Self> {
        Self::acquire_within(path, WAIT_LIMIT)
    }

    fn acquire_within(path: &Path, limit: Duration) -> io::Result<Self> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(lock) = Self::try_acquire(path)? {
                return Ok(lock);
            }
            if Instant::now() >= deadline {
                let text = format!(
                    "another process or thread has made this entry for {} s and is not ready; if it hangs, end it",
                    limit.as_secs()
                );
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
            std::thread::sleep(LOOK_EVERY);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_for_a_process_that_hangs_ends() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("entry.lock");
        let held = EntryLock::acquire(&path).unwrap();
        let error = EntryLock::acquire_within(&path, Duration::ZERO).unwrap_err();
        assert!(error.kind() == io::ErrorKind::TimedOut && error.to_string().contains("end it"), "{error}");
        drop(held);
        EntryLock::acquire_within(&path, Duration::ZERO).unwrap();
    }
}
