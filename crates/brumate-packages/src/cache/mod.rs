//! Wheels on disk, shared by all sessions and processes of one user.
//!
//! ```no_run
//! use brumate_packages::cache::{Cache, CacheSettings, CachedWheel, Claim, Sha256Hash};
//! use brumate_packages::wheel::WheelFileName;
//!
//! /// The wheel, which is fetched piece by piece if the cache does not have it.
//! fn cached(
//!     hash: &Sha256Hash,
//!     pieces: impl Iterator<Item = Vec<u8>>,
//! ) -> Result<CachedWheel, Box<dyn std::error::Error>> {
//!     let cache = Cache::open("/home/ada/.cache/brumate".as_ref(), CacheSettings::default())?;
//!     let name: WheelFileName = "six-1.17.0-py2.py3-none-any.whl".parse()?;
//!     match cache.claim(hash, &name)? {
//!         Claim::Ready(wheel) => Ok(wheel),
//!         Claim::Missing(mut fill) => {
//!             for piece in pieces {
//!                 fill.write(&piece)?; // hashed and stored as it comes
//!             }
//!             Ok(fill.finish()?) // right hash, verified, on disk: or not there
//!         }
//!     }
//! }
//! ```
//!
//! Rules:
//!
//! - An entry's name is the sha256 of its content. It appears by `rename`, complete and verified, or not at all.
//! - A wheel is verified once; what was found is kept in a record beside it, with the verifier's version. Opening compares
//!   length, time and both ends with the record. Any difference means hashing all of it again, and a wrong hash means
//!   that the entry is gone.
//! - Whoever uses an entry holds a shared lock on it ([`CachedWheel`]); what is locked is never removed. Descriptors that
//!   were passed to other processes hold it as well.
//! - Who fetches an entry holds its claim; others wait for it, or go on without ([`Cache::try_claim`]). The kernel ends
//!   locks with their process, so a killed one leaves nothing but a temporary file, which the next one removes.
//!
//! Calls block on the disk and on locks: from asynchronous code, use a blocking thread for all but [`Fill::write`].

mod blob;
mod derived;
mod digest;
mod entry;
mod evict;
mod fill;
mod lock;
#[cfg(test)]
mod tests;

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::wheel::{WheelError, limits};
pub use derived::{DeriveError, Derived, DerivedKind};
pub use digest::{InvalidHash, Sha256Hash};
pub use entry::CachedWheel;
pub use fill::{Claim, FetchError, Fill};

/// Most bytes that wheels, and most that derived files, take on disk, unless set otherwise.
pub const DEFAULT_MAX_BYTES: u64 = 4 << 30;

/// Directory of this format below the cache directory.
const DIRECTORY: &str = "packages-1";

/// How a cache is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheSettings {
    /// Most bytes of wheels. The least recently used ones beyond go, unless they are in use.
    pub max_bytes: u64,
    /// Most bytes of derived files, likewise.
    pub max_derived_bytes: u64,
    /// Largest wheel that is taken, in bytes.
    pub max_wheel_bytes: u64,
}

impl Default for CacheSettings {
    fn default() -> Self {
        Self {
            max_bytes: DEFAULT_MAX_BYTES,
            max_derived_bytes: DEFAULT_MAX_BYTES,
            max_wheel_bytes: limits::MAX_WHEEL_BYTES,
        }
    }
}

/// Why the cache cannot give, or take, an entry.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CacheError {
    /// The disk refuses.
    #[error(
        "cannot use the package cache {path}: {source}. Check the disk's space and the permissions, or choose another place with --cache-dir."
    )]
    Io {
        /// File or directory.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// Others may write to the cache.
    #[error(
        "the cache directory {0} must belong to this user alone: run `chmod 700` on it, or choose another with --cache-dir"
    )]
    NotPrivate(PathBuf),
    /// The wheel is refused; nothing of it was kept.
    #[error(transparent)]
    Wheel(#[from] WheelError),
    /// A derived file is larger than all of them may be.
    #[error("a derived file has more than {limit} bytes")]
    DerivedTooLarge {
        /// The bound.
        limit: u64,
    },
}

impl CacheError {
    fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Io { path: path.to_owned(), source }
    }
}

/// A user's cache of wheels. Cheap to open; holds nothing but paths.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
    settings: CacheSettings,
}

impl Cache {
    /// Opens or makes the cache below the directory `cache`.
    ///
    /// # Errors
    ///
    /// [`CacheError::NotPrivate`] when others may write to it, [`CacheError::Io`].
    pub fn open(cache: &Path, settings: CacheSettings) -> Result<Self, CacheError> {
        let root = cache.join(DIRECTORY);
        for directory in ["wheels", "derived", "locks", "tmp"] {
            let path = root.join(directory);
            make_private(&path)?;
        }
        for path in [cache, &root] {
            let metadata = std::fs::metadata(path).map_err(CacheError::io(path))?;
            if metadata.uid() != rustix::process::geteuid().as_raw() || metadata.mode() & 0o022 != 0 {
                return Err(CacheError::NotPrivate(path.to_owned()));
            }
        }
        Ok(Self { root, settings })
    }

    /// The wheel, if it is there, verified, and undamaged as far as its length, time and ends tell. Never waits.
    ///
    /// # Errors
    ///
    /// [`CacheError::Io`]. Damage is no error: the wheel is not there then.
    pub fn get(
        &self,
        hash: &Sha256Hash,
        name: &crate::wheel::WheelFileName,
    ) -> Result<Option<CachedWheel>, CacheError> {
        CachedWheel::open(&self.wheel_path(hash), hash, name)
    }

    fn wheel_path(&self, hash: &Sha256Hash) -> PathBuf {
        let hex = hash.to_string();
        self.root.join("wheels").join(&hex[..2]).join(hex + ".whl")
    }

    fn derived_path(&self, hash: &Sha256Hash, kind: &DerivedKind) -> PathBuf {
        let hex = hash.to_string();
        self.root.join("derived").join(kind.directory()).join(hex + ".bin")
    }

    fn lock_path(&self, hash: &Sha256Hash, kind: Option<&DerivedKind>) -> PathBuf {
        let suffix = kind.map(|kind| format!("-{}", kind.directory())).unwrap_or_default();
        self.root.join("locks").join(format!("{hash}{suffix}.lock"))
    }

    fn temporary(&self) -> PathBuf {
        self.root.join("tmp")
    }
}

/// Makes a directory, and those above it, for this user alone.
fn make_private(path: &Path) -> Result<(), CacheError> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(CacheError::io(path))
}
