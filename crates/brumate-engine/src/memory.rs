//! Linear memory laid over by an image's file.

#![expect(unsafe_code, reason = "maps files as memory of the guest")]

use std::fs::File;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use wasmtime::{AsContextMut, Memory};

/// Size of a page of the system, and the unit in which memory is written and compared, in bytes.
pub(crate) const PAGE_BYTES: usize = 4096;

/// Replaces the content of `memory` by that of `file` from `offset` on. Pages are private: what the guest writes stays in
/// its process, what it does not write is the page cache's, once for all processes.
///
/// # Errors
/// When the file is shorter than the memory, or the kernel refuses.
pub(crate) fn map(mut store: impl AsContextMut, memory: Memory, file: &File, offset: u64) -> std::io::Result<()> {
    let length = memory.data_size(&store);
    map_first(store.as_context_mut(), memory, file, offset, length)
}

/// As [`map`] for the first `length` bytes; the rest becomes zeros.
///
/// # Errors
/// As [`map`], and when the memory is smaller than `length`.
pub(crate) fn reset(
    mut store: impl AsContextMut,
    memory: Memory,
    file: &File,
    offset: u64,
    length: u64,
) -> std::io::Result<()> {
    let length = usize::try_from(length).map_err(|_| std::io::ErrorKind::InvalidInput)?;
    let size = memory.data_size(&store);
    if length > size || !length.is_multiple_of(1 << 16) {
        return Err(std::io::ErrorKind::InvalidInput.into());
    }
    map_first(store.as_context_mut(), memory, file, offset, length)?;
    if length < size {
        let rest = memory.data_mut(&mut store)[length..].as_mut_ptr();
        // SAFETY: the range is the end of the accessible memory, private and anonymous (it was grown after the image's part),
        // page aligned, and borrowed mutably. Its pages read as zeros afterwards.
        unsafe { madvise(rest.cast(), size - length, Advice::LinuxDontNeed)? };
    }
    Ok(())
}

fn map_first(store: impl AsContextMut, memory: Memory, file: &File, offset: u64, length: usize) -> std::io::Result<()> {
    let end = offset.checked_add(length as u64);
    if end.is_none_or(|end| file.metadata().is_ok_and(|metadata| metadata.len() < end)) {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    let address = memory.data_ptr(&store);
    // SAFETY: the range is the beginning or all of the accessible part of the memory, which wasmtime has mapped readable and writable, page
    // aligned, and keeps at this address for the store's life (`memory_may_move(false)`); no reference into it is alive,
    // because `store` is borrowed mutably by the caller. The new mapping has the same protection and is released with the
    // old one's range. The file is of the server's owner-only cache and is never changed or shortened after it got its name.
    unsafe {
        mmap(
            address.cast(),
            length,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::PRIVATE | MapFlags::FIXED,
            file,
            offset,
        )?;
    }
    Ok(())
}

/// A part of a file, mapped to be read.
#[derive(Debug)]
pub(crate) struct Mapped {
    address: *mut std::ffi::c_void,
    length: usize,
}

impl Mapped {
    /// Maps `length` bytes of `file` from `offset` on.
    ///
    /// # Errors
    /// When the file is shorter, or the kernel refuses.
    pub(crate) fn new(file: &File, offset: u64, length: u64) -> std::io::Result<Mapped> {
        let whole = offset.checked_add(length).is_some_and(|end| file.metadata().is_ok_and(|data| data.len() >= end));
        let length = usize::try_from(length).ok().filter(|&length| whole && length > 0);
        let length = length.ok_or(std::io::ErrorKind::UnexpectedEof)?;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let address = unsafe { mmap(std::ptr::null_mut(), length, ProtFlags::READ, MapFlags::PRIVATE, file, offset)? };
        Ok(Mapped { address, length })
    }

    /// Its bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping is readable, of that length, and lives as long as `self`. The file is of the server's owner-only
        // cache and is never changed or shortened after it got its name.
        unsafe { std::slice::from_raw_parts(self.address.cast(), self.length) }
    }
}

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

// SAFETY: the mapping is read only, nobody changes the file, and unmapping works from any thread.
unsafe impl Send for Mapped {}
// SAFETY: as above; shared references only read.
unsafe impl Sync for Mapped {}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `new`, and `bytes` lends it out for shorter than `self` lives.
        let _ = unsafe { munmap(self.address, self.length) };
    }
}

/// Copies the private pages `pages` of `memory`, by number, that are about to be written to. A page fault each is dearer.
pub(crate) fn populate(memory: &mut [u8], pages: &[u32]) {
    for_runs(memory, pages, populate_write);
}

/// Gives back those of the pages `pages` of `memory`, by number, that hold what the file does which lies under it, `base`. They
/// are the file's from then on.
pub(crate) fn release(memory: &mut [u8], base: &[u8], pages: &[u32]) {
    for &page in pages {
        let range = page as usize * PAGE_BYTES..(page as usize + 1) * PAGE_BYTES;
        if let (Some(own), Some(original)) = (memory.get_mut(range.clone()), base.get(range))
            && own == original
        {
            // SAFETY: one page of a private mapping of the file, borrowed mutably. Reading it gives the file's bytes afterwards,
            // which are those it has.
            let _ = unsafe { madvise(own.as_mut_ptr().cast(), PAGE_BYTES, Advice::LinuxDontNeed) };
        }
    }
}

/// Maps the pages `pages` of `memory`, by number, that are about to be read.
pub(crate) fn populate_for_reading(memory: &mut [u8], pages: &[u32]) {
    for_runs(memory, pages, |run| advise(run, Advice::LinuxPopulateRead));
}

/// Copies the private pages of a part of the linear memory, whole pages.
pub(crate) fn populate_write(run: &mut [u8]) {
    advise(run, Advice::LinuxPopulateWrite);
}

fn advise(run: &mut [u8], populate: Advice) {
    // SAFETY: the range is mapped writable and borrowed mutably; either advice leaves its content. Where the kernel does not know
    // it, or the range is not of whole pages, pages are mapped when they are used.
    let _ = unsafe { madvise(run.as_mut_ptr().cast(), run.len(), populate) };
}

/// Calls `with` for each run of neighbours among `pages`.
fn for_runs(memory: &mut [u8], pages: &[u32], with: impl Fn(&mut [u8])) {
    let mut runs = pages.iter().map(|&page| page as usize).peekable();
    while let Some(first) = runs.next() {
        let mut end = first + 1;
        while runs.next_if_eq(&end).is_some() {
            end += 1;
        }
        let range = first * PAGE_BYTES..end * PAGE_BYTES;
        if let Some(run) = memory.get_mut(range) {
            with(run);
        }
    }
}
