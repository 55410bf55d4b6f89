//! End record and central directory.

use super::super::WheelProblem;
use super::super::error::LocatedProblem;
use super::super::limits::{MAX_DIRECTORY_BYTES, MAX_FILE_BYTES, MAX_PATHS};
use super::{Compression, ReadAt, SATURATED, io_problem, u16_at, u32_at, u64_at, zip64_field};

const END_RECORD: usize = 22;
const ZIP64_LOCATOR: usize = 20;
const ZIP64_RECORD: usize = 56;
const HEADER: usize = 46;
/// Longest comment of an archive, in bytes: the distance from the end at which the end record can begin.
const COMMENT_MAX: u64 = 65_535;

/// General purpose flags that are supported: compression level, data descriptor, UTF-8 name.
const KNOWN_FLAGS: u16 = 0b110 | DESCRIPTOR | UTF8;
pub(super) const DESCRIPTOR: u16 = 1 << 3;
const UTF8: u16 = 1 << 11;
/// Flags of encryption: encrypted, strongly encrypted, encrypted directory.
const ENCRYPTED: u16 = 1 | 1 << 6 | 1 << 13;

/// Bytes of the central directory.
pub(super) struct CentralDirectory {
    /// Offset of the directory in the archive.
    pub(super) start: u64,
    bytes: Vec<u8>,
    count: u64,
}

impl CentralDirectory {
    /// Finds the directory by the end record.
    pub(super) fn read<R: ReadAt + ?Sized>(source: &R, size: u64) -> Result<Self, WheelProblem> {
        let bad = WheelProblem::NotAnArchive;
        let at = size.checked_sub(END_RECORD as u64).ok_or(bad("too short"))?;
        let mut end = [0; END_RECORD];
        source.read_exact_at(&mut end, at).map_err(|error| io_problem(&error))?;
        if !end.starts_with(b"PK\x05\x06") || end[20..] != [0, 0] {
            return Err(explain_end(source, size));
        }
        let end_field = |offset| u64::from(u16_at(&end, offset).unwrap_or(0));
        let end_wide = |offset| u64::from(u32_at(&end, offset).unwrap_or(0));
        let (disk, directory_disk, here, mut count) = (end_field(4), end_field(6), end_field(8), end_field(10));
        let (mut length, mut start, mut border) = (end_wide(12), end_wide(16), at);
        let is_saturated = count == 0xffff || length == SATURATED || start == SATURATED;
        if here != count {
            return Err(bad("an archive in several parts"));
        }
        if is_saturated {
            let zip64 = Zip64End::read(source, at)?;
            for (narrow, full, wide) in
                [(count, 0xffff, zip64.count), (length, SATURATED, zip64.length), (start, SATURATED, zip64.start)]
            {
                if narrow != full && narrow != wide {
                    return Err(WheelProblem::Zip64("the two end records differ"));
                }
            }
            (count, length, start, border) = (zip64.count, zip64.length, zip64.start, zip64.at);
        }
        if (disk, directory_disk) != (0, 0) && !(is_saturated && disk == 0xffff && directory_disk == 0xffff) {
            return Err(bad("an archive in several parts"));
        }
        if count > MAX_PATHS as u64 {
            return Err(WheelProblem::TooMuch { what: "files and directories", limit: MAX_PATHS as u64 });
        }
        if length > MAX_DIRECTORY_BYTES {
            return Err(WheelProblem::TooMuch { what: "bytes in the directory", limit: MAX_DIRECTORY_BYTES });
        }
        match start.checked_add(length) {
            Some(end) if end == border => {}
            // The offsets do not count from the first byte: a program or another archive is in front.
            Some(end) if end < border => {
                return Err(WheelProblem::ForeignBytes("before the archive, or between directory and end record"));
            }
            _ => return Err(bad("the directory is out of bounds")),
        }
        let mut bytes = vec![0; length as usize];
        source.read_exact_at(&mut bytes, start).map_err(|error| io_problem(&error))?;
        Ok(Self { start, bytes, count })
    }

    /// Parses every header, in order.
    pub(super) fn headers(&self) -> Result<Vec<DirectoryHeader>, LocatedProblem> {
        let mut headers = Vec::with_capacity((self.count as usize).min(self.bytes.len() / HEADER));
        let mut rest = &self.bytes[..];
        for _ in 0..self.count {
            let (header, length) = DirectoryHeader::read(rest)?;
            headers.push(header);
            rest = &rest[length..];
        }
        if !rest.is_empty() {
            return Err(WheelProblem::NotAnArchive("the directory is longer than its entries").into());
        }
        if headers.is_empty() {
            return Err(WheelProblem::NotAnArchive("it is empty").into());
        }
        Ok(headers)
    }
}

/// Explains why there is no end record at the end.
fn explain_end<R: ReadAt + ?Sized>(source: &R, size: u64) -> WheelProblem {
    let mut tail = vec![0; size.min(COMMENT_MAX + END_RECORD as u64) as usize];
    let from = size - tail.len() as u64;
    if let Err(error) = source.read_exact_at(&mut tail, from) {
        return io_problem(&error);
    }
    if tail.windows(4).any(|window| window == b"PK\x05\x06") {
        return WheelProblem::ForeignBytes("a comment, or bytes behind the archive");
    }
    WheelProblem::NotAnArchive("no end record; it is cut off, or something else")
}

/// End record of archives with large numbers.
struct Zip64End {
    at: u64,
    count: u64,
    length: u64,
    start: u64,
}

impl Zip64End {
    /// Reads the record in front of the locator in front of the end record at `end`.
    fn read<R: ReadAt + ?Sized>(source: &R, end: u64) -> Result<Self, WheelProblem> {
        let bad = WheelProblem::Zip64;
        let at = end.checked_sub((ZIP64_RECORD + ZIP64_LOCATOR) as u64).ok_or(bad("no end record"))?;
        let mut bytes = [0; ZIP64_RECORD + ZIP64_LOCATOR];
        source.read_exact_at(&mut bytes, at).map_err(|error| io_problem(&error))?;
        let (record, locator) = bytes.split_at(ZIP64_RECORD);
        let wide = |offset| u64_at(record, offset).unwrap_or(u64::MAX);
        let locates = locator.starts_with(b"PK\x06\x07")
            && u64_at(locator, 8) == Some(at)
            && u32_at(locator, 4) == Some(0)
            && u32_at(locator, 16) == Some(1);
        if !locates || !record.starts_with(b"PK\x06\x06") || wide(4) != (ZIP64_RECORD - 12) as u64 {
            return Err(bad("no end record"));
        }
        if u64_at(record, 16) != Some(0) || wide(24) != wide(32) {
            return Err(WheelProblem::NotAnArchive("an archive in several parts"));
        }
        Ok(Self { at, count: wide(32), length: wide(40), start: wide(48) })
    }
}

/// Header of the directory.
#[derive(Debug)]
pub(super) struct DirectoryHeader {
    /// Name, with a slash at the end for a directory.
    pub(super) name: String,
    pub(super) flags: u16,
    pub(super) method: u16,
    pub(super) crc: u32,
    pub(super) packed: u64,
    pub(super) size: u64,
    pub(super) local: u64,
    attributes: u32,
}

impl DirectoryHeader {
    /// Parses the header at the start of `bytes`; returns its length as well.
    fn read(bytes: &[u8]) -> Result<(Self, usize), LocatedProblem> {
        let cut = || WheelProblem::NotAnArchive("the directory is cut off or holds something else");
        let fixed = bytes.get(..HEADER).filter(|fixed| fixed.starts_with(b"PK\x01\x02")).ok_or_else(cut)?;
        let narrow = |offset| u16_at(fixed, offset).unwrap_or(0);
        let wide = |offset| u32_at(fixed, offset).unwrap_or(0);
        let (name_len, extra_len) = (usize::from(narrow(28)), usize::from(narrow(30)));
        let end = HEADER + name_len + extra_len + usize::from(narrow(32));
        let variable = bytes.get(HEADER..end).ok_or_else(cut)?;
        let (raw_name, extra) = (&variable[..name_len], &variable[name_len..name_len + extra_len]);
        let printable = String::from_utf8_lossy(raw_name);
        let located = |problem| LocatedProblem::new(&printable, problem);
        let flags = narrow(8);
        if flags & ENCRYPTED != 0 {
            return Err(located(WheelProblem::Encrypted));
        }
        if flags & !KNOWN_FLAGS != 0 {
            return Err(located(WheelProblem::Feature("unknown flags")));
        }
        let is_readable = raw_name.is_ascii() || flags & UTF8 != 0;
        let name = std::str::from_utf8(raw_name)
            .ok()
            .filter(|_| is_readable)
            .ok_or_else(|| located(WheelProblem::InvalidName("not ASCII, and not marked as UTF-8")))?;
        let mut header = Self {
            name: name.to_owned(),
            flags,
            method: narrow(10),
            crc: wide(16),
            packed: wide(20).into(),
            size: wide(24).into(),
            local: wide(42).into(),
            attributes: wide(38),
        };
        if narrow(34) != 0 {
            return Err(located(WheelProblem::NotAnArchive("an archive in several parts")));
        }
        header.apply_extra(extra).map_err(located)?;
        Ok((header, end))
    }

    /// Takes numbers that do not fit the header from the zip64 field.
    fn apply_extra(&mut self, extra: &[u8]) -> Result<(), WheelProblem> {
        let zip64 = zip64_field(extra)?;
        let full = [&mut self.size, &mut self.packed, &mut self.local].into_iter().filter(|field| **field == SATURATED);
        let full: Vec<&mut u64> = full.collect();
        match zip64 {
            None if full.is_empty() => Ok(()),
            None => Err(WheelProblem::Zip64("no field for numbers that did not fit")),
            Some(content) if content.len() != full.len() * 8 => Err(WheelProblem::Zip64("numbers that fit twice")),
            Some(content) => {
                for (index, field) in full.into_iter().enumerate() {
                    *field = u64_at(content, index * 8).ok_or(WheelProblem::Zip64("a field that is too short"))?;
                }
                Ok(())
            }
        }
    }

    /// Returns the name without a directory's slash.
    pub(super) fn path(&self) -> &str {
        self.name.strip_suffix('/').unwrap_or(&self.name)
    }

    pub(super) fn is_directory(&self) -> bool {
        self.name.ends_with('/')
    }

    /// Checks that the entry is what its name says: a file or a directory.
    pub(super) fn check_kind(&self) -> Result<(), WheelProblem> {
        // Extractors use the Unix mode's type, whatever system made the archive.
        let is_dos_directory = self.attributes & 0x10 != 0;
        match ((self.attributes >> 16) & 0xf000, self.is_directory()) {
            (0xa000, _) => Err(WheelProblem::Symlink),
            (0 | 0x4000, true) => Ok(()),
            (0 | 0x8000, false) if !is_dos_directory => Ok(()),
            _ => Err(WheelProblem::SpecialFile),
        }
    }

    pub(super) fn compression(&self) -> Result<Compression, WheelProblem> {
        match self.method {
            0 => Ok(Compression::Stored),
            8 => Ok(Compression::Deflated),
            other => Err(WheelProblem::Method(other)),
        }
    }

    /// Checks that the stated sizes are possible and allowed.
    pub(super) fn check_sizes(&self) -> Result<(), WheelProblem> {
        if self.size > MAX_FILE_BYTES {
            return Err(WheelProblem::TooMuch { what: "unpacked bytes of one file", limit: MAX_FILE_BYTES });
        }
        if self.is_directory() && self.size != 0 {
            return Err(WheelProblem::SpecialFile);
        }
        match self.compression()? {
            Compression::Stored if self.packed != self.size => {
                Err(WheelProblem::Corrupt("stored, but its two sizes differ"))
            }
            Compression::Deflated if !super::is_possible_ratio(self.packed, self.size) => {
                Err(WheelProblem::Bomb { bytes: self.size, limit: self.packed.saturating_mul(super::MAX_FILE_RATIO) })
            }
            _ => Ok(()),
        }
    }
}
