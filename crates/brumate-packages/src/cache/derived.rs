//! Derived files: made from a wheel once and shared, most of all bytecode.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;
use thiserror::Error;

use super::blob::{self, Blob, new_temporary};
use super::digest::Sha256Hash;
use super::lock::EntryLock;
use super::{Cache, CacheError, make_private};

/// Kind of a derived file, with the version of its maker.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DerivedKind {
    name: &'static str,
    version: u32,
}

impl DerivedKind {
    /// Makes a kind. Raise `version` when the maker's result for the same wheel changes.
    ///
    /// # Panics
    ///
    /// If `name` has other characters than lower-case ASCII letters. A constant is checked when it is compiled.
    pub const fn new(name: &'static str, version: u32) -> Self {
        let bytes = name.as_bytes();
        let mut index = 0;
        while index < bytes.len() {
            assert!(bytes[index].is_ascii_lowercase(), "names of kinds are lower-case letters");
            index += 1;
        }
        assert!(!bytes.is_empty() && bytes.len() <= 32, "names of kinds are short");
        Self { name, version }
    }

    pub(super) fn directory(&self) -> String {
        format!("{}-{}", self.name, self.version)
    }
}

/// Error of a derived file.
#[derive(Debug, Error)]
pub enum DeriveError<E> {
    /// The maker failed.
    #[error(transparent)]
    Maker(E),
    /// The cache failed.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

/// Derived file in use: it is not removed while this value, or a duplicate of its descriptor, exists.
#[derive(Debug)]
pub struct DerivedFile {
    blob: Blob,
}

impl DerivedFile {
    /// Returns the file, open for reading. It has the maker's bytes only.
    pub fn file(&self) -> &File {
        &self.blob.file
    }

    /// Returns the length in bytes.
    pub fn size(&self) -> u64 {
        self.blob.size
    }

    fn open(path: &Path) -> Result<Option<Self>, CacheError> {
        Ok(Blob::open(path, None).map_err(CacheError::io(path))?.map(|blob| Self { blob }))
    }
}

impl Cache {
    /// Returns the derived file of a wheel; `None` if it does not exist, or its length, time or ends are not as
    /// recorded.
    ///
    /// # Errors
    ///
    /// [`CacheError::Io`].
    pub fn get_derived(&self, wheel: &Sha256Hash, kind: &DerivedKind) -> Result<Option<DerivedFile>, CacheError> {
        DerivedFile::open(&self.derived_path(wheel, kind))
    }

    /// Returns the derived file of a wheel. If it is missing, `make` writes it in one process while others wait.
    ///
    /// # Errors
    ///
    /// [`DeriveError::Maker`] with the error of `make`, [`DeriveError::Cache`].
    pub fn derive<E>(
        &self,
        wheel: &Sha256Hash,
        kind: &DerivedKind,
        make: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    ) -> Result<DerivedFile, DeriveError<E>> {
        let path = self.derived_path(wheel, kind);
        if let Some(derived) = DerivedFile::open(&path)? {
            return Ok(derived);
        }
        let lock_path = self.lock_path(wheel, Some(kind));
        let lock = EntryLock::acquire(&lock_path).map_err(CacheError::io(&lock_path))?;
        match DerivedFile::open(&path)? {
            Some(derived) => Ok(derived),
            None => self.make_derived(&path, lock, make),
        }
    }

    /// Writes the derived file of a wheel, and replaces one that exists.
    ///
    /// # Errors
    ///
    /// The errors of [`Cache::derive`].
    pub fn replace_derived<E>(
        &self,
        wheel: &Sha256Hash,
        kind: &DerivedKind,
        make: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    ) -> Result<DerivedFile, DeriveError<E>> {
        let lock_path = self.lock_path(wheel, Some(kind));
        let lock = EntryLock::acquire(&lock_path).map_err(CacheError::io(&lock_path))?;
        self.make_derived(&self.derived_path(wheel, kind), lock, make)
    }

    fn make_derived<E>(
        &self,
        path: &Path,
        lock: EntryLock,
        make: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    ) -> Result<DerivedFile, DeriveError<E>> {
        if let Some(present) = blob::open_locked(path).map_err(CacheError::io(path))? {
            blob::discard(&present, path).map_err(CacheError::io(path))?;
        }
        if let Some(parent) = path.parent() {
            make_private(parent)?;
        }
        self.sweep();
        let temporary = self.temporary();
        let new = new_temporary(&temporary).map_err(CacheError::io(&temporary))?;
        let limit = self.settings.max_derived_bytes;
        let mut output = BoundedOutput { new, hasher: Sha256::new(), left: limit, is_full: false };
        let made = make(&mut output);
        if output.is_full {
            return Err(CacheError::DerivedTooLarge { limit }.into());
        }
        made.map_err(DeriveError::Maker)?;
        let hash = Sha256Hash(output.hasher.finalize().into());
        let writer = blob::publish(output.new, path, &temporary, &hash, [&[], &[]]).map_err(CacheError::io(path))?;
        let vanished = || io::Error::other("it vanished while it was written");
        let derived = DerivedFile::open(path)?.ok_or_else(vanished).map_err(CacheError::io(path))?;
        drop((writer, lock));
        self.trim();
        Ok(derived)
    }
}

/// Destination of a maker's bytes, with a limit.
struct BoundedOutput {
    new: NamedTempFile,
    hasher: Sha256,
    left: u64,
    is_full: bool,
}

impl Write for BoundedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() as u64 > self.left {
            self.is_full = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let count = self.new.as_file_mut().write(bytes)?;
        self.left -= count as u64;
        self.hasher.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
