//! What a session is more than its base image: the pages, functions and files that differ.
//!
//! One zstd stream: the length of the head, the head ([`Head`]), then the changed pages in the order of the head's runs. It is
//! written by the session's own machine and read by the machine that continues it, both in the jail; the server only
//! keeps it, with a checksum of its own.

use std::fs::File;
use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

use super::file::PAGE_BYTES;
use super::{Base, ImageError, Record};
use crate::machine::Frozen;
use crate::memory::Mapped;

/// Compression level: fast, because a session is written while someone may wait for its memory.
const LEVEL: i32 = 1;

/// Largest head, in bytes.
const MAX_HEAD: u64 = 1 << 30;

/// Largest file system in its serialised form, in bytes.
const MAX_FILES: usize = 1 << 30;

/// Everything but the pages.
#[derive(Serialize, Deserialize)]
struct Head {
    record: Record,
    /// The file system, compressed against the base's.
    files: Vec<u8>,
    /// Changed pages: number of the first, how many.
    runs: Vec<(u32, u32)>,
}

fn failed(error: io::Error) -> ImageError {
    ImageError::Engine(format!("the session's image: {error}"))
}

/// Writes the difference between `memory` and `frozen` and their base.
///
/// # Errors
/// When the base cannot be mapped or the file not written.
pub(crate) fn write(to: impl Write, base: &Base, memory: &[u8], frozen: Frozen) -> Result<(), ImageError> {
    let original = Mapped::new(&base.file, super::file::HEADER_BYTES, base.header.memory).map_err(failed)?;
    let runs = changed(memory, original.bytes());
    let files = compress_files(&frozen.vfs, &base.vfs).map_err(failed)?;
    let head = Head { record: frozen.record, files, runs };
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

/// Runs of pages in which `memory` differs from `base`, or, beyond its end, from zeros.
fn changed(memory: &[u8], base: &[u8]) -> Vec<(u32, u32)> {
    const ZEROS: [u8; PAGE_BYTES] = [0; PAGE_BYTES];
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for (number, page) in memory.chunks_exact(PAGE_BYTES).enumerate() {
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
pub(crate) fn read<'a>(from: &'a File, base: &Base) -> Result<(Frozen, Reader<'a>), ImageError> {
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
    let vfs = decompress_files(&head.files, &base.vfs).map_err(damaged)?;
    Ok((Frozen { record: head.record, vfs }, Reader { stream, runs: head.runs }))
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
            self.stream.read_exact(place).map_err(|error| ImageError::Damaged(error.to_string()))?;
        }
        Ok(())
    }
}

/// Compresses `files` with the base's as a dictionary: what is the same in both costs next to nothing.
fn compress_files(files: &[u8], base: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = zstd::Encoder::with_ref_prefix(Vec::new(), LEVEL, base)?;
    encoder.long_distance_matching(true)?;
    encoder.window_log(window_log(files.len() + base.len()))?;
    encoder.write_all(files)?;
    encoder.finish()
}

fn decompress_files(compressed: &[u8], base: &[u8]) -> io::Result<Vec<u8>> {
    let mut decoder = zstd::Decoder::with_ref_prefix(compressed, base)?;
    decoder.window_log_max(window_log(usize::MAX))?;
    let mut files = Vec::new();
    decoder.take(MAX_FILES as u64 + 1).read_to_end(&mut files)?;
    if files.len() > MAX_FILES { Err(io::ErrorKind::InvalidData.into()) } else { Ok(files) }
}

/// Logarithm of a window that spans so many bytes, within zstd's own limits.
fn window_log(bytes: usize) -> u32 {
    (usize::BITS - bytes.leading_zeros()).clamp(20, 30)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_pages_are_found_in_runs() {
        let base = vec![1; 4 * PAGE_BYTES];
        let mut memory = base.clone();
        memory.resize(7 * PAGE_BYTES, 0);
        assert!(changed(&memory, &base).is_empty());
        for page in [1, 2, 5] {
            memory[page * PAGE_BYTES + 9] = 7;
        }
        assert_eq!(changed(&memory, &base), [(1, 2), (5, 1)]);
    }

    #[test]
    fn files_that_did_not_change_cost_nothing() {
        let mut state = 1u32;
        let base: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .take(3 << 20)
        .collect();
        let mut files = base.clone();
        files.splice(1 << 20..1 << 20, *b"something new");
        let compressed = compress_files(&files, &base).unwrap();
        assert!(compressed.len() < 4096, "{}", compressed.len());
        assert_eq!(decompress_files(&compressed, &base).unwrap(), files);
    }
}
