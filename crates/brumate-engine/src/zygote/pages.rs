//! How the zygote's own memory lies, so that its forks have little to copy and little to fault in.
#![allow(unsafe_code)]

use rustix::mm::{
    Advice, MapFlags, MprotectFlags, MremapFlags, ProtFlags, madvise, mmap_anonymous, mprotect, mremap_fixed,
};

/// Size of a huge page, in bytes. Where it is another, or there are none, nothing but speed changes.
const HUGE: usize = 2 << 20;

/// Largest program that is moved, in bytes.
const MAX_TEXT: usize = 256 << 20;

/// Makes the heap go on at the border of a huge page. To be called before anything large is allocated.
pub(super) fn align_heap() {
    // SAFETY: the break is only moved upwards; the allocator knows that others may do so.
    unsafe {
        let end = libc::sbrk(0);
        if end as isize != -1 {
            let missing = (end as usize).next_multiple_of(HUGE) - end as usize;
            libc::sbrk(missing as libc::intptr_t);
        }
    }
}

/// Moves this program's code into huge pages: a fork inherits one entry for 2 MiB instead of faulting in what it runs.
/// Without effect where that is not possible.
pub(super) fn move_text() {
    if let Some((start, length)) = text()
        && length <= MAX_TEXT
    {
        // The program runs as well from where it is.
        let _ = replace(start, length);
    }
}

/// Where this program's code lies.
fn text() -> Option<(usize, usize)> {
    extern "C" fn first(info: *mut libc::dl_phdr_info, _: usize, found: *mut libc::c_void) -> libc::c_int {
        // SAFETY: the C library passes a valid description with that many headers, and `found` is what `text` gave it. The first
        // object is the program itself.
        unsafe {
            let headers = std::slice::from_raw_parts((*info).dlpi_phdr, usize::from((*info).dlpi_phnum));
            let code = headers.iter().find(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0);
            if let Some(code) = code {
                let start = (*info).dlpi_addr as usize + code.p_vaddr as usize;
                *found.cast::<Option<(usize, usize)>>() = Some((start, code.p_memsz as usize));
            }
        }
        1
    }
    let mut found: Option<(usize, usize)> = None;
    // SAFETY: the callback fits the function's contract and `found` lives across the call.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut found).cast()) };
    let (start, length) = found?;
    // SAFETY: no arguments, no effect.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
    let end = (start + length).next_multiple_of(page);
    let start = start - start % page;
    Some((start, end - start))
}

/// Puts a copy in huge pages in the place of the code at `start`.
fn replace(start: usize, length: usize) -> rustix::io::Result<()> {
    let reserved = length + 2 * HUGE;
    let flags = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice. The copy is made in it at the same distance from a huge
    // page's border as the original, so that whole huge pages can be moved. The original is mapped readable; both are of
    // `length` bytes. The move replaces the original in one system call, by the same bytes with the same protection, while this
    // is the only thread; what is left of the reservation stays unused.
    unsafe {
        let region = mmap_anonymous(std::ptr::null_mut(), reserved, flags, MapFlags::PRIVATE)? as usize;
        let copy = region.next_multiple_of(HUGE) + start % HUGE;
        madvise(copy as *mut _, length, Advice::LinuxHugepage)?;
        std::ptr::copy_nonoverlapping(start as *const u8, copy as *mut u8, length);
        mprotect(copy as *mut _, length, MprotectFlags::READ | MprotectFlags::EXEC)?;
        mremap_fixed(copy as *mut _, length, length, MremapFlags::MAYMOVE, start as *mut _)?;
    }
    Ok(())
}
