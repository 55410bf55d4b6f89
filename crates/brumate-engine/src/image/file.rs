//! A base image on disk: one page of header, the linear memory page by page, then everything else.
//!
//! The memory begins at [`HEADER_BYTES`], so that processes can map it. A builder leaves holes for pages of zeros; the file in the cache has
//! none: on a full tmpfs a process that touches a hole of a mapped file is killed (`SIGBUS`). The header names what the image was made
//! from ([`Header::key`]), what it is ([`Header::id`]), and what can load it ([`Header::runtime`]).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{ImageError, SavedState};
use crate::files::GuestFiles;
use crate::memory::{Mapped, PAGE_BYTES};
use crate::trace::Pages;

/// Size of the header, in bytes: one page.
pub(crate) const HEADER_BYTES: u64 = 4096;

/// Version of this layout and of everything an image holds.
pub(crate) const FORMAT: u32 = 4;

/// Largest memory of a base image, in bytes.
pub(crate) const MAX_MEMORY: u64 = 1 << 30;

/// Largest rest of a base image, in bytes.
const MAX_METADATA: u64 = 256 << 20;

/// Largest list of pages, in bytes.
const MAX_PAGES: u64 = 4 << 20;

/// Largest copy of the driver's files, in bytes.
const MAX_GUEST: u64 = 16 << 20;

/// Largest file of an image, in bytes.
pub(crate) const MAX_FILE: u64 = HEADER_BYTES + MAX_MEMORY + MAX_METADATA + MAX_PAGES + MAX_GUEST;

const MAGIC: [u8; 8] = *b"brumate\x1a";

/// First page of an image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    magic: [u8; 8],
    format: u32,
    /// Key of what it was made from.
    pub(crate) key: [u8; 32],
    /// SHA-256 of its content: a hibernated session names its base by this.
    pub(crate) id: [u8; 32],
    /// Bytes of linear memory.
    pub(crate) memory: u64,
    /// Bytes after that.
    metadata: u64,
    /// Bytes of the page lists after the metadata ([`Pages`]): what a fork will probably touch. Not part of the image's
    /// id.
    pages: u64,
    /// CRC-32 of all these bytes.
    crc: u32,
    /// What its state was made with and needs again ([`super::Runtime`]). Brumate 0.1.0 wrote zeros here and below.
    pub(crate) runtime: [u8; 32],
    /// Bytes of the copy of the driver's files after the pages. Other versions may not have these files. Not part of
    /// the image's id.
    guest: u64,
}

/// The origin of an image, and the key by which it is found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin {
    pub(crate) key: [u8; 32],
    pub(crate) runtime: [u8; 32],
}

impl Header {
    /// Length of the file.
    fn end(&self) -> u64 {
        HEADER_BYTES + self.memory + self.metadata + self.pages + self.guest
    }
}

/// Writes memory and metadata of a machine at rest; the header's page stays empty.
///
/// # Errors
/// When it cannot be captured, or the file not written.
pub(crate) fn write(file: &File, memory: &[u8], saved: &SavedState) -> Result<(), ImageError> {
    let failed = |error: io::Error| ImageError::Engine(format!("writing the image: {error}"));
    let metadata = postcard::to_allocvec(saved).map_err(|error| ImageError::Engine(error.to_string()))?;
    for (index, page) in memory.chunks(PAGE_BYTES).enumerate() {
        if page.iter().any(|&byte| byte != 0) {
            file.write_all_at(page, HEADER_BYTES + (index * PAGE_BYTES) as u64).map_err(failed)?;
        }
    }
    let end = HEADER_BYTES + memory.len() as u64;
    file.write_all_at(&metadata, end).map_err(failed)?;
    write_lengths(file, [memory.len() as u64, metadata.len() as u64, 0]).map_err(failed)
}

/// Writes the lengths to the header's page, as a builder does: bytes of memory, metadata, pages.
fn write_lengths(file: &File, lengths: [u64; 3]) -> io::Result<()> {
    file.write_all_at(&lengths.map(u64::to_le_bytes).concat(), 0)
}

fn read_lengths(file: &File) -> io::Result<[u64; 3]> {
    let mut bytes = [0; 24];
    file.read_exact_at(&mut bytes, 0)?;
    Ok([0, 8, 16].map(|at| {
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[at..at + 8]);
        u64::from_le_bytes(word)
    }))
}

/// Adds what a fork will probably touch to what [`write`] wrote.
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn write_pages(file: &File, pages: &Pages) -> io::Result<()> {
    let [memory, metadata, _] = read_lengths(file)?;
    let bytes = postcard::to_allocvec(pages).map_err(io::Error::other)?;
    file.write_all_at(&bytes, HEADER_BYTES + memory + metadata)?;
    write_lengths(file, [memory, metadata, bytes.len() as u64])
}

/// Copies what a builder wrote into `to` and completes it with the driver's files and a header. The copy is not left to
/// the builder, because it is not trusted. Pages of zeros are written as well: a full disk then refuses now, not when
/// the file is mapped.
///
/// # Errors
/// When the builder's file is malformed, or the disk refuses.
pub(crate) fn complete(from: &File, to: &File, origin: Origin, guest: &GuestFiles) -> io::Result<Header> {
    let [memory, metadata, pages] = read_lengths(from)?;
    if memory > MAX_MEMORY || metadata > MAX_METADATA || pages > MAX_PAGES || !memory.is_multiple_of(1 << 16) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut sha = Sha256::new();
    let mut crc = crc32fast::Hasher::new();
    let (identity, end) = (HEADER_BYTES + memory + metadata, HEADER_BYTES + memory + metadata + pages);
    let mut buffer = vec![0; 1 << 20];
    let mut at = HEADER_BYTES;
    while at < end {
        let length = buffer.len().min((end - at) as usize);
        let part = &mut buffer[..length];
        from.read_exact_at(part, at)?;
        sha.update(&part[..length.min(identity.saturating_sub(at) as usize)]);
        crc.update(part);
        // Zeros are written as well, so that all of the file is allocated before it is mapped.
        to.write_all_at(part, at)?;
        at += length as u64;
    }
    let guest = postcard::to_allocvec(guest).map_err(io::Error::other)?;
    crc.update(&guest);
    to.write_all_at(&guest, end)?;
    let Origin { key, runtime } = origin;
    let (id, crc, guest) = (sha.finalize().into(), crc.finalize(), guest.len() as u64);
    let header = Header { magic: MAGIC, format: FORMAT, key, id, memory, metadata, pages, crc, runtime, guest };
    to.write_all_at(&postcard::to_allocvec(&header).map_err(io::Error::other)?, 0)?;
    Ok(header)
}

/// Reads the header.
///
/// # Errors
/// `InvalidData` when it is no image, or of another version.
pub(crate) fn header(file: &File) -> io::Result<Header> {
    let mut page = [0; HEADER_BYTES as usize];
    file.read_exact_at(&mut page, 0)?;
    let header = decode(&page).ok_or(io::ErrorKind::InvalidData)?;
    if file.metadata()?.len() == header.end() { Ok(header) } else { Err(io::ErrorKind::InvalidData.into()) }
}

/// Decodes the first page of an image; `None` if it is none, of another format, or too large.
fn decode(page: &[u8]) -> Option<Header> {
    let (header, _) = postcard::take_from_bytes::<Header>(page).ok()?;
    let known = header.magic == MAGIC && header.format == FORMAT;
    let bounded = header.memory <= MAX_MEMORY
        && header.metadata <= MAX_METADATA
        && header.pages <= MAX_PAGES
        && header.guest <= MAX_GUEST;
    (known && bounded).then_some(header)
}

/// Returns the length of the file of which `page` is the first page, if that says that it is the image `id`.
pub(crate) fn claimed_length(page: &[u8], id: &[u8; 32]) -> Option<u64> {
    decode(page).filter(|header| header.id == *id).map(|header| header.end())
}

/// Whether mapping the file could need memory that a full file system does not have: a hole in a tmpfs.
fn may_lack_memory(file: &File) -> io::Result<bool> {
    use rustix::fs::{SeekFrom, fstatfs, seek};
    /// `TMPFS_MAGIC` (statfs(2)). Elsewhere a hole is read without being allocated.
    const TMPFS: i64 = 0x0102_1994;
    #[allow(clippy::unnecessary_cast, reason = "the type is another one elsewhere")]
    let is_tmpfs = fstatfs(file)?.f_type as i64 == TMPFS;
    Ok(is_tmpfs && seek(file, SeekFrom::Hole(0))? < file.metadata()?.len())
}

/// Reads the whole image and compares it with its checksum.
///
/// # Errors
/// `InvalidData` when it is damaged, or not all of it is allocated.
pub(crate) fn verify(file: &File, key: &[u8; 32]) -> io::Result<Header> {
    let header = header(file)?;
    if may_lack_memory(file)? {
        return Err(io::ErrorKind::InvalidData.into());
    }
    // Mapped, because these are the pages that zygotes map: reading would copy them all.
    let content = Mapped::new(file, HEADER_BYTES, header.end() - HEADER_BYTES)?;
    let mut crc = crc32fast::Hasher::new();
    crc.update(content.bytes());
    if header.key == *key && crc.finalize() == header.crc { Ok(header) } else { Err(io::ErrorKind::InvalidData.into()) }
}

/// Verifies as [`verify`], whatever key the header names, and that the image's content has the SHA-256 `id`. For images
/// that are not from this cache: their headers are believed nothing.
///
/// # Errors
/// `InvalidData` when it is damaged, another image, or not all of it is allocated.
pub(crate) fn verify_content(file: &File, id: &[u8; 32]) -> io::Result<Header> {
    let header = header(file)?;
    verify(file, &header.key)?;
    let content = Mapped::new(file, HEADER_BYTES, header.memory + header.metadata)?;
    let found: [u8; 32] = Sha256::digest(content.bytes()).into();
    if header.id == *id && found == *id { Ok(header) } else { Err(io::ErrorKind::InvalidData.into()) }
}

/// Reads everything but the memory.
///
/// # Errors
/// When the image is damaged.
pub(crate) fn read(file: &File) -> Result<(Header, SavedState, Pages, GuestFiles), ImageError> {
    let damaged = |error: io::Error| ImageError::Damaged(error.to_string());
    let header = header(file).map_err(damaged)?;
    let mut metadata = vec![0; header.metadata as usize];
    file.read_exact_at(&mut metadata, HEADER_BYTES + header.memory).map_err(damaged)?;
    let saved = postcard::from_bytes(&metadata).map_err(|error| ImageError::Damaged(error.to_string()))?;
    let mut pages = vec![0; header.pages as usize];
    file.read_exact_at(&mut pages, HEADER_BYTES + header.memory + header.metadata).map_err(damaged)?;
    // Without the page lists forks are only slower.
    let pages = postcard::from_bytes(&pages).unwrap_or_default();
    let mut guest = vec![0; header.guest as usize];
    file.read_exact_at(&mut guest, header.end() - header.guest).map_err(damaged)?;
    let guest = match header.guest {
        0 => Vec::new(),
        _ => postcard::from_bytes(&guest).map_err(|error| ImageError::Damaged(error.to_string()))?,
    };
    Ok((header, saved, pages, guest))
}
