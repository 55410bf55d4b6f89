//! Machine code in memory: which pages it lies on, and making it executable.

#![expect(unsafe_code, reason = "asks for the page size, and maps what is to be loaded")]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap_anonymous, mprotect};
use wasmtime::{CustomCodeMemory, Engine, Module};

/// Size of a huge page, in bytes. Where huge pages have another size, or there are none, nothing but speed changes.
const HUGE: usize = 2 << 20;

/// Bytes of a page. Known to the C library from the start, so that it can be asked inside the jail.
fn page_size() -> usize {
    // SAFETY: no arguments, no effect.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096)
}

/// Memory that [`load_huge`] has filled: where it begins, and its length.
static HUGE_START: AtomicUsize = AtomicUsize::new(0);
static HUGE_LENGTH: AtomicUsize = AtomicUsize::new(0);

/// Makes code executable that is not in memory of wasmtime's own.
#[derive(Debug)]
struct Publisher;

/// For an engine that loads modules with [`load_huge`].
pub(crate) fn publisher() -> Arc<dyn CustomCodeMemory> {
    Arc::new(Publisher)
}

fn protect(start: *const u8, length: usize, flags: MprotectFlags) -> std::io::Result<()> {
    // SAFETY: callers name memory that is theirs: code that wasmtime publishes, or a mapping of this module.
    unsafe { mprotect(start.cast_mut().cast(), length.next_multiple_of(page_size()), flags)? };
    Ok(())
}

impl CustomCodeMemory for Publisher {
    fn required_alignment(&self) -> usize {
        page_size()
    }

    fn publish_executable(&self, start: *const u8, length: usize) -> wasmtime::Result<()> {
        let (huge, size) = (HUGE_START.load(Ordering::Relaxed), HUGE_LENGTH.load(Ordering::Relaxed));
        let flags = MprotectFlags::READ | MprotectFlags::EXEC;
        if (start as usize).wrapping_sub(huge) < size {
            // All of it alike: a border between protections would break two huge pages into small ones. What lies beside the
            // code is data of the interpreter's module, the same for everyone.
            return Ok(protect(std::ptr::with_exposed_provenance(huge), size, flags)?);
        }
        Ok(protect(start, length, flags)?)
    }

    fn unpublish_executable(&self, start: *const u8, length: usize) -> wasmtime::Result<()> {
        Ok(protect(start, length, MprotectFlags::READ | MprotectFlags::WRITE)?)
    }
}

/// Loads the interpreter's compiled module into huge pages, for the life of this process. To be called once.
///
/// A fork does not copy the page tables of mapped files, and each of its processes would fault in the code it runs piece by
/// piece. Huge anonymous pages are inherited, one entry for 2 MiB.
///
/// # Errors
/// When there is no memory, or the module was compiled for another engine or CPU.
pub(crate) fn load_huge(engine: &Engine, file: &File) -> Result<Module, String> {
    let failed = |error: std::io::Error| format!("a compiled module cannot be loaded: {error}");
    let length = file.metadata().map_err(failed)?.len() as usize;
    let memory = huge(length.next_multiple_of(HUGE)).map_err(failed)?;
    file.read_exact_at(&mut memory[..length], 0).map_err(failed)?;
    HUGE_START.store(memory.as_mut_ptr().expose_provenance(), Ordering::Relaxed);
    HUGE_LENGTH.store(memory.len(), Ordering::Relaxed);
    // SAFETY: as in `code::remote::load` for the content. The memory is leaked, so it lives for ever, and this function
    // gives up its only reference to it.
    let module = unsafe { Module::deserialize_raw(engine, NonNull::from(&mut memory[..length])) };
    module.map_err(|error| format!("{error:#}"))
}

/// Zeroed memory of `length` bytes that begins on a huge page. Never released.
fn huge(length: usize) -> std::io::Result<&'static mut [u8]> {
    let reserved = length.next_multiple_of(HUGE) + HUGE;
    // SAFETY: a new mapping at an address of the kernel's choice; the slice lies inside of it, and nothing else refers to it.
    unsafe {
        let start =
            mmap_anonymous(std::ptr::null_mut(), reserved, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)?;
        let aligned = start.cast::<u8>().add(start.cast::<u8>().align_offset(HUGE));
        // Refused where there are no huge pages.
        let _ = madvise(aligned.cast(), length.next_multiple_of(HUGE), Advice::LinuxHugepage);
        Ok(std::slice::from_raw_parts_mut(aligned, length))
    }
}
