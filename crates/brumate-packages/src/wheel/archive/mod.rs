//! Zip archives from strangers.
//!
//! Accepted wheels are mounted by a reader that uses the central directory. Installers, scanners and the index may
//! read differently: front to back, the last of two directories, one of two headers. So an archive is accepted only if
//! all ways to read it agree: its files lie one after the other from the first byte to the directory, both headers of
//! each are equal, and there are no bytes before, between or behind them (APPNOTE.TXT 6.3.10, 4.3).

mod data;
mod directory;
mod local;
mod names;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::error::LocatedProblem;
use super::limits::{MAX_FILE_RATIO, MAX_TOTAL_BYTES, MAX_TOTAL_RATIO, UNMEASURED_BYTES};
use super::{WheelProblem, limits};
pub(crate) use names::PathNames;

/// Bytes of a wheel: a file, or memory.
pub trait ReadAt {
    /// Returns the length in bytes.
    ///
    /// # Errors
    /// An I/O error.
    fn size(&self) -> io::Result<u64>;

    /// Fills `buffer` from `offset`.
    ///
    /// # Errors
    /// An I/O error; `UnexpectedEof` when there are fewer bytes.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
}

impl ReadAt for File {
    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        FileExt::read_exact_at(self, buffer, offset)
    }
}

impl ReadAt for [u8] {
    fn size(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let tail = usize::try_from(offset).ok().and_then(|offset| self.get(offset..));
        let bytes = tail.and_then(|tail| tail.get(..buffer.len())).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(bytes);
        Ok(())
    }
}

/// Compression method of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    Stored,
    Deflated,
}

/// File or directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Path without a slash at its end.
    pub(crate) path: String,
    pub(crate) is_directory: bool,
    pub(crate) compression: Compression,
    /// Offset of the compressed bytes in the archive.
    pub(crate) start: u64,
    pub(crate) packed: u64,
    pub(crate) size: u64,
    pub(crate) crc: u32,
}

/// Archive with a verified structure. Its data is not verified yet.
pub(crate) struct Archive<'a, R: ?Sized> {
    source: &'a R,
    /// Entries in the order of the directory.
    pub(crate) entries: Vec<Entry>,
}

impl<'a, R: ReadAt + ?Sized> Archive<'a, R> {
    /// Reads the directory and every local header.
    ///
    /// # Errors
    /// The first problem, with the name of its file.
    pub(crate) fn open(source: &'a R) -> Result<Self, LocatedProblem> {
        let size = source.size().map_err(|error| io_problem(&error))?;
        if size > limits::MAX_WHEEL_BYTES {
            return Err(WheelProblem::TooMuch { what: "bytes in a wheel", limit: limits::MAX_WHEEL_BYTES }.into());
        }
        let directory = directory::CentralDirectory::read(source, size)?;
        let headers = directory.headers()?;
        let mut names = PathNames::default();
        let mut total: u64 = 0;
        for header in &headers {
            let located = |problem| LocatedProblem::new(&header.name, problem);
            let path = header.path();
            names::check(path).map_err(located)?;
            header.check_kind().map_err(located)?;
            names.add(path, header.is_directory()).map_err(located)?;
            header.check_sizes().map_err(located)?;
            total = total.saturating_add(header.size);
            if total > MAX_TOTAL_BYTES {
                return Err(
                    WheelProblem::TooMuch { what: "unpacked bytes of all files", limit: MAX_TOTAL_BYTES }.into()
                );
            }
        }
        let limit = UNMEASURED_BYTES.max(size.saturating_mul(MAX_TOTAL_RATIO));
        if total > limit {
            return Err(WheelProblem::Bomb { bytes: total, limit }.into());
        }
        let entries = local::locate(source, &headers, directory.start)?;
        Ok(Self { source, entries })
    }

    /// Decompresses a file piece by piece. The pieces are valid only if this returns `Ok`.
    ///
    /// # Errors
    /// [`WheelProblem::Corrupt`] when the data does not have the stated size and checksum.
    pub(crate) fn unpack(&self, entry: &Entry, sink: &mut dyn FnMut(&[u8])) -> Result<(), WheelProblem> {
        data::unpack(self.source, entry, sink)
    }

    /// Returns the content of a file of at most `limit` bytes.
    ///
    /// # Errors
    /// The errors of [`Archive::unpack`]; [`WheelProblem::TooMuch`] for a larger file.
    pub(crate) fn content(&self, entry: &Entry, limit: usize) -> Result<Vec<u8>, WheelProblem> {
        if entry.size > limit as u64 {
            return Err(WheelProblem::TooMuch { what: "bytes in such a file", limit: limit as u64 });
        }
        let mut content = Vec::with_capacity(entry.size as usize);
        self.unpack(entry, &mut |piece| content.extend_from_slice(piece))?;
        Ok(content)
    }
}

/// Returns whether `packed` deflated bytes can be `size` bytes. The addend covers block headers.
fn is_possible_ratio(packed: u64, size: u64) -> bool {
    size <= packed.saturating_mul(MAX_FILE_RATIO).saturating_add(MAX_FILE_RATIO)
}

fn io_problem(error: &io::Error) -> WheelProblem {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => WheelProblem::NotAnArchive("it ends too early"),
        _ => WheelProblem::Io(error.to_string()),
    }
}

fn u16_at(data: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*data.get(at..)?.first_chunk()?))
}

fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*data.get(at..)?.first_chunk()?))
}

fn u64_at(data: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*data.get(at..)?.first_chunk()?))
}

/// Parses the fields of an extra area: identifier and content. `None` if its lengths do not fit.
fn extra_fields(mut extra: &[u8]) -> Option<Vec<(u16, &[u8])>> {
    let mut fields = Vec::new();
    while !extra.is_empty() {
        let (id, length) = (u16_at(extra, 0)?, usize::from(u16_at(extra, 2)?));
        fields.push((id, extra.get(4..4 + length)?));
        extra = &extra[4 + length..];
    }
    Some(fields)
}

/// Returns the content of the zip64 field of an extra area. The field may occur once, and not with a field for another
/// name.
fn zip64_field(extra: &[u8]) -> Result<Option<&[u8]>, WheelProblem> {
    let fields = extra_fields(extra).ok_or(WheelProblem::Feature("an extra area that cannot be read"))?;
    if fields.iter().any(|(id, _)| UNICODE_NAMES.contains(id)) {
        return Err(WheelProblem::Feature("a second name"));
    }
    let mut zip64 = fields.iter().filter(|(id, _)| *id == ZIP64).map(|(_, content)| *content);
    let (first, second) = (zip64.next(), zip64.next());
    if second.is_some() {
        return Err(WheelProblem::Zip64("two fields"));
    }
    Ok(first)
}

/// Identifier of the zip64 extra field.
const ZIP64: u16 = 1;
/// Info-ZIP's extra fields that give a file another name or comment.
const UNICODE_NAMES: [u16; 2] = [0x7075, 0x6375];
/// Value of a 32-bit field whose number is in the zip64 field.
const SATURATED: u64 = 0xffff_ffff;
