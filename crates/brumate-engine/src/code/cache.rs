//! Compiled modules on disk.
//!
//! One directory per engine fingerprint, one file per module. A file's name has the key of the wasm bytes, and the
//! CRC-32 and the length of its content. It appears by `rename` after `fsync`, so it is complete or missing; damage is
//! detected when it is opened. Compiled code is trusted, so the directory must belong to this user alone.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::fs::{AtFlags, Mode, OFlags};

use crate::cache_dir::{CacheError, hex, lock, private_directory, publish};
use crate::wire::ModuleKey;

/// Ending of a cached module's name.
const SUFFIX: &str = ".cwasm";

/// The cache of one engine.
#[derive(Debug)]
pub(crate) struct ModuleCache {
    path: PathBuf,
    directory: OwnedFd,
    /// Verified files of this process.
    verified: Mutex<HashMap<ModuleKey, Arc<File>>>,
}

impl ModuleCache {
    /// Opens or makes the cache below `root`.
    ///
    /// # Errors
    /// When the directory cannot be made or is not private.
    pub(crate) fn open(root: &Path, fingerprint: &str) -> Result<ModuleCache, CacheError> {
        let path = root.join("modules").join(fingerprint);
        let directory = private_directory(root, &[&root.join("modules"), &path])?;
        Ok(ModuleCache { path, directory, verified: Mutex::new(HashMap::new()) })
    }

    /// The compiled module of `key`, verified once in this process.
    pub(crate) fn get(&self, key: &ModuleKey) -> Option<Arc<File>> {
        let mut verified = self.verified.lock();
        if let Some(file) = verified.get(key) {
            return Some(file.clone());
        }
        for name in self.names(key) {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let Ok(fd) = rustix::fs::openat(&self.directory, &name, flags, Mode::empty()) else { continue };
            let mut file = File::from(fd);
            if content_name(key, &mut file).is_ok_and(|expected| expected == name) {
                let file = Arc::new(file);
                verified.insert(*key, file.clone());
                return Some(file);
            }
            tracing::warn!(name, "a damaged module in the cache is compiled again");
            let _ = rustix::fs::unlinkat(&self.directory, &name, AtFlags::empty());
        }
        None
    }

    /// Removes the compiled module of `key`. Processes that have mapped it keep it.
    pub(crate) fn remove(&self, key: &ModuleKey) {
        self.verified.lock().remove(key);
        for name in self.names(key) {
            let _ = rustix::fs::unlinkat(&self.directory, &name, AtFlags::empty());
        }
    }

    /// Returns the names of the files of `key`.
    fn names(&self, key: &ModuleKey) -> Vec<String> {
        let prefix = format!("{}-", hex(key));
        let Ok(entries) = std::fs::read_dir(&self.path) else { return Vec::new() };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        names.filter(|name| name.starts_with(&prefix)).collect()
    }

    /// A new file for a compiler to write into; it has a temporary name until [`ModuleCache::commit`].
    ///
    /// # Errors
    /// When the disk refuses.
    pub(crate) fn create(&self) -> Result<tempfile::NamedTempFile, CacheError> {
        tempfile::Builder::new().prefix(".compiling-").tempfile_in(&self.path).map_err(|source| self.refused(source))
    }

    /// Returns the error for a disk that refuses an operation.
    pub(crate) fn refused(&self, source: std::io::Error) -> CacheError {
        CacheError::of(&self.path, source)
    }

    /// Makes a written file the compiled module of `key`.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(crate) fn commit(&self, key: &ModuleKey, file: tempfile::NamedTempFile) -> Result<Arc<File>, CacheError> {
        let io = |source: std::io::Error| self.refused(source);
        // Read through the descriptor that is returned, which cannot write: the name may refer to another file later.
        let mut reader = File::open(file.path()).map_err(io)?;
        let name = content_name(key, &mut reader).map_err(io)?;
        publish(file, &self.path.join(&name), &self.directory).map_err(io)?;
        let reader = Arc::new(reader);
        self.verified.lock().insert(*key, reader.clone());
        Ok(reader)
    }

    /// Waits until no other process compiles the bundle, and keeps others from compiling while the lock lives.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(crate) fn lock(&self) -> Result<OwnedFd, CacheError> {
        lock(&self.directory, &self.path)
    }
}

/// Returns the file name for this content.
fn content_name(key: &ModuleKey, file: &mut File) -> std::io::Result<String> {
    file.rewind()?;
    let mut crc = crc32fast::Hasher::new();
    let mut length = 0u64;
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                crc.update(&buffer[..count]);
                length += count as u64;
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(format!("{}-{:08x}-{length:x}{SUFFIX}", hex(key), crc.finalize()))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const KEY: ModuleKey = [7; 32];

    fn store(cache: &ModuleCache, content: &[u8]) {
        let mut file = cache.create().unwrap();
        file.write_all(content).unwrap();
        cache.commit(&KEY, file).unwrap();
    }

    fn fresh() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn what_is_committed_is_found_by_another_process() {
        let root = fresh();
        store(&ModuleCache::open(root.path(), "f").unwrap(), b"code");
        let file = ModuleCache::open(root.path(), "f").unwrap().get(&KEY).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 4);
        assert!(ModuleCache::open(root.path(), "other").unwrap().get(&KEY).is_none());
    }

    #[test]
    fn a_damaged_file_is_removed() {
        let root = fresh();
        store(&ModuleCache::open(root.path(), "f").unwrap(), b"code");
        let directory = root.path().join("modules/f");
        let name = std::fs::read_dir(&directory).unwrap().next().unwrap().unwrap().path();
        std::fs::write(&name, b"cod\0").unwrap();
        assert!(ModuleCache::open(root.path(), "f").unwrap().get(&KEY).is_none());
        assert!(!name.exists());
    }

    #[test]
    fn a_file_that_is_exchanged_after_the_check_is_not_used() {
        let root = fresh();
        let cache = ModuleCache::open(root.path(), "f").unwrap();
        store(&cache, b"code");
        let name = std::fs::read_dir(root.path().join("modules/f")).unwrap().next().unwrap().unwrap().path();
        let other = root.path().join("other");
        std::fs::write(&other, b"evil").unwrap();
        std::fs::rename(&other, &name).unwrap();
        let content = |file: Arc<File>| {
            let mut bytes = [0; 4];
            std::os::unix::fs::FileExt::read_exact_at(&*file, &mut bytes, 0).unwrap();
            bytes
        };
        assert_eq!(&content(cache.get(&KEY).unwrap()), b"code");
        // Links are not followed, wherever they lead.
        std::fs::write(&other, b"code").unwrap();
        std::fs::remove_file(&name).unwrap();
        std::os::unix::fs::symlink(&other, &name).unwrap();
        assert!(ModuleCache::open(root.path(), "f").unwrap().get(&KEY).is_none());
    }

    #[test]
    fn a_directory_others_may_write_to_is_refused() {
        let root = fresh();
        std::fs::create_dir_all(root.path().join("modules")).unwrap();
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(root.path().join("modules"), permissions).unwrap();
        assert!(matches!(ModuleCache::open(root.path(), "f"), Err(CacheError::NotPrivate(_))));
    }
}
