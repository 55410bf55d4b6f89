//! Pages of the linear memory that a machine has written since it forked its checkpoint.

#![expect(unsafe_code, reason = "asks the kernel how many page faults there were")]

use std::fs::File;

use crate::memory;
use crate::memory::PAGE_BYTES;
use crate::page_map::Entries;

/// Largest linear memory whose page map is scanned, in bytes. Above this size scanning the page map is not worth it;
/// the checkpoint is forked instead.
pub(super) const MAX_MEMORY: usize = 512 << 20;

/// Pages that are prefaulted after the last page of a growing heap. Each would otherwise cost a page fault and another
/// scan of the map.
const AHEAD: u32 = 16;

/// Most pages that are prefaulted at once.
const MAX_AHEAD: usize = 2 * AHEAD as usize;

/// Pages of the linear memory that this process does not share: those it has written since its last fork, and those it
/// has prefaulted.
#[derive(Debug)]
pub(super) struct Written {
    /// This process's own page map (proc_pid_pagemap(5)).
    map: File,
    entries: Entries,
    /// Numbers of the pages, sorted.
    pages: Vec<u32>,
    /// Number of page faults when `pages` was read. `None` after a fork.
    faults: Option<u64>,
}

impl Written {
    pub(super) fn new(map: File) -> Written {
        Written { map, entries: Entries::default(), pages: Vec::new(), faults: None }
    }

    /// Returns the page map.
    pub(super) fn map(&self) -> &File {
        &self.map
    }

    /// Marks `pages` as outdated. Must be called after a fork: all pages are shared again.
    pub(super) fn forget(&mut self) {
        self.faults = None;
    }

    /// Returns the numbers of the pages, sorted. `None` if memory exceeds [`MAX_MEMORY`] or the map cannot be read.
    pub(super) fn pages(&mut self, memory: &mut [u8]) -> Option<&[u32]> {
        if memory.len() > MAX_MEMORY {
            return None;
        }
        // Without a page fault no shared page was copied.
        if self.faults != Some(faults()) {
            let of_this_fork = self.faults.take().is_some();
            let before = std::mem::take(&mut self.pages);
            self.read_page_map(memory)?;
            if of_this_fork {
                let ahead = ahead(&before, &self.pages, memory.len() / PAGE_BYTES);
                memory::populate(memory, &ahead);
                // Writes to these pages cause no page faults now.
                self.pages.extend(ahead);
                self.pages.sort_unstable();
            }
            self.faults = Some(faults());
        }
        Some(&self.pages)
    }

    /// Reads the page map. Returns `None` if it cannot be read, or if a page is in swap.
    fn read_page_map(&mut self, memory: &[u8]) -> Option<()> {
        let start = memory.as_ptr() as usize;
        let entries = self.entries.read(&self.map, start..start + memory.len()).ok()?;
        let mut count = 0;
        for (number, entry) in (0..).zip(entries) {
            if entry.is_swapped() {
                return None;
            }
            if entry.is_exclusive() {
                self.pages.push(number);
            }
            count += 1;
        }
        (count == memory.len() / PAGE_BYTES).then_some(())
    }
}

/// Returns the pages to prefault in a memory of `count` pages, sorted: the pages after each newly written page (in
/// `now`, not in `before`) whose preceding page is in `now` as well.
fn ahead(before: &[u32], now: &[u32], count: usize) -> Vec<u32> {
    let has = |pages: &[u32], page: u32| pages.binary_search(&page).is_ok();
    let grown = now.iter().copied().filter(|&page| !has(before, page) && page > 0 && has(now, page - 1));
    let behind = grown.flat_map(|page| page + 1..=page.saturating_add(AHEAD));
    let mut ahead: Vec<u32> = behind.filter(|&page| (page as usize) < count && !has(now, page)).collect();
    ahead.sort_unstable();
    ahead.dedup();
    ahead.truncate(MAX_AHEAD);
    ahead
}

/// Returns the number of page faults of this process.
fn faults() -> u64 {
    // SAFETY: a zeroed rusage is valid, and the call fills it in.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    (usage.ru_minflt as u64).wrapping_add(usage.ru_majflt as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_seen_when_they_are_written() {
        const PAGES: usize = 64;
        let flags = rustix::mm::MapFlags::PRIVATE;
        let protection = rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice, which is never unmapped.
        let memory = unsafe {
            let start =
                rustix::mm::mmap_anonymous(std::ptr::null_mut(), PAGES * PAGE_BYTES, protection, flags).unwrap();
            // Not in huge pages.
            libc::madvise(start, PAGES * PAGE_BYTES, libc::MADV_NOHUGEPAGE);
            std::slice::from_raw_parts_mut(start.cast::<u8>(), PAGES * PAGE_BYTES)
        };
        let mut written = Written::new(File::open("/proc/self/pagemap").expect("one's own"));
        assert_eq!(written.pages(memory), Some(&[][..]));
        memory[5 * PAGE_BYTES] = 1;
        memory[7 * PAGE_BYTES + 7] = 1;
        memory[PAGES * PAGE_BYTES - 1] = 1;
        assert_eq!(written.pages(memory), Some(&[5, 7, PAGES as u32 - 1][..]));
        memory[5 * PAGE_BYTES] = 2;
        assert_eq!(written.pages(memory), Some(&[5, 7, PAGES as u32 - 1][..]));
    }

    #[test]
    fn what_grows_is_copied_ahead() {
        assert!(ahead(&[], &[4, 9], 64).is_empty(), "neither has a neighbour");
        assert!(ahead(&[4, 5], &[4, 5], 64).is_empty(), "nothing is new");
        assert_eq!(ahead(&[4], &[4, 5], 8), [6, 7], "the memory ends there");
        let behind: Vec<u32> = (6..=21).filter(|&page| page != 10).collect();
        assert_eq!(ahead(&[4, 10], &[4, 5, 10], 64), behind, "one of them is there already");
        let many: Vec<u32> = (0..1000).step_by(20).flat_map(|page| [page, page + 1]).collect();
        assert_eq!(ahead(&[], &many, 2000).len(), MAX_AHEAD);
    }

    #[test]
    fn too_large_a_memory_is_not_looked_through() {
        let mut written = Written::new(File::open("/proc/self/pagemap").expect("one's own"));
        // SAFETY: reserved and never touched; a private mapping that is never unmapped.
        let memory = unsafe {
            let length = MAX_MEMORY + PAGE_BYTES;
            let flags = rustix::mm::MapFlags::PRIVATE | rustix::mm::MapFlags::NORESERVE;
            let protection = rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::WRITE;
            let start = rustix::mm::mmap_anonymous(std::ptr::null_mut(), length, protection, flags);
            std::slice::from_raw_parts_mut(start.unwrap().cast::<u8>(), length)
        };
        assert_eq!(written.pages(memory), None);
    }
}
