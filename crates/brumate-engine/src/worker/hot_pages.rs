//! Pages that each cell of a session writes, in addition to those known from its image. They are sampled from the page
//! map.
//!
//! A checkpoint shares all pages with its machine; the first write to a page copies it in a page fault. Pages that
//! recent cells wrote will probably be written again, so they are prefaulted when idle.

#![expect(unsafe_code, reason = "advises the kernel about the guest's pages")]

use std::collections::BTreeSet;
use std::fs::File;
use std::ops::Range;

use rustix::mm::{Advice, madvise};

use super::written::MAX_MEMORY;
use crate::memory::PAGE_BYTES;
use crate::page_map::Entries;

/// Most pages that are remembered: of the linear memory, and of the machine's own memory.
const MAX_LEARNT: usize = 384;
const MAX_OWN: usize = 128;
/// Most pages that a cell may write to be sampled. A cell that writes more is ignored as an outlier.
const MAX_WRITTEN: usize = 1 << 16;

/// Bytes of the heap, backwards from its end, and of the stack around the current frame, that are sampled.
const HEAP: usize = 32 << 20;
const STACK_BELOW: usize = 128 << 10;
const STACK_ABOVE: usize = 16 << 10;

/// Checkpoints from one pair of samples to the next. Allocations move from page to page, so samples become outdated.
const SAMPLE_INTERVAL: u64 = 8;

/// Whether to take a sample after this number of checkpoint forks. Samples are taken in pairs: early, then at each
/// [`SAMPLE_INTERVAL`].
pub(super) fn learns_after(forks: u64) -> bool {
    matches!(forks, 2 | 3) || (forks >= SAMPLE_INTERVAL && forks % SAMPLE_INTERVAL < 2)
}

/// Pages that cells of the session write.
#[derive(Debug, Default)]
pub(super) struct HotPages {
    /// Pages that the machine itself writes: stack, heap, static data.
    own: PageSamples<MAX_OWN>,
    /// Pages of the linear memory.
    guest: PageSamples<MAX_LEARNT>,
}

impl HotPages {
    /// Samples the pages written since the last checkpoint was forked. That checkpoint must still exist. `page_map` is
    /// this process's own; `known` are the numbers of pages of the linear memory `memory` that are prefaulted in any
    /// case.
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

    /// Returns the number of remembered pages of the linear memory.
    pub(super) fn pages_of_guest(&self) -> usize {
        self.guest.pages.len()
    }

    /// Prefaults these pages until `stop` returns `true`.
    pub(super) fn prefault(&self, stop: impl Fn() -> bool) {
        let mut rest = self.own.pages.iter().chain(&self.guest.pages).copied().peekable();
        let mut calls = 0;
        while let Some(first) = rest.next() {
            let mut end = first + PAGE_BYTES;
            while rest.next_if_eq(&end).is_some() {
                end += PAGE_BYTES;
            }
            // SAFETY: the advice does not change the content of memory, whatever is mapped at these addresses now; the
            // kernel refuses it where no writable memory is mapped.
            let _ = unsafe { madvise(first as *mut _, end - first, Advice::LinuxPopulateWrite) };
            calls += 1;
            if calls % 16 == 0 && stop() {
                return;
            }
        }
    }
}

/// The last sample, and at most `MOST` pages to prefault.
#[derive(Debug, Default)]
struct PageSamples<const MOST: usize> {
    /// Addresses of the pages in the last sample, sorted.
    last: Vec<usize>,
    /// Union of the last two samples; intersection if the union is too large.
    pages: Vec<usize>,
}

impl<const MOST: usize> PageSamples<MOST> {
    /// Adds the pages that one cell has written.
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
            // Prefaulted pages look as if they had been written. Without prefaulting the next sample has only pages
            // that were written.
            self.pages.clear();
        }
        self.last = written;
    }
}

/// Returns the addresses of the private pages in `range` that no other process shares.
fn exclusive(page_map: &File, range: Range<usize>) -> Vec<usize> {
    let first = range.start / PAGE_BYTES;
    let mut buffer = Entries::default();
    let Ok(entries) = buffer.read(page_map, range) else { return Vec::new() };
    let numbered = (first..).zip(entries);
    numbered.filter(|(_, entry)| entry.is_exclusive()).map(|(page, _)| page * PAGE_BYTES).collect()
}

/// Returns the sampled part of the heap.
fn heap() -> Range<usize> {
    // SAFETY: reads the program break and does not change it.
    let end = unsafe { libc::sbrk(0) } as usize;
    end.saturating_sub(HEAP)..end
}

/// Returns the sampled part of the stack.
fn stack() -> Range<usize> {
    let here = 0u8;
    let here = &raw const here as usize;
    here.saturating_sub(STACK_BELOW)..here.saturating_add(STACK_ABOVE)
}

/// Returns the writable data segments of the program and its libraries.
fn data() -> Vec<Range<usize>> {
    extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, found: *mut libc::c_void) -> libc::c_int {
        // SAFETY: the C library passes a valid description with that many headers, and `found` is the pointer that
        // `data` passed.
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
        let mut hot = PageSamples::<8>::default();
        hot.add(vec![page(1), page(2)]);
        assert!(hot.pages.is_empty(), "one cell may be any");
        hot.add(vec![page(6), page(1), 3 * PAGE_BYTES]);
        assert_eq!(hot.pages, [3 * PAGE_BYTES, page(1), page(2), page(6)]);
        // The union is too large: the intersection remains.
        hot.add((0..9).map(page).collect());
        assert_eq!(hot.pages, [page(1), page(6)]);
        // The intersection is too large as well: prefaulting stops until the next sample.
        hot.add((0..10).map(page).collect());
        assert!(hot.pages.is_empty());
        hot.add(vec![page(3), page(4)]);
        assert_eq!(hot.pages, [page(3), page(4)]);
        // An outlier is ignored.
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
        let of = |pages| HotPages { own: PageSamples { last: Vec::new(), pages }, guest: PageSamples::default() };
        of((0..8).map(|page| address + page * PAGE_BYTES).collect()).prefault(|| false);
        assert_eq!(before, memory);
        // Nothing is mapped there: the kernel refuses the advice.
        of(vec![PAGE_BYTES]).prefault(|| false);
    }

    #[test]
    fn samples_come_in_pairs() {
        let due: Vec<u64> = (0..70).filter(|&number| learns_after(number)).collect();
        assert_eq!(due, [2, 3, 8, 9, 16, 17, 24, 25, 32, 33, 40, 41, 48, 49, 56, 57, 64, 65]);
    }
}
