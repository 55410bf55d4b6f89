//! Wheels on disk, shared by all sessions and processes of one user.
//!
//! ```no_run
//! use brumate_packages::cache::{Cache, CacheSettings, CachedWheel, Claim, Sha256Hash};
//! use brumate_packages::wheel::WheelFileName;
//!
//! /// Returns the wheel, which is fetched piece by piece if the cache does not have it.
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
//! - The name of an entry is the SHA-256 of its content. The entry appears by `rename`, complete and verified, or not
//!   at all.
//! - A wheel is verified once. The result is kept in a record beside it, with the verifier's version. Opening compares
//!   length, time and both ends with the record. After any difference the wheel is hashed again; a wheel with a wrong
//!   hash is removed.
//! - A process that uses an entry holds a shared lock on it ([`CachedWheel`]). A locked entry is never removed.
//!   Descriptors that were passed to other processes hold the lock as well.
//! - A process that fetches an entry holds its claim. Others wait for it, or continue without ([`Cache::try_claim`]).
//!   The kernel ends locks with their process, so a killed process leaves only a temporary file, which the next one
//!   removes.
//!
//! Calls block on the disk and on locks. Asynchronous code needs a blocking thread for all but [`WheelWriter::write`].

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

use brumate_setting::Setting;
use thiserror::Error;

use crate::wheel::{WheelError, limits};
pub use derived::{DeriveError, DerivedFile, DerivedKind};
pub use digest::{InvalidHash, Sha256Hash};
pub use entry::CachedWheel;
pub use fill::{Claim, FetchError, WheelWriter};

/// Default for the most bytes of wheels, and of derived files, on disk.
pub const DEFAULT_MAX_BYTES: u64 = 4 << 30;

/// Directory of this format, below the cache directory.
const DIRECTORY: &str = "packages-1";

/// Limits of a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheSettings {
    /// Most bytes of wheels. Further ones that are not in use are removed, the least recently used first.
    pub max_bytes: u64,
    /// Most bytes of derived files, with the same rule.
    pub max_derived_bytes: u64,
    /// Largest wheel, in bytes.
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

/// Error of the cache.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CacheError {
    /// An I/O error.
    #[error(
        "cannot use the package cache {path}: {source}. Check the disk's space and the permissions, or choose another place with {}.",
        Setting::CacheDir.brief()
    )]
    Io {
        /// File or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Other users may write to the cache.
    #[error(
        "the cache directory {0} must belong to this user alone: run `chmod 700` on it, or choose another with {cache_dir}",
        cache_dir = Setting::CacheDir.brief()
    )]
    NotPrivate(PathBuf),
    /// The wheel was refused and discarded.
    #[error(transparent)]
    Wheel(#[from] WheelError),
    /// A derived file exceeds the limit for all of them.
    #[error("a derived file has more than {limit} bytes")]
    DerivedTooLarge {
        /// The limit in bytes.
        limit: u64,
    },
}

impl CacheError {
    fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Io { path: path.to_owned(), source }
    }
}

/// Cache of wheels of one user. Cheap to open; holds paths only.
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

    /// Returns the wheel; `None` if it is missing, not verified, or its length, time or ends are not as recorded.
    /// Never waits.
    ///
    /// # Errors
    ///
    /// [`CacheError::Io`]. A damaged wheel counts as missing.
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
