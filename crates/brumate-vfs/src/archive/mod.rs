//! Zip archives (wheels, the standard library) as read-only layers.
//!
//! Written for hostile input: an archive is read from its central directory only, every number is checked before it is
//! used, and an entry that two readers could understand differently is refused with its name. The local header before a
//! file's data is compared with the directory when the archive is opened ([`Archive::new`]) or, for archives that were
//! checked before ([`Archive::listed`]), when the file is read: opening then touches only the pages of the directory.
//!
//! `brumate-packages` has a second reader (`wheel/archive`), which decides whether a stranger's wheel is accepted. It
//! streams a file, reads every local header, and refuses comments, unknown flags and bytes between entries. This reader
//! mounts archives, including the archives of the bundle. It works on mapped bytes, accepts all of these, and keeps
//! modes and times.

mod parse;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use thiserror::Error;

use super::time::Timestamp;
use parse::{Directory, parse};

/// Where an archive's or a layer file's bytes live: embedded in the binary, mapped, or on the heap.
pub type LayerBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// Bounds on what an archive may contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveLimits {
    /// Entries, directories included.
    pub entries: usize,
    /// Inflated size of one entry, in bytes.
    pub entry_bytes: u64,
    /// Inflated size of all entries, in bytes.
    pub total_bytes: u64,
    /// Length of one entry's path, in bytes.
    pub path_bytes: usize,
    /// Components of one entry's path.
    pub path_depth: usize,
}

impl Default for ArchiveLimits {
    fn default() -> Self {
        Self {
            entries: 65_536,
            entry_bytes: 256 * 1024 * 1024,
            total_bytes: 1024 * 1024 * 1024,
            path_bytes: 1024,
            path_depth: 64,
        }
    }
}

/// Why an archive was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// No end-of-central-directory record, or one with impossible numbers.
    #[error("not a zip archive: {0}")]
    NotAnArchive(&'static str),
    /// The archive as a whole is larger than allowed.
    #[error("the archive has more than {limit} {what}")]
    TooLarge {
        /// The quantity that is too large.
        what: &'static str,
        /// The limit that was exceeded.
        limit: u64,
    },
    /// One entry is unacceptable.
    #[error("archive entry `{entry}`: {problem}")]
    Entry {
        /// The entry's name, made printable and shortened.
        entry: String,
        /// What is wrong with it.
        problem: EntryProblem,
    },
}

/// What is wrong with an archive entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EntryProblem {
    /// The name is empty or has an empty, `.` or over-long component, a NUL, a backslash, or is too long.
    #[error("invalid name")]
    InvalidName,
    /// The name starts at the root or with a drive.
    #[error("absolute name")]
    AbsoluteName,
    /// The name has a `..` component.
    #[error("path traversal")]
    PathTraversal,
    /// The same name occurs twice, or once as a file and once as a directory.
    #[error("duplicate name")]
    Duplicate,
    /// The entry is a symbolic link.
    #[error("symbolic link")]
    Symlink,
    /// The entry is a device, a socket or a pipe.
    #[error("special file")]
    SpecialFile,
    /// The entry is encrypted.
    #[error("encrypted")]
    Encrypted,
    /// The entry is packed by a method other than stored and deflated.
    #[error("unsupported compression method {0}")]
    Method(u16),
    /// The inflated size is over the limit.
    #[error("{0} bytes are too large")]
    TooLarge(u64),
    /// The stated sizes cannot be those of deflated data.
    #[error("impossible compression ratio")]
    ImpossibleRatio,
    /// The entry's bytes are outside the archive, or belong to another entry as well.
    #[error("data out of bounds or overlapping")]
    BadExtent,
    /// The local header contradicts the central directory.
    #[error("local header differs from the central directory")]
    HeaderMismatch,
    /// The data could not be inflated, or is not what its length and checksum promise.
    #[error("corrupt data")]
    Corrupt,
}

/// How an entry's bytes are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// As they are.
    Stored,
    /// By deflate (RFC 1951).
    Deflated,
}

/// One file of an archive.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Range of its path in the directory.
    name: Range<usize>,
    /// How its bytes are packed.
    pub packing: Packing,
    method: u16,
    /// Offset of its local header.
    local: usize,
    /// Bytes of its data as they are packed.
    packed: usize,
    /// Offset at which the next data begins.
    border: usize,
    /// Bytes of its content.
    pub size: u64,
    /// CRC-32 of its content.
    pub crc: u32,
    /// File type and permissions, as `stat` has them.
    pub mode: u32,
    /// When it was last changed.
    pub modified: Timestamp,
}

/// A parsed zip archive.
#[derive(Clone)]
pub struct Archive {
    /// The file.
    pub bytes: LayerBytes,
    /// Its files.
    pub entries: Arc<[Entry]>,
    /// Directories that have an entry of their own; the others follow from the files' paths.
    pub directories: Arc<[Vec<u8>]>,
    total_bytes: u64,
    fingerprint: u64,
}

impl fmt::Debug for Archive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Archive({} files, {} bytes)", self.entries.len(), self.total_bytes)
    }
}

impl Archive {
    /// Reads an archive with the default limits.
    ///
    /// # Errors
    /// See [`Archive::with_limits`].
    pub fn new(bytes: LayerBytes) -> Result<Self, ArchiveError> {
        Self::with_limits(bytes, &ArchiveLimits::default())
    }

    /// Reads an archive's central directory and checks every entry. File data is not inflated yet.
    ///
    /// # Errors
    /// [`ArchiveError`] when the archive is malformed, ambiguous, or larger than `limits`.
    pub fn with_limits(bytes: LayerBytes, limits: &ArchiveLimits) -> Result<Self, ArchiveError> {
        let archive = Self::listed(bytes, limits)?;
        for entry in archive.entries.iter() {
            archive.packed(entry).map_err(|problem| entry_error(archive.path(entry), problem))?;
        }
        Ok(archive)
    }

    /// As [`Archive::with_limits`], but a file's local header is checked when the file is read: for archives that were
    /// checked when they were added to the cache. Even if an archive is damaged, no entry's data overlaps another's.
    ///
    /// # Errors
    /// As [`Archive::with_limits`], except for errors that only a local header shows.
    pub fn listed(bytes: LayerBytes, limits: &ArchiveLimits) -> Result<Self, ArchiveError> {
        let data: &[u8] = (*bytes).as_ref();
        let directory = Directory::locate(data, limits)?;
        let parsed = parse(data, &directory, limits)?;
        let mut crc = flate2::Crc::new();
        crc.update(&data[directory.start..directory.end]);
        let fingerprint = (u64::from(crc.sum()) << 32) | (data.len() as u64 & 0xffff_ffff);
        Ok(Self {
            total_bytes: parsed.total,
            entries: parsed.entries.into(),
            directories: parsed.directories.into(),
            fingerprint,
            bytes,
        })
    }

    /// Returns how many files the archive has.
    pub fn file_count(&self) -> usize {
        self.entries.len()
    }

    /// Returns the inflated bytes of all files together.
    pub fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// Returns path and inflated size of every file.
    pub fn files(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.entries.iter().map(|entry| (self.path(entry), entry.size))
    }

    /// Returns a fingerprint that identifies the archive when saved state is joined with its layers again. Not a
    /// cryptographic digest.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Reads the whole content of the file at `path`; `None` if there is none.
    ///
    /// # Errors
    /// [`EntryProblem::Corrupt`] if the data does not match the directory.
    pub fn read(&self, path: &[u8]) -> Result<Option<Vec<u8>>, ArchiveError> {
        let Some(entry) = self.entries.iter().find(|entry| self.path(entry) == path) else {
            return Ok(None);
        };
        self.inflate(entry).map(Some).map_err(|problem| entry_error(path, problem))
    }

    /// Inflates and checks every entry, so that a damaged archive is refused when it is added and not when it is read.
    ///
    /// # Errors
    /// [`EntryProblem::Corrupt`] for the first damaged entry.
    pub fn verify(&self) -> Result<(), ArchiveError> {
        for entry in self.entries.iter() {
            self.inflate(entry).map_err(|problem| entry_error(self.path(entry), problem))?;
        }
        Ok(())
    }

    /// Returns an entry's path.
    pub fn path(&self, entry: &Entry) -> &[u8] {
        (*self.bytes).as_ref().get(entry.name.clone()).unwrap_or(&[])
    }

    /// Returns the packed bytes of an entry.
    ///
    /// # Errors
    /// When the entry's local header differs from the directory, or its data would reach into what follows.
    pub fn packed(&self, entry: &Entry) -> Result<&[u8], EntryProblem> {
        let data: &[u8] = (*self.bytes).as_ref();
        data.get(entry.packed_range(data)?).ok_or(EntryProblem::BadExtent)
    }

    /// Returns an entry's content, checked against its length and checksum.
    pub fn inflate(&self, entry: &Entry) -> Result<Vec<u8>, EntryProblem> {
        let packed = self.packed(entry)?;
        let size = usize::try_from(entry.size).map_err(|_| EntryProblem::TooLarge(entry.size))?;
        let content = match entry.packing {
            Packing::Stored => packed.to_vec(),
            Packing::Deflated => inflate(packed, size)?,
        };
        let mut crc = flate2::Crc::new();
        crc.update(&content);
        if content.len() != size || crc.sum() != entry.crc {
            return Err(EntryProblem::Corrupt);
        }
        Ok(content)
    }
}

/// Inflates raw deflate data that must give exactly `size` bytes.
fn inflate(packed: &[u8], size: usize) -> Result<Vec<u8>, EntryProblem> {
    let mut content = Vec::new();
    // With one more byte the decoder reaches the end marker, and data that is too long is detected.
    content.try_reserve_exact(size + 1).map_err(|_| EntryProblem::TooLarge(size as u64))?;
    let mut decoder = flate2::Decompress::new(false);
    let status = decoder
        .decompress_vec(packed, &mut content, flate2::FlushDecompress::Finish)
        .map_err(|_| EntryProblem::Corrupt)?;
    if status != flate2::Status::StreamEnd || content.len() != size {
        return Err(EntryProblem::Corrupt);
    }
    Ok(content)
}

fn entry_error(name: &[u8], problem: EntryProblem) -> ArchiveError {
    const SHOWN: usize = 200;
    let mut entry = name[..name.len().min(SHOWN)].escape_ascii().to_string();
    if name.len() > SHOWN {
        entry.push_str("...");
    }
    ArchiveError::Entry { entry, problem }
}
