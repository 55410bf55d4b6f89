//! Reading a page map (proc_pid_pagemap(5)): what the kernel knows of a process's pages.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use crate::memory::PAGE_BYTES;

/// Bits of an entry: in memory, in swap, of a file, mapped by this process alone.
const PRESENT: u64 = 1 << 63;
const SWAPPED: u64 = 1 << 62;
const OF_FILE: u64 = 1 << 61;
const EXCLUSIVE: u64 = 1 << 56;

/// Entry of one page in the page map (`/proc/PID/pagemap`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry(u64);

impl Entry {
    /// Returns whether the page is in memory, anonymous, and not shared with another process.
    pub(crate) fn is_exclusive(self) -> bool {
        self.0 & (PRESENT | OF_FILE | EXCLUSIVE) == PRESENT | EXCLUSIVE
    }

    /// Returns whether the page is in swap. The kernel does not say then whether it is shared.
    pub(crate) fn is_swapped(self) -> bool {
        self.0 & SWAPPED != 0
    }

    /// Of a private mapping of a file, whether it may be another page than the file's.
    pub(crate) fn is_private(self) -> bool {
        self.is_swapped() || self.0 & (PRESENT | OF_FILE) == PRESENT
    }
}

/// A buffer for entries, to be used again.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    bytes: Vec<u8>,
}

impl Entries {
    /// The entries of the pages in the range of addresses, from that of its first page on; they end with the last mapping.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn read(&mut self, map: &File, range: Range<usize>) -> std::io::Result<impl Iterator<Item = Entry>> {
        const ENTRY: usize = size_of::<u64>();
        let first = range.start / PAGE_BYTES;
        self.bytes.resize((range.end.div_ceil(PAGE_BYTES) - first) * ENTRY, 0);
        let read = map.read_at(&mut self.bytes, (first * ENTRY) as u64)?;
        let (entries, _) = self.bytes[..read].as_chunks();
        Ok(entries.iter().map(|&entry| Entry(u64::from_ne_bytes(entry))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_this_process_are_told_apart() {
        let memory = vec![1u8; 4 * PAGE_BYTES];
        let start = (memory.as_ptr() as usize).next_multiple_of(PAGE_BYTES);
        let map = File::open("/proc/self/pagemap").expect("one's own");
        let mut entries = Entries::default();
        let own: Vec<Entry> = entries.read(&map, start..start + 3 * PAGE_BYTES).unwrap().collect();
        assert!(own.len() == 3 && own.iter().all(|entry| entry.is_private()));
        // Beyond everything that is mapped, and of a file.
        assert_eq!(entries.read(&map, usize::MAX - PAGE_BYTES..usize::MAX).unwrap().count(), 0);
        let code = pages_of_this_process_are_told_apart as fn() as usize;
        let code: Vec<Entry> = entries.read(&map, code..code + 1).unwrap().collect();
        assert!(!code[0].is_exclusive() && !code[0].is_private());
    }
}
