//! The difference between a session and its base image: the pages, functions and files that differ.
//!
//! One zstd stream: the length of the head, the head ([`Head`]), then the changed pages in the order of the head's
//! runs. It is written by the session's own machine and read by the machine that continues it, both in the jail; the
//! server only stores it, with a checksum of its own.

use std::fs::File;
use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

use super::{Base, ImageError, Record, SavedState};
use crate::libc::zone::Zone;
use crate::memory::{Mapped, PAGE_BYTES};
use crate::page_map::{Entries, Entry};

/// Compression level: fast, because a request may wait for the session's memory.
const LEVEL: i32 = 1;

/// Largest head, in bytes.
const MAX_HEAD: u64 = 1 << 30;

/// Everything but the pages.
#[derive(Serialize, Deserialize)]
struct Head {
    record: Record,
    /// What differs from the base's file system.
    files: Vec<u8>,
    /// Changed pages: number of the first, how many.
    runs: Vec<(u32, u32)>,
    /// Local time; see [`SavedState::zone`].
    #[serde(deserialize_with = "super::or_default")]
    zone: Zone,
}

fn failed(error: io::Error) -> ImageError {
    ImageError::Engine(format!("the session's image: {error}"))
}

/// Writes the difference between `memory` and `saved` and their base. `page_map` is this process's own: pages that it
/// has not written are not compared.
///
/// # Errors
/// When the base cannot be mapped or the file not written.
pub(crate) fn write(
    to: impl Write,
    base: &Base,
    memory: &[u8],
    page_map: Option<&File>,
    saved: SavedState,
) -> Result<(), ImageError> {
    let original = Mapped::new(&base.file, super::file::HEADER_BYTES, base.header.memory).map_err(failed)?;
    let own = page_map.and_then(|map| private_pages(map, memory));
    let runs = changed(memory, original.bytes(), own.as_deref());
    let head = Head { record: saved.record, files: saved.vfs, runs, zone: saved.zone };
    let bytes = postcard::to_allocvec(&head).map_err(|error| ImageError::Engine(error.to_string()))?;
    let stream = || -> io::Result<()> {
        let mut encoder = zstd::Encoder::new(to, LEVEL)?;
        encoder.write_all(&(bytes.len() as u64).to_le_bytes())?;
        encoder.write_all(&bytes)?;
        for &(first, count) in &head.runs {
            let start = first as usize * PAGE_BYTES;
            encoder.write_all(&memory[start..start + count as usize * PAGE_BYTES])?;
        }
        encoder.finish()?.flush()
    };
    stream().map_err(failed)
}

/// Returns for each page of `memory`, which lies over a private mapping of the base, whether it may differ from the
/// base's. `None` if the kernel does not report it.
fn private_pages(page_map: &File, memory: &[u8]) -> Option<Vec<bool>> {
    let start = memory.as_ptr() as usize;
    let mut buffer = Entries::default();
    let entries = buffer.read(page_map, start..start + memory.len()).ok()?;
    let own: Vec<bool> = entries.map(Entry::is_private).collect();
    (own.len() == memory.len() / PAGE_BYTES).then_some(own)
}

/// Returns the runs of pages in which `memory` differs from `base` or, beyond its end, from zeros. If `own` is given,
/// only pages for which it is `true` are compared.
fn changed(memory: &[u8], base: &[u8], own: Option<&[bool]>) -> Vec<(u32, u32)> {
    const ZEROS: [u8; PAGE_BYTES] = [0; PAGE_BYTES];
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for (number, page) in memory.chunks_exact(PAGE_BYTES).enumerate() {
        if own.is_some_and(|own| own.get(number) == Some(&false)) {
            continue;
        }
        let start = number * PAGE_BYTES;
        let original = base.get(start..start + PAGE_BYTES).unwrap_or(&ZEROS);
        if page == original {
            continue;
        }
        let number = number as u32;
        match runs.last_mut() {
            Some((first, count)) if *first + *count == number => *count += 1,
            _ => runs.push((number, 1)),
        }
    }
    runs
}

/// A difference that has been opened: the head is read, the pages follow.
pub(crate) struct Reader<'a> {
    stream: zstd::Decoder<'a, io::BufReader<&'a File>>,
    runs: Vec<(u32, u32)>,
}

/// Reads the head.
///
/// # Errors
/// When it is damaged.
#[expect(clippy::disallowed_methods, reason = "at most a named number of bytes")]
pub(crate) fn read(from: &File) -> Result<(SavedState, Reader<'_>), ImageError> {
    let damaged = |error: io::Error| ImageError::Damaged(error.to_string());
    let mut stream = zstd::Decoder::new(from).map_err(damaged)?;
    let mut word = [0; 8];
    stream.read_exact(&mut word).map_err(damaged)?;
    let length = u64::from_le_bytes(word);
    if length > MAX_HEAD {
        return Err(ImageError::Damaged("head".to_owned()));
    }
    let mut bytes = Vec::new();
    (&mut stream).take(length).read_to_end(&mut bytes).map_err(damaged)?;
    let head: Head = postcard::from_bytes(&bytes).map_err(|error| ImageError::Damaged(error.to_string()))?;
    Ok((SavedState { record: head.record, vfs: head.files, zone: head.zone }, Reader { stream, runs: head.runs }))
}

impl Reader<'_> {
    /// Writes the changed pages into `memory`, which holds the base and then zeros.
    ///
    /// # Errors
    /// When the stream is damaged or a page lies outside.
    pub(crate) fn pages(mut self, memory: &mut [u8]) -> Result<(), ImageError> {
        for (first, count) in self.runs {
            let start = first as usize * PAGE_BYTES;
            let end = start.saturating_add(count as usize * PAGE_BYTES);
            let place = memory.get_mut(start..end).ok_or_else(|| ImageError::Damaged("page".to_owned()))?;
            crate::memory::populate_write(place);
            self.stream.read_exact(place).map_err(|error| ImageError::Damaged(error.to_string()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_pages_are_found_in_runs() {
        let base = vec![1; 4 * PAGE_BYTES];
        let mut memory = base.clone();
        memory.resize(7 * PAGE_BYTES, 0);
        assert!(changed(&memory, &base, None).is_empty());
        for page in [1, 2, 5] {
            memory[page * PAGE_BYTES + 9] = 7;
        }
        assert_eq!(changed(&memory, &base, None), [(1, 2), (5, 1)]);
        let own = [false, true, true, true, true, false, true];
        assert_eq!(changed(&memory, &base, Some(&own)), [(1, 2)]);
    }
}
