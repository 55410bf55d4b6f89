//! Increments of a checkpoint: pages of the linear memory that its machine has changed since the fork, in a shared file
//! in memory.
//!
//! The file has a head of [`HEAD_BYTES`], then the pages. An increment has all pages that changed since the checkpoint
//! was forked, so it replaces the previous one. While it is written, the head marks it as incomplete.

use std::fs::File;
use std::io::{self, IoSlice};
use std::os::unix::fs::FileExt;

use rustix::io::pwritev;

use crate::memory::PAGE_BYTES;

/// Most pages of an increment. Above this, a new fork is faster.
pub(crate) const MAX_PAGES: usize = 1280;

/// Bytes before the pages: the words of the head, then the page numbers.
const HEAD_BYTES: usize = 2 * PAGE_BYTES;

/// Size of the file, in bytes.
pub(crate) const FILE_BYTES: u64 = (HEAD_BYTES + MAX_PAGES * PAGE_BYTES) as u64;

/// Words of the head, of eight bytes each.
const WORDS: usize = 4;

const _: () = assert!(WORDS * 8 + MAX_PAGES * 4 <= HEAD_BYTES);

/// Runs of pages that are written with one call (IOV_MAX is 1024).
const RUNS: usize = 512;

/// Value of the first word while an increment is written.
const TORN: u64 = u64::MAX;

/// The file. The machine writes it, the checkpoint reads it.
#[derive(Debug)]
pub(super) struct Increments {
    file: File,
}

/// The increment is incomplete or invalid; the checkpoint cannot be brought to the state of its machine.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TornIncrement;

impl Increments {
    pub(super) fn new(file: File) -> Increments {
        Increments { file }
    }

    /// Resets the file for checkpoint `fork`: no increment.
    pub(super) fn reset(&self, fork: u64) -> io::Result<()> {
        self.write_head(&[fork, 0, 0, 0], &[])
    }

    /// Writes `pages` of `memory`, at most [`MAX_PAGES`], as the increment of checkpoint `fork` after `generation`
    /// changes.
    ///
    /// # Errors
    /// The kernel's: no memory. The previous increment is lost then.
    pub(super) fn write(&self, fork: u64, generation: u64, memory: &[u8], pages: &[u32]) -> io::Result<()> {
        self.file.write_all_at(&TORN.to_ne_bytes(), 0)?;
        let mut offset = HEAD_BYTES as u64;
        let mut runs = Vec::with_capacity(RUNS);
        let mut rest = runs_of(pages).peekable();
        while let Some((first, count)) = rest.next() {
            let start = first as usize * PAGE_BYTES;
            let run = memory.get(start..start + count * PAGE_BYTES).ok_or(io::ErrorKind::InvalidInput)?;
            runs.push(IoSlice::new(run));
            if runs.len() == RUNS || rest.peek().is_none() {
                let length: usize = runs.iter().map(|run| run.len()).sum();
                if pwritev(&self.file, &runs, offset)? != length {
                    return Err(io::ErrorKind::WriteZero.into());
                }
                offset += length as u64;
                runs.clear();
            }
        }
        self.write_head(&[fork, 1, generation, pages.len() as u64], pages)
    }

    fn write_head(&self, words: &[u64; WORDS], pages: &[u32]) -> io::Result<()> {
        let mut head: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        head.extend(pages.iter().flat_map(|page| page.to_ne_bytes()));
        self.file.write_all_at(&head, 0)
    }

    fn head(&self) -> io::Result<Vec<u8>> {
        let mut head = vec![0; HEAD_BYTES];
        self.file.read_exact_at(&mut head, 0)?;
        Ok(head)
    }

    /// Applies the increment for checkpoint `fork` to `memory`. Returns the number of changes of the machine at that
    /// time; `None` if there is no increment.
    ///
    /// # Errors
    /// If the machine ended while it wrote the increment, or writes to the file again. The memory is unusable then.
    pub(super) fn apply(&self, fork: u64, memory: &mut [u8]) -> Result<Option<u64>, TornIncrement> {
        let head = self.head().map_err(|_| TornIncrement)?;
        let (words, _) = head.as_chunks::<8>();
        let [of, some, generation, count] = [0, 1, 2, 3].map(|word| u64::from_ne_bytes(words[word]));
        // The head is of the checkpoint before this one: the machine has not written since.
        if of < fork || (of == fork && some == 0) {
            return Ok(None);
        }
        let count = usize::try_from(count).map_err(|_| TornIncrement)?;
        if of != fork || count > MAX_PAGES {
            return Err(TornIncrement);
        }
        let (numbers, _) = head[WORDS * 8..].as_chunks::<4>();
        let pages: Vec<u32> = numbers[..count].iter().map(|&number| u32::from_ne_bytes(number)).collect();
        let mut offset = HEAD_BYTES as u64;
        for (first, count) in runs_of(&pages) {
            let start = first as usize * PAGE_BYTES;
            let place = memory.get_mut(start..start + count * PAGE_BYTES).ok_or(TornIncrement)?;
            self.file.read_exact_at(place, offset).map_err(|_| TornIncrement)?;
            offset += place.len() as u64;
        }
        // The machine has not written to the file meanwhile.
        if self.head().map_err(|_| TornIncrement)? == head { Ok(Some(generation)) } else { Err(TornIncrement) }
    }
}

/// Returns the runs of consecutive pages: number of the first page, count.
fn runs_of(pages: &[u32]) -> impl Iterator<Item = (u32, usize)> {
    pages.chunk_by(|a, b| a.checked_add(1) == Some(*b)).map(|run| (run[0], run.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Increments {
        let file = tempfile::tempfile().unwrap();
        file.set_len(FILE_BYTES).unwrap();
        Increments::new(file)
    }

    #[test]
    fn a_checkpoint_becomes_what_its_machine_was() {
        let increments = file();
        let mut checkpoint = vec![0u8; 16 * PAGE_BYTES];
        increments.reset(1).unwrap();
        assert_eq!(increments.apply(1, &mut checkpoint), Ok(None));
        let mut machine = checkpoint.clone();
        for (number, page) in [3, 4, 9, 15].into_iter().enumerate() {
            machine[page * PAGE_BYTES + number] = number as u8 + 1;
        }
        increments.write(1, 7, &machine, &[3, 4, 9]).unwrap();
        increments.write(1, 8, &machine, &[3, 4, 9, 15]).unwrap();
        assert_eq!(increments.apply(1, &mut checkpoint), Ok(Some(8)));
        assert_eq!(checkpoint, machine);
        // Checkpoint 2 was forked with all those pages, but the machine ended before it reset the file.
        assert_eq!(increments.apply(2, &mut checkpoint), Ok(None));
        increments.reset(2).unwrap();
        assert_eq!(increments.apply(2, &mut checkpoint), Ok(None));
        assert_eq!(increments.apply(1, &mut checkpoint), Err(TornIncrement), "it is of another");
    }

    #[test]
    fn many_runs_are_written() {
        let increments = file();
        let machine: Vec<u8> = (0..2 * MAX_PAGES * PAGE_BYTES).map(|at| (at / PAGE_BYTES) as u8).collect();
        let pages: Vec<u32> = (0..MAX_PAGES as u32).map(|page| 2 * page).collect();
        increments.write(3, 1, &machine, &pages).unwrap();
        let mut checkpoint = vec![0u8; machine.len()];
        assert_eq!(increments.apply(3, &mut checkpoint), Ok(Some(1)));
        for (number, page) in checkpoint.chunks(PAGE_BYTES).enumerate() {
            let expected = if number % 2 == 0 { number as u8 } else { 0 };
            assert!(page.iter().all(|&byte| byte == expected), "page {number}");
        }
    }

    #[test]
    fn what_is_not_whole_is_refused() {
        let increments = file();
        let mut memory = vec![0u8; 4 * PAGE_BYTES];
        increments.write(1, 1, &memory.clone(), &[2]).unwrap();
        // Interrupted write.
        increments.file.write_all_at(&TORN.to_ne_bytes(), 0).unwrap();
        assert_eq!(increments.apply(1, &mut memory), Err(TornIncrement));
        // Malicious content: page out of range, too many pages.
        increments.write_head(&[1, 1, 1, 1], &[4]).unwrap();
        assert_eq!(increments.apply(1, &mut memory), Err(TornIncrement));
        increments.write_head(&[1, 1, 1, MAX_PAGES as u64 + 1], &[0]).unwrap();
        assert_eq!(increments.apply(1, &mut memory), Err(TornIncrement));
        increments.file.set_len(100).unwrap();
        assert_eq!(increments.apply(1, &mut memory), Err(TornIncrement));
    }
}
