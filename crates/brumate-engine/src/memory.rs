//! Maps an image's file over linear memory.

#![expect(unsafe_code, reason = "maps files as memory of the guest")]

use std::fs::File;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use wasmtime::{AsContextMut, Memory};

/// Size of a page of the system, in bytes. Memory is written and compared in pages.
pub(crate) const PAGE_BYTES: usize = 4096;

/// Maps the content of `file` from `offset` on over `memory`. The old content of the memory is gone. Pages are private:
/// a page that the guest writes to is copied for its process. All processes share the other pages in the page cache.
///
/// # Errors
/// When the file is shorter than the memory, or the kernel refuses.
pub(crate) fn map(mut store: impl AsContextMut, memory: Memory, file: &File, offset: u64) -> std::io::Result<()> {
    let length = memory.data_size(&store);
    map_first(store.as_context_mut(), memory, file, offset, length)
}

/// Maps the first `length` bytes of `memory` as [`map`] does, and sets the rest to zeros.
///
/// # Errors
/// The errors of [`map`]. Also if the memory is smaller than `length`, or `length` is no multiple of 64 KiB.
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
        // SAFETY: the range is the end of the accessible memory. It was grown after the image's part, so it is private
        // and anonymous. It is page aligned and borrowed mutably. Its pages read as zeros afterwards.
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
    // SAFETY: the range is the beginning of the accessible memory, or all of it. Wasmtime has mapped this memory
    // readable, writable and page aligned. It keeps the memory at this address for the store's life
    // (`memory_may_move(false)`). No reference into the memory is alive, because the caller borrows `store` mutably.
    // The new mapping has the same protection. It is released when wasmtime releases the range of the old mapping. The
    // file is in the server's cache, which only the server's user can access. After the file has its name, nobody
    // changes or shortens it.
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

/// A part of a file that is mapped for reading.
#[derive(Debug)]
pub(crate) struct Mapped {
    address: *mut std::ffi::c_void,
    length: usize,
}

impl Mapped {
    /// Maps `length` bytes of `file` from `offset` on.
    ///
    /// # Errors
    /// If the file ends before the part does, `length` is 0, or the kernel refuses.
    pub(crate) fn new(file: &File, offset: u64, length: u64) -> std::io::Result<Mapped> {
        let whole = offset.checked_add(length).is_some_and(|end| file.metadata().is_ok_and(|data| data.len() >= end));
        let length = usize::try_from(length).ok().filter(|&length| whole && length > 0);
        let length = length.ok_or(std::io::ErrorKind::UnexpectedEof)?;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let address = unsafe { mmap(std::ptr::null_mut(), length, ProtFlags::READ, MapFlags::PRIVATE, file, offset)? };
        Ok(Mapped { address, length })
    }

    /// Returns the mapped bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping is readable, has `self.length` bytes, and lives as long as `self`. The file is in the
        // server's cache, which only the server's user can access. After the file has its name, nobody changes or
        // shortens it.
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
        // SAFETY: `new` mapped the range. A borrow from `bytes` ends before `self` is dropped.
        let _ = unsafe { munmap(self.address, self.length) };
    }
}

/// Copies pages of `memory` that will be written to soon. `pages` has their numbers. One call is cheaper than a page
/// fault for each page.
pub(crate) fn populate(memory: &mut [u8], pages: &[u32]) {
    for_runs(memory, pages, populate_write);
}

/// Drops the private copies of pages of `memory` that equal the mapped file. `pages` has the numbers of the pages, and
/// `base` is the content of the file. After that these pages are the pages of the file again, which all processes
/// share.
pub(crate) fn release(memory: &mut [u8], base: &[u8], pages: &[u32]) {
    for &page in pages {
        let range = page as usize * PAGE_BYTES..(page as usize + 1) * PAGE_BYTES;
        if let (Some(own), Some(original)) = (memory.get_mut(range.clone()), base.get(range))
            && own == original
        {
            // SAFETY: the range is one page of a private mapping of the file, and is borrowed mutably. After the call
            // the page has the bytes of the file. They equal its present bytes.
            let _ = unsafe { madvise(own.as_mut_ptr().cast(), PAGE_BYTES, Advice::LinuxDontNeed) };
        }
    }
}

/// Maps pages of `memory` that will be read soon. `pages` has their numbers.
pub(crate) fn populate_for_reading(memory: &mut [u8], pages: &[u32]) {
    for_runs(memory, pages, |run| advise(run, Advice::LinuxPopulateRead));
}

/// Copies the private pages of `run`, which is a part of the linear memory and consists of whole pages.
pub(crate) fn populate_write(run: &mut [u8]) {
    advise(run, Advice::LinuxPopulateWrite);
}

fn advise(run: &mut [u8], populate: Advice) {
    // SAFETY: the range is mapped writable and borrowed mutably. Neither advice changes its content. If the kernel does
    // not know the advice, or the range has incomplete pages, the call fails. Then each page is mapped at its first
    // use.
    let _ = unsafe { madvise(run.as_mut_ptr().cast(), run.len(), populate) };
}

/// Calls `with` for each run of consecutive pages in `pages`.
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
