//! Downloads of wheels into the cache.

use std::io::{self, Seek, Write};

use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;
use thiserror::Error;

use super::blob::{self, new_temporary};
use super::digest::Sha256Hash;
use super::entry::{CachedWheel, encode, wrong_hash};
use super::lock::EntryLock;
use super::{Cache, CacheError, make_private};
use crate::wheel::{WheelFileName, WheelProblem, verify};

/// Result of a claim.
#[derive(Debug)]
pub enum Claim {
    /// The wheel is in the cache.
    Ready(CachedWheel),
    /// The wheel is missing, and only this caller may fetch it.
    Missing(WheelWriter),
}

/// Error of a fetch.
#[derive(Debug, Error)]
pub enum FetchError<E> {
    /// The download failed.
    #[error(transparent)]
    Download(E),
    /// The cache failed, or refused the wheel.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

/// Wheel that is being written to the cache. Dropping it before [`WheelWriter::finish`] discards it.
#[derive(Debug)]
pub struct WheelWriter {
    cache: Cache,
    name: WheelFileName,
    expected: Option<Sha256Hash>,
    hasher: Sha256,
    bytes: u64,
    new: NamedTempFile,
    /// `None` while the hash is not known.
    lock: Option<EntryLock>,
}

impl Cache {
    /// Returns the wheel, or the right to fetch it. Waits while another process or thread fetches it.
    ///
    /// # Errors
    ///
    /// [`CacheError::Wheel`] when it is in the cache and not acceptable under this name, [`CacheError::Io`].
    pub fn claim(&self, hash: &Sha256Hash, name: &WheelFileName) -> Result<Claim, CacheError> {
        if let Some(wheel) = self.get(hash, name)? {
            return Ok(Claim::Ready(wheel));
        }
        let path = self.lock_path(hash, None);
        let lock = EntryLock::acquire(&path).map_err(CacheError::io(&path))?;
        self.claim_locked(hash, name, lock)
    }

    /// Claims as [`Cache::claim`] does, without waiting: `None` while another process or thread fetches the wheel.
    ///
    /// # Errors
    ///
    /// The errors of [`Cache::claim`].
    pub fn try_claim(&self, hash: &Sha256Hash, name: &WheelFileName) -> Result<Option<Claim>, CacheError> {
        if let Some(wheel) = self.get(hash, name)? {
            return Ok(Some(Claim::Ready(wheel)));
        }
        let path = self.lock_path(hash, None);
        match EntryLock::try_acquire(&path).map_err(CacheError::io(&path))? {
            Some(lock) => self.claim_locked(hash, name, lock).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the wheel. If it is missing, `download` writes it.
    ///
    /// # Errors
    ///
    /// [`FetchError::Download`] with the error of `download`; [`FetchError::Cache`], also for a refused wheel.
    pub fn fetch<E>(
        &self,
        hash: &Sha256Hash,
        name: &WheelFileName,
        download: impl FnOnce(&mut WheelWriter) -> Result<(), E>,
    ) -> Result<CachedWheel, FetchError<E>> {
        match self.claim(hash, name)? {
            Claim::Ready(wheel) => Ok(wheel),
            Claim::Missing(mut fill) => {
                download(&mut fill).map_err(FetchError::Download)?;
                Ok(fill.finish()?)
            }
        }
    }

    /// Starts a download of a wheel whose hash is not known. [`CachedWheel::hash`] has it afterwards.
    ///
    /// # Errors
    ///
    /// [`CacheError::Io`].
    pub fn writer_without_hash(&self, name: &WheelFileName) -> Result<WheelWriter, CacheError> {
        self.new_writer(name, None, None)
    }

    /// Claims with the lock of the entry.
    fn claim_locked(&self, hash: &Sha256Hash, name: &WheelFileName, lock: EntryLock) -> Result<Claim, CacheError> {
        match self.find(hash, name)? {
            Some(wheel) => Ok(Claim::Ready(wheel)),
            None => self.new_writer(name, Some(*hash), Some(lock)).map(Claim::Missing),
        }
    }

    /// Returns the wheel if it is in the cache, and verifies it if it has no record. The caller holds the claim.
    fn find(&self, hash: &Sha256Hash, name: &WheelFileName) -> Result<Option<CachedWheel>, CacheError> {
        match self.get(hash, name)? {
            Some(wheel) => Ok(Some(wheel)),
            None => CachedWheel::recover(&self.wheel_path(hash), &self.temporary(), hash, name),
        }
    }

    fn new_writer(
        &self,
        name: &WheelFileName,
        expected: Option<Sha256Hash>,
        lock: Option<EntryLock>,
    ) -> Result<WheelWriter, CacheError> {
        let temporary = self.temporary();
        self.sweep();
        let new = new_temporary(&temporary).map_err(CacheError::io(&temporary))?;
        Ok(WheelWriter {
            cache: self.clone(),
            name: name.clone(),
            expected,
            hasher: Sha256::new(),
            bytes: 0,
            new,
            lock,
        })
    }
}

impl WheelWriter {
    /// Appends bytes.
    ///
    /// # Errors
    ///
    /// [`WheelProblem::TooMuch`] when they exceed the limit: stop the download. [`CacheError::Io`].
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), CacheError> {
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        let limit = self.cache.settings.max_wheel_bytes;
        if self.bytes > limit {
            return Err(WheelProblem::TooMuch { what: "bytes in a wheel", limit }.at(self.name.as_str(), None).into());
        }
        self.hasher.update(bytes);
        self.new.as_file_mut().write_all(bytes).map_err(CacheError::io(self.new.path()))
    }

    /// Discards the written bytes, for a download that starts again.
    ///
    /// # Errors
    ///
    /// [`CacheError::Io`].
    pub fn restart(&mut self) -> Result<(), CacheError> {
        if self.bytes == 0 {
            return Ok(());
        }
        (self.bytes, self.hasher) = (0, Sha256::new());
        let file = self.new.as_file_mut();
        file.set_len(0).and_then(|()| file.rewind()).map_err(CacheError::io(self.new.path()))
    }

    /// Returns the most bytes that are accepted.
    pub fn limit(&self) -> u64 {
        self.cache.settings.max_wheel_bytes
    }

    /// Returns the number of written bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Compares the hash, verifies the wheel, and adds it to the cache.
    ///
    /// # Errors
    ///
    /// [`CacheError::Wheel`] for another hash than the expected one and for a refused wheel, which is discarded.
    /// [`CacheError::Io`].
    pub fn finish(self) -> Result<CachedWheel, CacheError> {
        let Self { cache, name, expected, hasher, new, lock, .. } = self;
        let hash = Sha256Hash(hasher.finalize().into());
        if let Some(expected) = expected.filter(|expected| *expected != hash) {
            return Err(wrong_hash(name.as_str(), &expected, &hash));
        }
        let contents = verify(new.as_file(), &name)?;
        let lock = match lock {
            Some(lock) => lock,
            None => {
                let path = cache.lock_path(&hash, None);
                let lock = EntryLock::acquire(&path).map_err(CacheError::io(&path))?;
                // Another process may have fetched the same wheel meanwhile. An existing entry is never replaced.
                if let Some(wheel) = cache.find(&hash, &name)? {
                    return Ok(wheel);
                }
                lock
            }
        };
        let path = cache.wheel_path(&hash);
        let failed = || CacheError::io(&path);
        if let Some(parent) = path.parent() {
            make_private(parent)?;
        }
        let (small, large) = encode(&contents).map_err(failed())?;
        let writer = blob::publish(new, &path, &cache.temporary(), &hash, [&small, &large]).map_err(failed())?;
        let wheel = CachedWheel::open(&path, &hash, &name)?;
        let vanished = || io::Error::other("it vanished while it was written");
        let wheel = wheel.ok_or_else(vanished).map_err(failed())?;
        drop((writer, lock));
        cache.trim();
        Ok(wheel)
    }
}

impl Write for WheelWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Self::write(self, bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
