//! How the zygote's own memory lies, so that its forks have little to copy and little to fault in.

#![expect(unsafe_code, reason = "arranges the guest's pages before a fork")]

use rustix::mm::{
    Advice, MapFlags, MprotectFlags, MremapFlags, ProtFlags, madvise, mmap_anonymous, mprotect, mremap_fixed,
};

/// Size of a huge page, in bytes. Where it is another, or there are none, nothing but speed changes.
const HUGE: usize = 2 << 20;

/// Largest program that is moved, in bytes.
const MAX_TEXT: usize = 256 << 20;

/// Bytes of the heap that lie in huge pages: what a zygote allocates until it has loaded its image, and somewhat more.
const HEAP_BYTES: usize = 8 * HUGE;

/// A heap in huge pages.
pub(super) struct Heap {
    start: usize,
}

/// Makes the heap go on in huge pages. To be called before anything large is allocated.
pub(super) fn align_heap() -> Heap {
    // SAFETY: the break is only moved upwards; the allocator knows that others may do so. From then on it takes as much at
    // once, and begins to when it is asked for more than it has left. The advice concerns the same range, which is
    // the allocator's: its content is left alone. Where the allocator took its memory from elsewhere, the range is not
    // mapped and the kernel refuses.
    unsafe {
        let end = libc::sbrk(0) as usize;
        let start = end.next_multiple_of(HUGE);
        if end as isize == -1 || libc::sbrk((start - end) as libc::intptr_t) as isize == -1 {
            return Heap { start: 0 };
        }
        let pad = libc::c_int::try_from(HEAP_BYTES).unwrap_or(libc::c_int::MAX);
        libc::mallopt(libc::M_TOP_PAD, pad);
        // Through a black box, or the pair would be optimised away.
        libc::free(std::hint::black_box(libc::malloc(HUGE / 4)));
        let _ = madvise(start as *mut _, HEAP_BYTES, Advice::LinuxHugepage);
        // The allocator has written to the first one already.
        libc::madvise(start as *mut _, HUGE, libc::MADV_COLLAPSE);
        Heap { start }
    }
}

impl Heap {
    /// What is allocated from now on lies elsewhere, in small pages: a process that shares a huge page with its forks and
    /// writes to it has small ones from then on.
    pub(super) fn settle(&self) {
        // SAFETY: blocks are taken and never given back, but for the last of each size. The advice concerns addresses of the
        // allocator's, as in `align_heap`; its content is left alone.
        unsafe {
            if self.start == 0 {
                return;
            }
            let _ = madvise(self.start as *mut _, HEAP_BYTES, Advice::LinuxNoHugepage);
            let border = self.start + HEAP_BYTES;
            // Large blocks first: of what is free in one piece little is touched.
            let mut size = LARGEST;
            while size >= SMALLEST {
                for _ in 0..MAX_BLOCKS {
                    let block = std::hint::black_box(libc::malloc(size));
                    if block as usize >= border {
                        libc::free(block);
                        break;
                    }
                }
                size -= if size > 1024 { size / 2 } else { SMALLEST };
            }
        }
    }
}

/// Sizes of blocks that are used up, in bytes, and how many of each at most.
const LARGEST: usize = 1 << 20;
const SMALLEST: usize = 16;
const MAX_BLOCKS: usize = 1 << 16;

/// Moves this program's code into huge pages: a fork inherits one entry for 2 MiB instead of faulting in what it runs.
/// Without effect where that is not possible.
pub(super) fn move_text() {
    if let Some((start, length)) = text()
        && length <= MAX_TEXT
    {
        // The program runs as well from where it is.
        let _ = replace(start, length, fill(start + length));
    }
}

/// Takes the unused addresses from `end` to the border of a huge page, so that what ends there can be part of one. Returns
/// how many these are.
fn fill(end: usize) -> usize {
    let length = end.next_multiple_of(HUGE) - end;
    if length == 0 {
        return 0;
    }
    let flags = MapFlags::PRIVATE | MapFlags::FIXED_NOREPLACE;
    // SAFETY: a new mapping that replaces none, whatever lies there.
    let mapped = unsafe { mmap_anonymous(end as *mut _, length, ProtFlags::empty(), flags) };
    if mapped.is_ok_and(|address| address as usize == end) { length } else { 0 }
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

/// Puts a copy in huge pages in the place of the code at `start`, and of the `more` unused bytes after it.
fn replace(start: usize, length: usize, more: usize) -> rustix::io::Result<()> {
    let whole = length + more;
    let reserved = whole + 2 * HUGE;
    let flags = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice. The copy is made in it at the same distance from a huge
    // page's border as the original, so that whole huge pages can be moved. The original is mapped readable, of
    // `length` bytes, and the addresses after it are the caller's. The move replaces the original in one system call, by the same
    // bytes with the same protection, while this is the only thread; what is left of the reservation stays unused.
    unsafe {
        let region = mmap_anonymous(std::ptr::null_mut(), reserved, flags, MapFlags::PRIVATE)? as usize;
        let copy = region.next_multiple_of(HUGE) + start % HUGE;
        madvise(copy as *mut _, whole, Advice::LinuxHugepage)?;
        std::ptr::copy_nonoverlapping(start as *const u8, copy as *mut u8, length);
        mprotect(copy as *mut _, whole, MprotectFlags::READ | MprotectFlags::EXEC)?;
        mremap_fixed(copy as *mut _, whole, whole, MremapFlags::MAYMOVE, start as *mut _)?;
    }
    Ok(())
}
