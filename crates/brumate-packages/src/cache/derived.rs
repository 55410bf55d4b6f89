//! Files that are made from a wheel once and shared: bytecode, above all.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;
use thiserror::Error;

use super::blob::{self, Blob, new_temporary};
use super::digest::Sha256Hash;
use super::lock::Lock;
use super::{Cache, CacheError, make_private};

/// What is made from wheels, and by which version of its maker.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DerivedKind {
    name: &'static str,
    version: u32,
}

impl DerivedKind {
    /// A kind of derived file. `version` goes up when the maker would make something else of the same wheel.
    ///
    /// # Panics
    ///
    /// If `name` has anything but lower-case ASCII letters: names are part of the program. Checked when compiled, for constants.
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

/// Why a derived file is not there.
#[derive(Debug, Error)]
pub enum DeriveError<E> {
    /// The maker failed.
    #[error(transparent)]
    Maker(E),
    /// The cache.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

/// A derived file, in use: it is not removed while this, or a duplicate of its descriptor, exists.
#[derive(Debug)]
pub struct Derived {
    blob: Blob,
}

impl Derived {
    /// The file, open for reading: the maker's bytes and nothing else.
    pub fn file(&self) -> &File {
        &self.blob.file
    }

    /// Its length.
    pub fn size(&self) -> u64 {
        self.blob.size
    }

    fn open(path: &Path) -> Result<Option<Self>, CacheError> {
        Ok(Blob::open(path, None).map_err(CacheError::io(path))?.map(|blob| Self { blob }))
    }
}

impl Cache {
    /// What was derived from the wheel, if it is there and undamaged as far as length, time and ends tell.
    ///
    /// # Errors
    ///
    /// [`CacheError::Io`].
    pub fn get_derived(&self, wheel: &Sha256Hash, kind: &DerivedKind) -> Result<Option<Derived>, CacheError> {
        Derived::open(&self.derived_path(wheel, kind))
    }

    /// What is derived from the wheel; when it is missing, `make` writes it. One process makes it, others wait.
    ///
    /// # Errors
    ///
    /// [`DeriveError::Maker`] with the error of `make`, [`DeriveError::Cache`].
    pub fn derive<E>(
        &self,
        wheel: &Sha256Hash,
        kind: &DerivedKind,
        make: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    ) -> Result<Derived, DeriveError<E>> {
        let path = self.derived_path(wheel, kind);
        if let Some(derived) = Derived::open(&path)? {
            return Ok(derived);
        }
        let lock_path = self.lock_path(wheel, Some(kind));
        let lock = Lock::acquire(&lock_path).map_err(CacheError::io(&lock_path))?;
        if let Some(derived) = Derived::open(&path)? {
            return Ok(derived);
        }
        if let Some(damaged) = blob::open_locked(&path).map_err(CacheError::io(&path))? {
            blob::discard(&damaged, &path).map_err(CacheError::io(&path))?;
        }
        if let Some(parent) = path.parent() {
            make_private(parent)?;
        }
        self.sweep();
        let temporary = self.temporary();
        let new = new_temporary(&temporary).map_err(CacheError::io(&temporary))?;
        let limit = self.settings.max_derived_bytes;
        let mut output = Output { new, hasher: Sha256::new(), left: limit, is_full: false };
        let made = make(&mut output);
        if output.is_full {
            return Err(CacheError::DerivedTooLarge { limit }.into());
        }
        made.map_err(DeriveError::Maker)?;
        let hash = Sha256Hash(output.hasher.finalize().into());
        let writer = blob::publish(output.new, &path, &temporary, &hash, [&[], &[]]).map_err(CacheError::io(&path))?;
        let vanished = || io::Error::other("it vanished while it was written");
        let derived = Derived::open(&path)?.ok_or_else(vanished).map_err(CacheError::io(&path))?;
        drop((writer, lock));
        self.trim();
        Ok(derived)
    }
}

/// Where a maker writes.
struct Output {
    new: NamedTempFile,
    hasher: Sha256,
    left: u64,
    is_full: bool,
}

impl Write for Output {
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
