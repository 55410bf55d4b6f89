//! File with a content hash, and the record of its verification.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use flate2::Crc;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use super::digest::Sha256Hash;
use super::lock::{is_at, no_follow};
use crate::wheel::VERIFIER_VERSION;

/// Beginning of a record. Changes with its format.
const MAGIC: &[u8; 8] = b"brmpkg\x01\0";
/// Largest record that is read, in bytes: a wheel of 65,536 files with long paths.
const MAX_RECORD_BYTES: u64 = 96 << 20;
/// Bytes at each end of the file that are compared when it is opened.
const EDGE: usize = 4096;
/// Time after which a further use is recorded.
const USE_GRANULARITY: Duration = Duration::from_secs(600);

/// Properties of a file that are compared when it is opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct FileStamp {
    verifier: u32,
    sha256: [u8; 32],
    size: u64,
    seconds: i64,
    nanoseconds: i64,
    /// CRC-32 of the first and last [`EDGE`] bytes.
    edges: u32,
}

impl FileStamp {
    fn of(file: &File, sha256: [u8; 32]) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let size = metadata.len();
        let mut crc = Crc::new();
        let mut buffer = [0; EDGE];
        for offset in [0, size.saturating_sub(EDGE as u64)] {
            let piece = &mut buffer[..(size - offset).min(EDGE as u64) as usize];
            file.read_exact_at(piece, offset)?;
            crc.update(piece);
        }
        let (seconds, nanoseconds) = (metadata.mtime(), metadata.mtime_nsec());
        Ok(Self { verifier: VERIFIER_VERSION, sha256, size, seconds, nanoseconds, edges: crc.sum() })
    }
}

/// Open file under a shared lock, with its record.
#[derive(Debug)]
pub(super) struct Blob {
    pub(super) file: File,
    pub(super) path: PathBuf,
    pub(super) size: u64,
    pub(super) record: BlobRecord,
}

/// Contents of a record: a small part that is decoded at once, and a large part that is decoded on demand.
#[derive(Debug, Default)]
pub(super) struct BlobRecord {
    bytes: Vec<u8>,
    small: std::ops::Range<usize>,
    large: std::ops::Range<usize>,
    large_crc: u32,
}

impl BlobRecord {
    pub(super) fn small(&self) -> &[u8] {
        &self.bytes[self.small.clone()]
    }

    /// Returns the large part; `None` if it is damaged.
    pub(super) fn large(&self) -> Option<&[u8]> {
        let large = &self.bytes[self.large.clone()];
        (crc_of(large) == self.large_crc).then_some(large)
    }
}

impl Blob {
    /// Opens the file at `path` if it is unchanged since its record was written, and its hash is `expected` (any if
    /// `None`). The lock lasts until the file and all duplicates of its descriptor are closed.
    pub(super) fn open(path: &Path, expected: Option<&Sha256Hash>) -> io::Result<Option<Self>> {
        let Some(file) = open_locked(path)? else { return Ok(None) };
        let Some((stamp, record, record_file)) = read_record(path)? else { return Ok(None) };
        let is_expected = expected.is_none_or(|hash| hash.0 == stamp.sha256);
        let found = match FileStamp::of(&file, stamp.sha256) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        };
        if !is_expected || found != stamp {
            return Ok(None);
        }
        record_use(&record_file);
        Ok(Some(Self { file, path: path.to_owned(), size: stamp.size, record }))
    }

    /// Hashes the whole file.
    pub(super) fn hash(&self) -> io::Result<Sha256Hash> {
        hash_file(&self.file)
    }
}

/// Opens a file for reading and locks it against removal; `None` if it does not exist (any more).
pub(super) fn open_locked(path: &Path) -> io::Result<Option<File>> {
    let file = match OpenOptions::new().read(true).custom_flags(no_follow()).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    file.lock_shared()?;
    // The file may have been removed or replaced while the lock was waited for.
    Ok((file.metadata()?.is_file() && is_at(&file, path)).then_some(file))
}

/// Returns the SHA-256 of a file's content.
pub(super) fn hash_file(file: &File) -> io::Result<Sha256Hash> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 128 << 10];
    let mut offset = 0;
    loop {
        match file.read_at(&mut buffer, offset) {
            Ok(0) => return Ok(Sha256Hash(hasher.finalize().into())),
            Ok(count) => {
                hasher.update(&buffer[..count]);
                offset += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns the path of the record of the file at `path`.
pub(super) fn record_path(path: &Path) -> PathBuf {
    path.with_extension("record")
}

#[expect(clippy::disallowed_methods, reason = "at most a named number of bytes")]
fn read_record(path: &Path) -> io::Result<Option<(FileStamp, BlobRecord, File)>> {
    let file = match OpenOptions::new().read(true).custom_flags(no_follow()).open(record_path(path)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    (&file).take(MAX_RECORD_BYTES).read_to_end(&mut bytes)?;
    Ok(parse_record(bytes).map(|(stamp, record)| (stamp, record, file)))
}

/// Parses a record: magic; lengths of stamp, small and large part; checksums of the first two together and of the
/// third; the parts. Numbers are 32 bits, little-endian.
fn parse_record(bytes: Vec<u8>) -> Option<(FileStamp, BlobRecord)> {
    const FIXED: usize = MAGIC.len() + 5 * 4;
    let number = |index: usize| {
        let at = MAGIC.len() + index * 4;
        Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
    };
    let length = |index| usize::try_from(number(index)?).ok();
    if !bytes.starts_with(MAGIC) {
        return None;
    }
    let small_at = FIXED.checked_add(length(0)?)?;
    let large_at = small_at.checked_add(length(1)?)?;
    let end = large_at.checked_add(length(2)?)?;
    if end != bytes.len() || crc_of(&bytes[FIXED..large_at]) != number(3)? {
        return None;
    }
    let stamp = postcard::from_bytes(&bytes[FIXED..small_at]).ok()?;
    let large_crc = number(4)?;
    Some((stamp, BlobRecord { small: small_at..large_at, large: large_at..end, large_crc, bytes }))
}

fn crc_of(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Writes the record of the file at `path`, which is open as `file` and has the hash `sha256`.
pub(super) fn write_record(
    path: &Path,
    temporary: &Path,
    file: &File,
    sha256: &Sha256Hash,
    parts: [&[u8]; 2],
) -> io::Result<()> {
    let stamp = postcard::to_stdvec(&FileStamp::of(file, sha256.0)?).map_err(io::Error::other)?;
    let [small, large] = parts;
    let mut head = Crc::new();
    head.update(&stamp);
    head.update(small);
    let new = new_temporary(temporary)?;
    let mut writer = BufWriter::new(new.as_file());
    writer.write_all(MAGIC)?;
    for length in [stamp.len(), small.len(), large.len()] {
        writer.write_all(&u32::try_from(length).map_err(io::Error::other)?.to_le_bytes())?;
    }
    for crc in [head.sum(), crc_of(large)] {
        writer.write_all(&crc.to_le_bytes())?;
    }
    for part in [&stamp[..], small, large] {
        writer.write_all(part)?;
    }
    writer.flush()?;
    drop(writer);
    // No `fsync`: a record that did not reach the disk has a wrong checksum, and the file is verified again.
    new.persist(record_path(path)).map_err(|error| error.error)?;
    Ok(())
}

/// Renames a finished file to `path` and writes its record. The returned file holds a shared lock from before the file
/// became visible: keep it until the file is open.
pub(super) fn publish(
    new: NamedTempFile,
    path: &Path,
    temporary: &Path,
    sha256: &Sha256Hash,
    parts: [&[u8]; 2],
) -> io::Result<File> {
    new.as_file().set_permissions(std::fs::Permissions::from_mode(0o400))?;
    new.as_file().sync_all()?;
    let writer = new.persist(path).map_err(|error| error.error)?;
    write_record(path, temporary, &writer, sha256, parts)?;
    Ok(writer)
}

/// Removes the file at `path` and its record, if it is still `file`, which is locked.
pub(super) fn discard(file: &File, path: &Path) -> io::Result<()> {
    if is_at(file, path) {
        match std::fs::remove_file(record_path(path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => std::fs::remove_file(path)?,
        }
    }
    Ok(())
}

/// Makes a temporary file under a shared lock. A process that gets an exclusive lock on such a file may remove it.
pub(super) fn new_temporary(directory: &Path) -> io::Result<NamedTempFile> {
    loop {
        let new = tempfile::Builder::new().prefix("new-").tempfile_in(directory)?;
        if new.as_file().try_lock_shared().is_ok() && is_at(new.as_file(), new.path()) {
            return Ok(new);
        }
    }
}

/// Records in the record's modification time that its file is used.
fn record_use(record: &File) {
    let is_recent = |modified: SystemTime| modified.elapsed().is_ok_and(|age| age < USE_GRANULARITY);
    if !record.metadata().and_then(|metadata| metadata.modified()).is_ok_and(is_recent) {
        // Without the time, eviction only takes the wrong entries first.
        let _ = record.set_modified(SystemTime::now());
    }
}
