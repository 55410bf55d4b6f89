//! Files that are being written, and files that a killed process left unfinished.
//!
//! A process that writes a file holds a lock on it. The kernel releases the lock when the process ends. Unlocked files
//! are stale and are removed.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use tempfile::NamedTempFile;

/// Prefix of the names.
const PREFIX: &str = ".sleeping-";

/// Most directories that are remembered as clean.
const MAX_CLEAN: usize = 4096;

/// Directories that this process has cleaned. It removes its own files itself.
static CLEAN: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);

/// Creates a file in `directory`, removed when it is dropped. The first time, removes stale files in the directory.
///
/// # Errors
/// When the disk refuses.
pub(super) fn file(directory: &Path) -> io::Result<NamedTempFile> {
    if !is_clean(directory) {
        clean(directory);
    }
    loop {
        let made = tempfile::Builder::new().prefix(PREFIX).tempfile_in(directory);
        let file = made.map_err(without_path)?;
        // A cleanup may have unlinked it before it was locked.
        if lock(file.as_file()) && rustix::fs::fstat(&file)?.st_nlink > 0 {
            return Ok(file);
        }
    }
}

/// Removes a path of the host from an error: clients read it.
fn without_path(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::StorageFull => Errno::NOSPC.into(),
        kind => kind.into(),
    }
}

/// Returns whether this process has cleaned the directory before, and marks it as clean.
fn is_clean(directory: &Path) -> bool {
    let mut clean = CLEAN.lock();
    let clean = clean.get_or_insert_default();
    if clean.len() >= MAX_CLEAN {
        clean.clear();
    }
    !clean.insert(directory.to_owned())
}

/// Removes stale files. Failures are only logged, because the new file can still be written.
fn clean(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.filter_map(Result::ok) {
        if entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes())
            && let Err(error) = remove_if_left(&entry.path())
        {
            tracing::debug!(%error, path = %entry.path().display(), "a file that was left behind stays");
        }
    }
}

/// Removes a file unless it is being written.
fn remove_if_left(path: &Path) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !lock(&file) {
        return Ok(());
    }
    // While it is locked no process renames it: if the name refers to it now, it still does when the name is removed.
    let (held, named) = (rustix::fs::fstat(&file)?, rustix::fs::lstat(path)?);
    if (held.st_dev, held.st_ino) == (named.st_dev, named.st_ino) {
        std::fs::remove_file(path)?;
    }
    Ok(())
}

/// Locks a file for as long as it is open. Returns `false` if another process has locked it.
fn lock(file: &File) -> bool {
    flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_writes_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str| std::fs::write(directory.path().join(name), "half").unwrap();
        write(".sleeping-left");
        write("session");
        std::os::unix::fs::symlink("session", directory.path().join(".sleeping-link")).unwrap();
        let written = file(directory.path()).unwrap();
        let names = || {
            let entries = std::fs::read_dir(directory.path()).unwrap();
            let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        let own = written.path().file_name().unwrap().to_str().unwrap().to_owned();
        let mut expected = vec![".sleeping-link".to_owned(), own, "session".to_owned()];
        expected.sort();
        assert_eq!(names(), expected);
        // A file that is being written stays.
        clean(directory.path());
        assert_eq!(names(), expected);
        written.persist(directory.path().join("session")).unwrap();
        assert_eq!(names(), [".sleeping-link", "session"]);
    }
}
