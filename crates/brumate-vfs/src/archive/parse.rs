//! Reads a zip archive's directory.

use std::collections::HashMap;
use std::ops::Range;

use super::{ArchiveError, ArchiveLimits, Entry, EntryProblem, Packing, entry_error};
use crate::limits::NAME_MAX;
use crate::time::Timestamp;

/// Position of the central directory.
pub(super) struct Directory {
    pub(super) start: usize,
    pub(super) end: usize,
    count: u64,
}

const END_RECORD: usize = 22;
const END_COMMENT_MAX: usize = 65_535;
const CENTRAL_HEADER: usize = 46;
const LOCAL_HEADER: usize = 30;

fn u16_at(data: &[u8], at: usize) -> Option<u16> {
    let bytes = data.get(at..at.checked_add(2)?)?;
    Some(u16::from_le_bytes(bytes.try_into().ok()?))
}

fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    let bytes = data.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

fn u64_at(data: &[u8], at: usize) -> Option<u64> {
    let bytes = data.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

impl Directory {
    /// Finds the end record: the one whose comment ends exactly at the end of the data.
    pub(super) fn locate(data: &[u8], limits: &ArchiveLimits) -> Result<Self, ArchiveError> {
        let bad = ArchiveError::NotAnArchive;
        let last = data.len().checked_sub(END_RECORD).ok_or(bad("too short"))?;
        let first = last.saturating_sub(END_COMMENT_MAX);
        let at = (first..=last)
            .rev()
            .find(|&at| {
                data[at..].starts_with(b"PK\x05\x06")
                    && u16_at(data, at + 20).is_some_and(|comment| at + END_RECORD + usize::from(comment) == data.len())
            })
            .ok_or(bad("no end record"))?;
        let field = |offset, what| u32_at(data, at + offset).map(u64::from).ok_or(bad(what));
        let disks = field(4, "end record")?;
        let mut count = u64::from(u16_at(data, at + 10).ok_or(bad("end record"))?);
        let here = u64::from(u16_at(data, at + 8).ok_or(bad("end record"))?);
        let mut size = field(12, "end record")?;
        let mut start = field(16, "end record")?;
        let mut border = at;
        if count == 0xffff || size == 0xffff_ffff || start == 0xffff_ffff {
            let locator =
                at.checked_sub(20).filter(|&l| data[l..].starts_with(b"PK\x06\x07")).ok_or(bad("zip64 locator"))?;
            let record = u64_at(data, locator + 8)
                .and_then(|r| usize::try_from(r).ok())
                .filter(|&r| r < locator && data[r..].starts_with(b"PK\x06\x06"))
                .ok_or(bad("zip64 record"))?;
            count = u64_at(data, record + 32).ok_or(bad("zip64 record"))?;
            size = u64_at(data, record + 40).ok_or(bad("zip64 record"))?;
            start = u64_at(data, record + 48).ok_or(bad("zip64 record"))?;
            border = record;
        } else if disks != 0 || here != count {
            return Err(bad("archive in several parts"));
        }
        if count > limits.entries as u64 {
            return Err(ArchiveError::TooLarge { what: "entries", limit: limits.entries as u64 });
        }
        // No bytes may lie between directory and end record: other readers would look for the directory there.
        let end = start.checked_add(size).ok_or(bad("directory out of bounds"))?;
        if end != border as u64 {
            return Err(bad("directory does not end at the end record"));
        }
        Ok(Self { start: start as usize, end: border, count })
    }
}

/// Content of the directory.
pub(super) struct Parsed {
    pub(super) entries: Vec<Entry>,
    pub(super) directories: Vec<Vec<u8>>,
    pub(super) total: u64,
}

/// Reads and checks every entry.
pub(super) fn parse(data: &[u8], directory: &Directory, limits: &ArchiveLimits) -> Result<Parsed, ArchiveError> {
    let mut parsed = Parsed { entries: Vec::new(), directories: Vec::new(), total: 0 };
    let mut seen = Names::default();
    let mut extents = Vec::new();
    let mut at = directory.start;
    for _ in 0..directory.count {
        let central =
            Central::read(data, at, directory.end).ok_or(ArchiveError::NotAnArchive("truncated directory"))?;
        at = central.next;
        let fail = |problem| entry_error(central.name, problem);
        let (path, is_dir) = checked_name(central.name, limits).map_err(fail)?;
        let kind = central.unix_type();
        match kind {
            0xA000 => return Err(fail(EntryProblem::Symlink)),
            0 | 0x8000 if !is_dir => {}
            0 | 0x4000 if is_dir => {}
            _ => return Err(fail(EntryProblem::SpecialFile)),
        }
        seen.register(path, is_dir).map_err(fail)?;
        // Deep paths of few entries imply many directories.
        if seen.known.len() > limits.entries.saturating_mul(2) {
            return Err(ArchiveError::TooLarge { what: "directories", limit: limits.entries as u64 });
        }
        if is_dir {
            if central.size != 0 {
                return Err(fail(EntryProblem::BadExtent));
            }
            parsed.directories.push(path.to_vec());
            continue;
        }
        let (entry, extent) = central.entry(directory.start, limits).map_err(fail)?;
        parsed.total = parsed.total.saturating_add(entry.size);
        if parsed.total > limits.total_bytes {
            return Err(ArchiveError::TooLarge { what: "bytes", limit: limits.total_bytes });
        }
        extents.push((extent, parsed.entries.len()));
        parsed.entries.push(entry);
    }
    if at != directory.end {
        return Err(ArchiveError::NotAnArchive("directory longer than its entries"));
    }
    extents.sort_by_key(|(extent, _)| extent.start);
    for pair in extents.windows(2) {
        let [(first, index), (second, other)] = pair else { continue };
        if first.end > second.start {
            let name = parsed.entries[*other].name.clone();
            return Err(entry_error(&data[name], EntryProblem::BadExtent));
        }
        parsed.entries[*index].border = second.start;
    }
    Ok(parsed)
}

/// Names that occurred so far.
#[derive(Default)]
struct Names<'a> {
    /// `true` marks a file; parents of files are added as directories.
    known: HashMap<&'a [u8], bool>,
    /// The directory registered last: archives list the files of a directory one after the other.
    last: Option<&'a [u8]>,
}

impl<'a> Names<'a> {
    /// Adds a path and its parents, refusing duplicates and a path that is both file and directory.
    fn register(&mut self, path: &'a [u8], is_dir: bool) -> Result<(), EntryProblem> {
        let parent = path.iter().rposition(|&b| b == b'/').map(|at| &path[..at]);
        if parent != self.last {
            for (at, _) in path.iter().enumerate().filter(|&(_, &b)| b == b'/') {
                if self.known.insert(&path[..at], false) == Some(true) {
                    return Err(EntryProblem::Duplicate);
                }
            }
            self.last = parent;
        }
        match self.known.insert(path, !is_dir) {
            Some(true) => Err(EntryProblem::Duplicate),
            Some(false) if !is_dir => Err(EntryProblem::Duplicate),
            _ => Ok(()),
        }
    }
}

/// The path without a trailing slash, and whether there was one.
fn checked_name<'a>(name: &'a [u8], limits: &ArchiveLimits) -> Result<(&'a [u8], bool), EntryProblem> {
    let drive = name.len() >= 2 && name[1] == b':' && name[0].is_ascii_alphabetic();
    if name.first() == Some(&b'/') || drive {
        return Err(EntryProblem::AbsoluteName);
    }
    let (path, is_dir) = match name.strip_suffix(b"/") {
        Some(path) => (path, true),
        None => (name, false),
    };
    if path.is_empty() || path.len() > limits.path_bytes || path.iter().any(|&b| b == 0 || b == b'\\') {
        return Err(EntryProblem::InvalidName);
    }
    for (depth, component) in path.split(|&b| b == b'/').enumerate() {
        if depth >= limits.path_depth {
            return Err(EntryProblem::InvalidName);
        }
        match component {
            b".." => return Err(EntryProblem::PathTraversal),
            b"" | b"." => return Err(EntryProblem::InvalidName),
            long if long.len() > NAME_MAX => return Err(EntryProblem::InvalidName),
            _ => {}
        }
    }
    Ok((path, is_dir))
}

/// One header of the central directory.
struct Central<'a> {
    name: &'a [u8],
    name_at: usize,
    made_by_unix: bool,
    flags: u16,
    method: u16,
    dos_time: u16,
    dos_date: u16,
    crc: u32,
    packed: u64,
    size: u64,
    attributes: u32,
    local: u64,
    next: usize,
}

impl<'a> Central<'a> {
    fn read(data: &'a [u8], at: usize, end: usize) -> Option<Self> {
        let data = &data[..end];
        if !data.get(at..)?.starts_with(b"PK\x01\x02") {
            return None;
        }
        let name_len = usize::from(u16_at(data, at + 28)?);
        let extra_len = usize::from(u16_at(data, at + 30)?);
        let comment_len = usize::from(u16_at(data, at + 32)?);
        let name_at = at + CENTRAL_HEADER;
        let extra_at = name_at + name_len;
        let next = extra_at + extra_len + comment_len;
        let extra = data.get(extra_at..extra_at + extra_len)?;
        data.get(..next)?;
        let mut header = Self {
            name: data.get(name_at..extra_at)?,
            name_at,
            made_by_unix: data[at + 5] == 3,
            flags: u16_at(data, at + 8)?,
            method: u16_at(data, at + 10)?,
            dos_time: u16_at(data, at + 12)?,
            dos_date: u16_at(data, at + 14)?,
            crc: u32_at(data, at + 16)?,
            packed: u32_at(data, at + 20)?.into(),
            size: u32_at(data, at + 24)?.into(),
            attributes: u32_at(data, at + 38)?,
            local: u32_at(data, at + 42)?.into(),
            next,
        };
        header.apply_zip64(extra)?;
        Some(header)
    }

    /// Takes the fields that did not fit from the zip64 extra field.
    fn apply_zip64(&mut self, extra: &[u8]) -> Option<()> {
        const FULL: u64 = 0xffff_ffff;
        let mut wanted =
            [&mut self.size, &mut self.packed, &mut self.local].into_iter().filter(|f| **f == FULL).peekable();
        if wanted.peek().is_none() {
            return Some(());
        }
        let mut at = 0;
        while at + 4 <= extra.len() {
            let (id, len) = (u16_at(extra, at)?, usize::from(u16_at(extra, at + 2)?));
            let body = extra.get(at + 4..at + 4 + len)?;
            if id == 1 {
                for (i, field) in wanted.enumerate() {
                    *field = u64_at(body, i * 8)?;
                }
                return Some(());
            }
            at += 4 + len;
        }
        None
    }

    /// Returns the file type bits of a Unix mode, 0 if the entry has none.
    fn unix_type(&self) -> u32 {
        // Checked for every system: extractors make links from a link type in the mode bits.
        (self.attributes >> 16) & 0xF000
    }

    /// The entry, and the bytes that it takes up at least.
    fn entry(&self, directory_start: usize, limits: &ArchiveLimits) -> Result<(Entry, Range<usize>), EntryProblem> {
        if self.flags & 0x2041 != 0 {
            return Err(EntryProblem::Encrypted);
        }
        let packing = match self.method {
            0 => Packing::Stored,
            8 => Packing::Deflated,
            other => return Err(EntryProblem::Method(other)),
        };
        if self.size > limits.entry_bytes {
            return Err(EntryProblem::TooLarge(self.size));
        }
        match packing {
            Packing::Stored if self.packed != self.size => return Err(EntryProblem::BadExtent),
            // Deflate cannot do better than 1032 to 1; the constant covers block headers.
            Packing::Deflated if self.size > self.packed.saturating_mul(1032).saturating_add(1032) => {
                return Err(EntryProblem::ImpossibleRatio);
            }
            _ => {}
        }
        let bad = |_| EntryProblem::BadExtent;
        let (local, packed) = (usize::try_from(self.local).map_err(bad)?, usize::try_from(self.packed).map_err(bad)?);
        // A lower bound: the other fields of the local header are checked when it is read.
        let end = [LOCAL_HEADER, self.name.len(), packed].into_iter().try_fold(local, usize::checked_add);
        let end = end.filter(|&end| end <= directory_start).ok_or(EntryProblem::BadExtent)?;
        let mode = (self.attributes >> 16) & 0o777;
        let entry = Entry {
            name: self.name_at..self.name_at + self.name.len(),
            packing,
            method: self.method,
            local,
            packed,
            border: directory_start,
            size: self.size,
            crc: self.crc,
            mode: if self.made_by_unix && mode != 0 { mode | 0o400 } else { 0o644 },
            modified: dos_timestamp(self.dos_date, self.dos_time),
        };
        Ok((entry, local..end))
    }
}

impl Entry {
    /// Returns the range of its packed data in the archive `data`.
    ///
    /// # Errors
    /// If there is no local header, it differs from the directory, or the data reaches into the next entry.
    pub(super) fn packed_range(&self, data: &[u8]) -> Result<Range<usize>, EntryProblem> {
        let header = data.get(self.local..self.border).filter(|header| header.starts_with(b"PK\x03\x04"));
        let header = header.ok_or(EntryProblem::BadExtent)?;
        let length = |at| u16_at(header, at).map(usize::from).ok_or(EntryProblem::BadExtent);
        let (name_len, extra_len) = (length(26)?, length(28)?);
        let name = header.get(LOCAL_HEADER..LOCAL_HEADER + name_len).ok_or(EntryProblem::BadExtent)?;
        if Some(name) != data.get(self.name.clone()) || u16_at(header, 8) != Some(self.method) {
            return Err(EntryProblem::HeaderMismatch);
        }
        let start = self.local + LOCAL_HEADER + name_len + extra_len;
        let end = start.checked_add(self.packed).filter(|&end| end <= self.border);
        Ok(start..end.ok_or(EntryProblem::BadExtent)?)
    }
}

/// Turns an MS-DOS date and time into a time, taking it as UTC. Impossible dates become 1980-01-01.
fn dos_timestamp(date: u16, time: u16) -> Timestamp {
    let (year, month, day) = (i64::from(date >> 9) + 1980, i64::from((date >> 5) & 15), i64::from(date & 31));
    let (year, month, day) = if (1..=12).contains(&month) && day >= 1 { (year, month, day) } else { (1980, 1, 1) };
    let (hour, minute, second) = (i64::from(time >> 11), i64::from((time >> 5) & 63), i64::from(time & 31) * 2);
    // Days from a civil date, counting years from March so that the leap day is last.
    let (shifted_year, shifted_month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = shifted_year * 365 + shifted_year / 4 - shifted_year / 100 + shifted_year / 400;
    let days = days + (153 * shifted_month + 2) / 5 + day - 1 - 719_468;
    Timestamp { secs: days * 86_400 + hour * 3600 + minute * 60 + second, nanos: 0 }
}
