//! Local headers: they must equal those of the directory, and lie one after the other.

use super::super::WheelProblem;
use super::super::error::LocatedProblem;
use super::directory::{DESCRIPTOR, DirectoryHeader};
use super::{Entry, ReadAt, SATURATED, io_problem, u16_at, u32_at, u64_at, zip64_field};

const HEADER: u64 = 30;
/// Lengths of a data descriptor: three numbers, with or without a signature, with sizes of 32 or 64 bits.
const DESCRIPTOR_LENGTHS: [u64; 4] = [12, 16, 20, 24];

/// Reads the local header of every file and locates its data. `border` is the offset of the directory.
pub(super) fn locate<R: ReadAt + ?Sized>(
    source: &R,
    headers: &[DirectoryHeader],
    border: u64,
) -> Result<Vec<Entry>, LocatedProblem> {
    let mut order: Vec<usize> = (0..headers.len()).collect();
    order.sort_by_key(|&index| headers[index].local);
    let mut entries: Vec<Option<Entry>> = vec![None; headers.len()];
    let mut expected = 0;
    for (position, &index) in order.iter().enumerate() {
        let header = &headers[index];
        let located = |problem| LocatedProblem::new(&header.name, problem);
        if header.local < expected {
            return Err(located(WheelProblem::Extent));
        }
        if header.local > expected {
            return Err(located(WheelProblem::ForeignBytes("in front of it")));
        }
        let next = order.get(position + 1).map_or(border, |&next| headers[next].local);
        let start = check_header(source, header, border).map_err(located)?;
        let end = start.checked_add(header.packed).filter(|&end| end <= border).ok_or(WheelProblem::Extent);
        let end = end.map_err(located)?;
        expected = if header.flags & DESCRIPTOR == 0 {
            end
        } else {
            check_descriptor(source, header, end, next).map_err(located)?
        };
        entries[index] = Some(Entry {
            path: header.path().to_owned(),
            is_directory: header.is_directory(),
            compression: header.compression().map_err(located)?,
            start,
            packed: header.packed,
            size: header.size,
            crc: header.crc,
        });
    }
    if expected != border {
        return Err(WheelProblem::ForeignBytes("between the last file and the directory").into());
    }
    Ok(entries.into_iter().flatten().collect())
}

/// Compares the local header with the directory's; returns the offset of the data.
fn check_header<R: ReadAt + ?Sized>(source: &R, header: &DirectoryHeader, border: u64) -> Result<u64, WheelProblem> {
    let differs = WheelProblem::HeaderMismatch;
    let read = |length: u64, offset: u64| {
        if offset.checked_add(length).is_none_or(|end| end > border) {
            return Err(WheelProblem::Extent);
        }
        let mut bytes = vec![0; length as usize];
        source.read_exact_at(&mut bytes, offset).map_err(|error| io_problem(&error))?;
        Ok(bytes)
    };
    let fixed = read(HEADER, header.local)?;
    if !fixed.starts_with(b"PK\x03\x04") {
        return Err(WheelProblem::Extent);
    }
    let narrow = |offset| u16_at(&fixed, offset).unwrap_or(0);
    let wide = |offset| u32_at(&fixed, offset).unwrap_or(0);
    let (name_len, extra_len) = (u64::from(narrow(26)), u64::from(narrow(28)));
    let variable = read(name_len + extra_len, header.local + HEADER)?;
    let (name, extra) = variable.split_at(name_len as usize);
    if name != header.name.as_bytes() {
        return Err(differs("name"));
    }
    if narrow(6) != header.flags {
        return Err(differs("flags"));
    }
    if narrow(8) != header.method {
        return Err(differs("method"));
    }
    let zip64 = zip64_field(extra)?;
    let (mut size, mut packed) = (u64::from(wide(22)), u64::from(wide(18)));
    if let Some(content) = zip64 {
        // A writer that does not know the size reserves room for it, so the field may be present without need.
        if size == SATURATED {
            size = u64_at(content, 0).ok_or(WheelProblem::Zip64("a field that is too short"))?;
        }
        if packed == SATURATED {
            packed = u64_at(content, 8).ok_or(WheelProblem::Zip64("a field that is too short"))?;
        }
    }
    // With a data descriptor these numbers are zero.
    let deferred = header.flags & DESCRIPTOR != 0;
    if size != header.size && !(deferred && size == 0) {
        return Err(differs("size"));
    }
    if packed != header.packed && !(deferred && packed == 0) {
        return Err(differs("packed size"));
    }
    if wide(14) != header.crc && !(deferred && wide(14) == 0) {
        return Err(differs("checksum"));
    }
    Ok(header.local + HEADER + name_len + extra_len)
}

/// Compares the data descriptor between `end` and `next` with the directory; returns `next`.
fn check_descriptor<R: ReadAt + ?Sized>(
    source: &R,
    header: &DirectoryHeader,
    end: u64,
    next: u64,
) -> Result<u64, WheelProblem> {
    let length = next.checked_sub(end).ok_or(WheelProblem::Extent)?;
    if !DESCRIPTOR_LENGTHS.contains(&length) {
        return Err(WheelProblem::ForeignBytes("behind its data"));
    }
    let mut bytes = vec![0; length as usize];
    source.read_exact_at(&mut bytes, end).map_err(|error| io_problem(&error))?;
    let has_signature = length.is_multiple_of(8);
    let numbers = if has_signature { &bytes[4..] } else { &bytes[..] };
    let (packed, size) = match numbers.len() {
        12 => (u32_at(numbers, 4).map(u64::from), u32_at(numbers, 8).map(u64::from)),
        _ => (u64_at(numbers, 4), u64_at(numbers, 12)),
    };
    let agrees = (!has_signature || bytes.starts_with(b"PK\x07\x08"))
        && u32_at(numbers, 0) == Some(header.crc)
        && packed == Some(header.packed)
        && size == Some(header.size);
    if agrees { Ok(next) } else { Err(WheelProblem::HeaderMismatch("data descriptor")) }
}
