//! Pages of the linear memory that a machine has written to since it forked its checkpoint.

#![expect(unsafe_code, reason = "asks the kernel how many page faults there were")]

use std::fs::File;

use crate::memory;
use crate::memory::PAGE_BYTES;
use crate::page_map::Entries;

/// Largest linear memory that is gone through, in bytes: in more of it cells take so long that nothing of this counts.
pub(super) const MAX_MEMORY: usize = 512 << 20;

/// Pages that are copied ahead of those that a growing heap takes one after the other: each would mean a page fault, and going
/// through the map again.
const AHEAD: u32 = 16;

/// Pages that are copied ahead at once, at most.
const MAX_AHEAD: usize = 2 * AHEAD as usize;

/// What this process has to itself of its linear memory: all that it has written to since its last fork, and what was copied
/// ahead.
#[derive(Debug)]
pub(super) struct Written {
    /// This process's own page map (proc_pid_pagemap(5)).
    map: File,
    entries: Entries,
    /// Numbers of pages, in order.
    pages: Vec<u32>,
    /// Page faults when that was found out.
    faults: Option<u64>,
}

impl Written {
    pub(super) fn new(map: File) -> Written {
        Written { map, entries: Entries::default(), pages: Vec::new(), faults: None }
    }

    /// The page map.
    pub(super) fn map(&self) -> &File {
        &self.map
    }

    /// To be called after a fork: all pages are shared again.
    pub(super) fn forget(&mut self) {
        self.faults = None;
    }

    /// Numbers of the pages, in order. `None` when they are not to be had.
    pub(super) fn pages(&mut self, memory: &mut [u8]) -> Option<&[u32]> {
        if memory.len() > MAX_MEMORY {
            return None;
        }
        // Without a fault no shared page has become this process's own.
        if self.faults != Some(faults()) {
            let of_this_fork = self.faults.take().is_some();
            let before = std::mem::take(&mut self.pages);
            self.look(memory)?;
            if of_this_fork {
                let ahead = ahead(&before, &self.pages, memory.len() / PAGE_BYTES);
                memory::populate(memory, &ahead);
                // From here on they are written to without a fault.
                self.pages.extend(ahead);
                self.pages.sort_unstable();
            }
            self.faults = Some(faults());
        }
        Some(&self.pages)
    }

    /// Goes through the page map.
    fn look(&mut self, memory: &[u8]) -> Option<()> {
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

/// Pages to copy ahead in a memory of `count`: those behind a page that is among `now` and was not `before`, when the one in front of it
/// is, too. All in order.
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

/// Page faults of this process so far.
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
