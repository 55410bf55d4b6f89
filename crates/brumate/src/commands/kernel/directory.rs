//! The directory of a kernel whose session ends with it.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// Directory below the cache that has the directories of kernels.
const KERNELS: &str = "kernels";
/// File that is locked while directories are made and removed.
const ALL: &str = ".lock";
/// File in a kernel's directory that the kernel has locked.
const OWN: &str = "lock";

/// A directory that is removed with this value. If the process was killed, the next kernel removes it.
#[derive(Debug)]
pub(in crate::commands) struct KernelDirectory {
    path: PathBuf,
    _lock: File,
}

impl KernelDirectory {
    /// Makes a directory in the cache, and removes those of kernels that were killed.
    ///
    /// # Errors
    ///
    /// The system's.
    pub(in crate::commands) fn make(cache_dir: &Path) -> io::Result<Self> {
        let kernels = cache_dir.join(KERNELS);
        fs::create_dir_all(&kernels)?;
        let all = File::create(kernels.join(ALL))?;
        all.lock()?;
        remove_abandoned(&kernels);
        let path = tempfile::Builder::new().prefix("kernel-").tempdir_in(&kernels)?.keep();
        let lock = File::create(path.join(OWN))?;
        lock.lock()?;
        Ok(Self { path, _lock: lock })
    }

    /// Returns the data directory for the kernel's session.
    pub(in crate::commands) fn data(&self) -> PathBuf {
        self.path.join("data")
    }
}

impl Drop for KernelDirectory {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.path) {
            tracing::warn!(%error, "the directory of this kernel cannot be removed");
        }
    }
}

/// Removes the directories that no kernel has locked.
fn remove_abandoned(kernels: &Path) {
    let Ok(entries) = fs::read_dir(kernels) else { return };
    for path in entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()) {
        let is_used =
            File::open(path.join(OWN)).is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)));
        if !is_used {
            let _ = fs::remove_dir_all(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_lasts_as_long_as_its_kernel() {
        let cache = tempfile::tempdir().unwrap();
        let names = || {
            let entries = fs::read_dir(cache.path().join(KERNELS)).unwrap().flatten();
            entries.filter(|entry| entry.path().is_dir()).count()
        };
        let first = KernelDirectory::make(cache.path()).unwrap();
        fs::create_dir(first.data()).unwrap();
        let abandoned = cache.path().join(KERNELS).join("killed");
        fs::create_dir(&abandoned).unwrap();
        fs::write(abandoned.join(OWN), "").unwrap();
        let second = KernelDirectory::make(cache.path()).unwrap();
        assert!(first.data().exists() && !abandoned.exists());
        assert_eq!(names(), 2);
        drop((first, second));
        assert_eq!(names(), 0);
    }
}
