//! Pages of the linear memory that a machine has written to since it forked its checkpoint.
#![allow(unsafe_code)]

use std::fs::File;

use crate::image::file::PAGE_BYTES;
use crate::page_map::Entries;

/// Largest linear memory that is gone through, in bytes: in more of it cells take so long that nothing of this counts.
pub(super) const MAX_MEMORY: usize = 512 << 20;

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
    pub(super) fn pages(&mut self, memory: &[u8]) -> Option<&[u32]> {
        if memory.len() > MAX_MEMORY {
            return None;
        }
        // Without a fault no shared page has become this process's own.
        if self.faults != Some(faults()) {
            self.faults = None;
            self.pages.clear();
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
            if count != memory.len() / PAGE_BYTES {
                return None;
            }
            self.faults = Some(faults());
        }
        Some(&self.pages)
    }
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
        memory[6 * PAGE_BYTES + 7] = 1;
        memory[PAGES * PAGE_BYTES - 1] = 1;
        assert_eq!(written.pages(memory), Some(&[5, 6, PAGES as u32 - 1][..]));
        memory[5 * PAGE_BYTES] = 2;
        assert_eq!(written.pages(memory), Some(&[5, 6, PAGES as u32 - 1][..]));
    }

    #[test]
    fn too_large_a_memory_is_not_looked_through() {
        let mut written = Written::new(File::open("/proc/self/pagemap").expect("one's own"));
        // SAFETY: reserved and never touched; a private mapping that is never unmapped.
        let memory = unsafe {
            let length = MAX_MEMORY + PAGE_BYTES;
            let flags = rustix::mm::MapFlags::PRIVATE | rustix::mm::MapFlags::NORESERVE;
            let start = rustix::mm::mmap_anonymous(std::ptr::null_mut(), length, rustix::mm::ProtFlags::READ, flags);
            std::slice::from_raw_parts(start.unwrap().cast::<u8>(), length)
        };
        assert_eq!(written.pages(memory), None);
    }
}
