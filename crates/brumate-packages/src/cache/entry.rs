//! Wheels of the cache.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::CacheError;
use super::blob::{self, Blob};
use super::digest::Sha256Hash;
use crate::wheel::{WheelContents, WheelFile, WheelFileName, WheelProblem, WheelSummary, verify};

/// Verified wheel in use: the cache does not remove it while this value, or a duplicate of its descriptor, exists.
#[derive(Debug)]
pub struct CachedWheel {
    hash: Sha256Hash,
    blob: Blob,
    summary: WheelSummary,
}

impl CachedWheel {
    /// Opens the wheel at `path` without reading it, if its record matches.
    pub(super) fn open(path: &Path, hash: &Sha256Hash, name: &WheelFileName) -> Result<Option<Self>, CacheError> {
        let Some(blob) = Blob::open(path, Some(hash)).map_err(CacheError::io(path))? else { return Ok(None) };
        let Ok(summary) = postcard::from_bytes::<WheelSummary>(blob.record.small()) else { return Ok(None) };
        // The same bytes under another name have to be verified again.
        Ok((summary.file_name == name.as_str()).then_some(Self { hash: *hash, blob, summary }))
    }

    /// Verifies a wheel that has no usable record, and writes one. `None` if the wheel does not exist, or is damaged
    /// and was removed. The caller holds its claim.
    pub(super) fn recover(
        path: &Path,
        temporary: &Path,
        hash: &Sha256Hash,
        name: &WheelFileName,
    ) -> Result<Option<Self>, CacheError> {
        let failed = || CacheError::io(path);
        let Some(file) = blob::open_locked(path).map_err(failed())? else { return Ok(None) };
        if blob::hash_file(&file).map_err(failed())? != *hash {
            blob::discard(&file, path).map_err(failed())?;
            return Ok(None);
        }
        let contents = verify(&file, name)?;
        let (small, large) = encode(&contents).map_err(failed())?;
        blob::write_record(path, temporary, &file, hash, [&small, &large]).map_err(failed())?;
        Self::open(path, hash, name)
    }

    /// Returns the wheel's SHA-256.
    pub fn hash(&self) -> &Sha256Hash {
        &self.hash
    }

    /// Returns what the verification found, without the files.
    pub fn summary(&self) -> &WheelSummary {
        &self.summary
    }

    /// Returns every file, sorted by its path in the archive.
    ///
    /// # Errors
    ///
    /// [`CacheError::Io`] when the record is damaged. [`CachedWheel::check`] removes such an entry.
    pub fn files(&self) -> Result<Vec<WheelFile>, CacheError> {
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "its list of files is damaged");
        let files = self.blob.record.large().and_then(|bytes| postcard::from_bytes(bytes).ok());
        files.ok_or_else(damaged).map_err(CacheError::io(&self.blob.path))
    }

    /// Returns the archive, open for reading, to mount or map it.
    pub fn file(&self) -> &File {
        &self.blob.file
    }

    /// Returns the path, for messages. Other processes must not open it by this path: the lock is on
    /// [`CachedWheel::file`].
    pub fn path(&self) -> &PathBuf {
        &self.blob.path
    }

    /// Reads the whole archive.
    ///
    /// # Errors
    ///
    /// [`CacheError::Io`].
    pub fn read(&self) -> Result<Vec<u8>, CacheError> {
        let mut bytes = vec![0; self.blob.size as usize];
        self.blob.file.read_exact_at(&mut bytes, 0).map_err(CacheError::io(&self.blob.path))?;
        Ok(bytes)
    }

    /// Hashes the whole wheel. A damaged wheel, or one with a damaged record, is removed, so that the next claim
    /// fetches it again.
    ///
    /// # Errors
    ///
    /// [`CacheError::Wheel`] with [`WheelProblem::WrongHash`] when it is damaged, [`CacheError::Io`].
    pub fn check(&self) -> Result<(), CacheError> {
        let path = &self.blob.path;
        let found = self.blob.hash().map_err(CacheError::io(path))?;
        if found != self.hash {
            blob::discard(&self.blob.file, path).map_err(CacheError::io(path))?;
            return Err(wrong_hash(&self.summary.file_name, &self.hash, &found));
        }
        if self.files().is_err() {
            std::fs::remove_file(blob::record_path(path)).map_err(CacheError::io(path))?;
        }
        Ok(())
    }
}

/// Encodes the two parts of a wheel's record.
pub(super) fn encode(contents: &WheelContents) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let small = postcard::to_stdvec(&contents.summary).map_err(io::Error::other)?;
    let large = postcard::to_stdvec(&contents.files).map_err(io::Error::other)?;
    Ok((small, large))
}

pub(super) fn wrong_hash(wheel: &str, expected: &Sha256Hash, found: &Sha256Hash) -> CacheError {
    let problem = WheelProblem::WrongHash { expected: expected.to_string(), found: found.to_string() };
    CacheError::Wheel(problem.at(wheel, None))
}
