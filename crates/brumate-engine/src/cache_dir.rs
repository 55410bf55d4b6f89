//! Directories of the cache on disk: private ones, with a lock, in which files appear whole.

use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use brumate_setting::Setting;
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;

/// Longest wait for a process that has a lock. It compiles modules or builds an image, which have limits of their own.
const WAIT_LIMIT: Duration = Duration::from_secs(15 * 60);
/// Time between two attempts.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Why the cache cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// The directory cannot be made or read.
    #[error("cannot use the cache directory {path}: {source}")]
    Io {
        /// The directory.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The disk is full, or its quota is used up.
    #[error(
        "no space is left in the cache directory {0}: free some (it needs about 1 GB), or choose another one with {cache_dir}",
        cache_dir = Setting::CacheDir.brief()
    )]
    Full(PathBuf),
    /// Another process keeps the lock of the directory.
    #[error(
        "another process has kept the lock of the cache directory {path} for {seconds} s: end it if it hangs (`fuser {path}/lock` \
         names it), or choose another directory with {}",
        Setting::CacheDir.brief()
    )]
    Locked {
        /// The directory.
        path: PathBuf,
        /// How long this process has waited.
        seconds: u64,
    },
    /// Others may write to the directory.
    #[error(
        "the cache directory {0} must belong to this user alone: run `chmod 700` on it, or choose another with {cache_dir}",
        cache_dir = Setting::CacheDir.brief()
    )]
    NotPrivate(PathBuf),
}

impl CacheError {
    /// Returns the error for the system's answer about the cache in `path`.
    pub(crate) fn of(path: &Path, source: std::io::Error) -> CacheError {
        use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        match source.kind() {
            StorageFull | QuotaExceeded | FileTooLarge => CacheError::Full(path.to_owned()),
            _ => CacheError::Io { path: path.to_owned(), source },
        }
    }
}

/// Makes and opens the last of `directories`, all of which lie in `root` and must belong to this user alone.
///
/// # Errors
/// When one cannot be made, or others may write to it.
pub(crate) fn private_directory(root: &Path, directories: &[&Path]) -> Result<OwnedFd, CacheError> {
    let path = directories.last().copied().unwrap_or(root);
    let io = |source: std::io::Error| CacheError::of(path, source);
    let mut builder = std::fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path).map_err(io)?;
    for private in std::iter::once(root).chain(directories.iter().copied()) {
        let metadata = std::fs::metadata(private).map_err(io)?;
        if metadata.uid() != rustix::process::geteuid().as_raw() || metadata.mode() & 0o022 != 0 {
            return Err(CacheError::NotPrivate(private.to_owned()));
        }
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| io(errno.into()))
}

/// Gives a written file its name in a directory of the cache. It is complete or not there, also after a loss of power.
///
/// # Errors
/// When the disk refuses.
pub(crate) fn publish(file: tempfile::NamedTempFile, name: &Path, directory: &OwnedFd) -> std::io::Result<()> {
    file.as_file().sync_all()?;
    file.persist(name).map_err(|error| error.error)?;
    Ok(rustix::fs::fsync(directory)?)
}

/// Takes the lock of a directory of the cache; held as long as the descriptor lives. Waits at most [`WAIT_LIMIT`].
///
/// # Errors
/// When the disk refuses, or another process keeps the lock too long.
pub(crate) fn lock(directory: &OwnedFd, path: &Path) -> Result<OwnedFd, CacheError> {
    lock_within(directory, path, WAIT_LIMIT)
}

fn lock_within(directory: &OwnedFd, path: &Path, limit: Duration) -> Result<OwnedFd, CacheError> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let failed = |errno: Errno| CacheError::of(path, errno.into());
    let file = rustix::fs::openat(directory, "lock", flags, Mode::RUSR | Mode::WUSR).map_err(failed)?;
    let deadline = Instant::now() + limit;
    loop {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(Errno::WOULDBLOCK) if Instant::now() < deadline => std::thread::sleep(LOOK_EVERY),
            Err(Errno::WOULDBLOCK) => {
                return Err(CacheError::Locked { path: path.to_owned(), seconds: limit.as_secs() });
            }
            Err(Errno::INTR) => {}
            Err(errno) => return Err(failed(errno)),
        }
    }
}

/// Writes bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_for_a_process_that_hangs_ends() {
        let directory = tempfile::tempdir().unwrap();
        let opened = private_directory(directory.path(), &[]).unwrap();
        let held = lock(&opened, directory.path()).unwrap();
        let error = lock_within(&opened, directory.path(), Duration::ZERO).unwrap_err();
        assert!(matches!(error, CacheError::Locked { .. }) && error.to_string().contains("`cache_dir`"), "{error}");
        drop(held);
        lock_within(&opened, directory.path(), Duration::ZERO).unwrap();
    }
}
