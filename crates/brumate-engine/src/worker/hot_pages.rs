//! Pages that each cell of a session writes to, beside those that are known from its image: learnt from its page map.
//!
//! A checkpoint shares all pages with its machine; the first write to one copies it in a page fault. What was written twice in a row
//! between two checkpoints will be written again, and it is copied while nobody waits.

#![expect(unsafe_code, reason = "advises the kernel about the guest's pages")]

use std::collections::BTreeSet;
use std::fs::File;
use std::ops::Range;

use rustix::mm::{Advice, madvise};

use super::written::MAX_MEMORY;
use crate::memory::PAGE_BYTES;
use crate::page_map::Entries;

/// Pages that are kept in mind at most: of the linear memory, and of what the machine itself writes.
const MAX_LEARNT: usize = 384;
const MAX_OWN: usize = 128;
/// Pages that one cell may have written, for it to be one like others.
const MAX_WRITTEN: usize = 1 << 16;

/// Bytes of the heap, from its end backwards, and of the stack around the present frame, that are looked at.
const HEAP: usize = 32 << 20;
const STACK_BELOW: usize = 128 << 10;
const STACK_ABOVE: usize = 16 << 10;

/// Checkpoints from one lesson to the next: what is allocated moves on from page to page.
const LESSON: u64 = 8;

/// Whether there is something to learn when so many checkpoints have been forked: from two in a row, soon and then now and again.
pub(super) fn learns_after(forks: u64) -> bool {
    matches!(forks, 2 | 3) || (forks >= LESSON && forks % LESSON < 2)
}

/// What has been learnt.
#[derive(Debug, Default)]
pub(super) struct HotPages {
    /// What the machine itself writes: stack, heap, static data.
    own: Learnt<MAX_OWN>,
    /// Of the linear memory.
    guest: Learnt<MAX_LEARNT>,
}

impl HotPages {
    /// Learns from what has run since the last checkpoint was forked, while that one lives. `page_map` is this process's own; `known`
    /// are pages of the linear memory `memory`, by number, that are copied in any case.
    pub(super) fn learn(&mut self, page_map: &File, memory: &[u8], known: &[u32]) {
        let memory = memory.get(..MAX_MEMORY).unwrap_or(memory);
        let base = memory.as_ptr() as usize;
        let own = data().into_iter().chain([heap(), stack()]);
        self.own.add(own.flat_map(|range| exclusive(page_map, range)).collect());
        let mut written = exclusive(page_map, base..base + memory.len());
        written.retain(|&address| {
            let page = u32::try_from((address - base) / PAGE_BYTES);
            !page.is_ok_and(|page| known.binary_search(&page).is_ok())
        });
        self.guest.add(written);
    }

    /// Returns how many pages of the linear memory have been learnt.
    pub(super) fn pages_of_guest(&self) -> usize {
        self.guest.pages.len()
    }

    /// Copies these pages, until `stop` says that there is something better to do.
    pub(super) fn prefault(&self, stop: impl Fn() -> bool) {
        let mut rest = self.own.pages.iter().chain(&self.guest.pages).copied().peekable();
        let mut calls = 0;
        while let Some(first) = rest.next() {
            let mut end = first + PAGE_BYTES;
            while rest.next_if_eq(&end).is_some() {
                end += PAGE_BYTES;
            }
            // SAFETY: the advice leaves the content of memory as it is, whatever lies at these addresses by now: the kernel refuses
            // it for what is not mapped writable.
            let _ = unsafe { madvise(first as *mut _, end - first, Advice::LinuxPopulateWrite) };
            calls += 1;
            if calls % 16 == 0 && stop() {
                return;
            }
        }
    }
}

/// At most `MOST` pages.
#[derive(Debug, Default)]
struct Learnt<const MOST: usize> {
    /// Written by the last cell that was looked at; addresses, sorted.
    last: Vec<usize>,
    /// Written by one of that one and the one before; by both, when these are too many.
    pages: Vec<usize>,
}

impl<const MOST: usize> Learnt<MOST> {
    /// What one cell has written.
    fn add(&mut self, mut written: Vec<usize>) {
        written.sort_unstable();
        written.dedup();
        if written.len() > MAX_WRITTEN {
            written.clear();
        }
        let before = std::mem::take(&mut self.last);
        let both = || before.iter().copied().filter(|address| written.binary_search(address).is_ok());
        let few = !before.is_empty() && before.len() + written.len() <= 2 * MOST;
        let all: BTreeSet<usize> = if few { before.iter().chain(&written).copied().collect() } else { BTreeSet::new() };
        self.pages = if few && all.len() <= MOST { all.into_iter().collect() } else { both().take(MOST + 1).collect() };
        if self.pages.len() > MOST {
            // What was copied ahead looks as if it had been written: now it is seen what still is.
            self.pages.clear();
        }
        self.last = written;
    }
}

/// Addresses of the private pages in `range` that no other process shares.
fn exclusive(page_map: &File, range: Range<usize>) -> Vec<usize> {
    let first = range.start / PAGE_BYTES;
    let mut buffer = Entries::default();
    let Ok(entries) = buffer.read(page_map, range) else { return Vec::new() };
    let numbered = (first..).zip(entries);
    numbered.filter(|(_, entry)| entry.is_exclusive()).map(|(page, _)| page * PAGE_BYTES).collect()
}

/// Where the heap grows.
fn heap() -> Range<usize> {
    // SAFETY: asks for the break, and leaves it where it is.
    let end = unsafe { libc::sbrk(0) } as usize;
    end.saturating_sub(HEAP)..end
}

/// Where the stack is in use.
fn stack() -> Range<usize> {
    let here = 0u8;
    let here = &raw const here as usize;
    here.saturating_sub(STACK_BELOW)..here.saturating_add(STACK_ABOVE)
}

/// Where the program and its libraries keep what they write to.
fn data() -> Vec<Range<usize>> {
    extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, found: *mut libc::c_void) -> libc::c_int {
        // SAFETY: the C library passes a valid description with that many headers, and `found` is what `data` gave it.
        unsafe {
            let headers = std::slice::from_raw_parts((*info).dlpi_phdr, usize::from((*info).dlpi_phnum));
            for header in headers.iter().filter(|h| h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_W != 0) {
                let start = (*info).dlpi_addr as usize + header.p_vaddr as usize;
                (*found.cast::<Vec<Range<usize>>>()).push(start..start + header.p_memsz as usize);
            }
        }
        0
    }
    let mut found: Vec<Range<usize>> = Vec::new();
    // SAFETY: the callback fits the function's contract and `found` lives across the call.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut found).cast()) };
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cells_write_is_learnt() {
        let page = |number: usize| 64 * PAGE_BYTES + number * PAGE_BYTES;
        let mut hot = Learnt::<8>::default();
        hot.add(vec![page(1), page(2)]);
        assert!(hot.pages.is_empty(), "one cell may be any");
        hot.add(vec![page(6), page(1), 3 * PAGE_BYTES]);
        assert_eq!(hot.pages, [3 * PAGE_BYTES, page(1), page(2), page(6)]);
        // Of a cell that wrote much, what the next one wrote as well.
        hot.add((0..9).map(page).collect());
        assert_eq!(hot.pages, [page(1), page(6)]);
        // Too many all the same: what is still written shows when nothing is copied ahead.
        hot.add((0..10).map(page).collect());
        assert!(hot.pages.is_empty());
        hot.add(vec![page(3), page(4)]);
        assert_eq!(hot.pages, [page(3), page(4)]);
        // One like no other says nothing of the next.
        hot.add((0..MAX_WRITTEN + 1).map(page).collect());
        assert_eq!((&hot.pages[..], hot.last.len()), (&[page(3), page(4)][..], 0));
    }

    #[test]
    fn pages_of_this_process_are_seen_and_stay_as_they_are() {
        let mut memory = vec![0u8; 9 * PAGE_BYTES];
        let start = memory.as_ptr().align_offset(PAGE_BYTES);
        let memory = &mut memory[start..start + 8 * PAGE_BYTES];
        memory[2 * PAGE_BYTES] = 1;
        let address = memory.as_ptr() as usize;
        let map = File::open("/proc/self/pagemap").expect("one's own");
        let own = exclusive(&map, address..address + 8 * PAGE_BYTES);
        assert!(own.contains(&(address + 2 * PAGE_BYTES)));
        assert!(stack().contains(&(&raw const map as usize)));
        static mut WRITTEN: u8 = 1;
        assert!(data().iter().any(|range| range.contains(&(&raw const WRITTEN as usize))));
        let before = memory.to_vec();
        let of = |pages| HotPages { own: Learnt { last: Vec::new(), pages }, guest: Learnt::default() };
        of((0..8).map(|page| address + page * PAGE_BYTES).collect()).prefault(|| false);
        assert_eq!(before, memory);
        // Nothing lies there: the kernel refuses, and nothing happens.
        of(vec![PAGE_BYTES]).prefault(|| false);
    }

    #[test]
    fn lessons_come_in_pairs() {
        let due: Vec<u64> = (0..70).filter(|&number| learns_after(number)).collect();
        assert_eq!(due, [2, 3, 8, 9, 16, 17, 24, 25, 32, 33, 40, 41, 48, 49, 56, 57, 64, 65]);
    }
}
