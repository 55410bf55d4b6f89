//! Linear memory that the stores of all threads of one guest share.
//!
//! wasmtime asks the [`Creator`] for the memory of each store. It gives a new region to the main thread's store, and the same region to the stores
//! that are made inside of [`joined`]. Making an instance writes the module's data into the memory and runs its start function. For a store that
//! joins a running guest these writes must not happen: they go into a scratch region that is thrown away.

#![expect(unsafe_code, reason = "maps the memory of guests")]

use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap_anonymous, mprotect, munmap};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use wasmtime::{AsContextMut, LinearMemory, Memory, MemoryCreator, MemoryType};

/// Smallest reservation of a linear memory, in bytes. The heap of exception objects has a smaller one.
const LINEAR: usize = 4 << 30;

/// Address space on each side of a memory that is never accessible, in bytes, at least.
const MIN_GUARD: usize = 1 << 16;

/// Size and alignment of a huge page, in bytes.
const HUGE_PAGE: usize = 2 << 20;

/// A reservation of address space, and how much of it is accessible.
pub(crate) struct Region {
    /// The mapping: both guards, the reservation, and room to align it.
    mapping: (*mut c_void, usize),
    start: *mut c_void,
    reserved: usize,
    /// Inaccessible bytes on each side. Machine code leaves checks of bounds out that the guard makes.
    guard: usize,
    size: AtomicUsize,
    /// The region in the place of this one, while an instance of another store is made.
    scratch: Mutex<Option<Arc<Region>>>,
}

// SAFETY: the region is plain address space. Its fields are constant, atomic or locked. Who may read and write the memory is decided by wasmtime
// and by the hand-over of threads: one store runs at a time.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    fn new(size: usize, reserved: usize, guard: usize) -> std::io::Result<Region> {
        let guard = guard.max(MIN_GUARD);
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        let length = reserved + 2 * guard + HUGE_PAGE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let first = unsafe { mmap_anonymous(std::ptr::null_mut(), length, ProtFlags::empty(), flags)? };
        // SAFETY: the region begins behind its first guard, at a multiple of `HUGE_PAGE`. Less than that is added.
        let start = unsafe { first.byte_add(guard + (first.addr() + guard).wrapping_neg() % HUGE_PAGE) };
        let mapping = (first, length);
        let region = Region { mapping, start, reserved, guard, size: AtomicUsize::new(0), scratch: Mutex::new(None) };
        region.grow(size)?;
        Ok(region)
    }

    fn size(&self) -> usize {
        self.size.load(Ordering::Relaxed)
    }

    /// Asks for huge pages. Without them the region works as well.
    fn use_huge_pages(&self) {
        // SAFETY: advice about a mapping of this value's.
        let _ = unsafe { madvise(self.start, self.size(), Advice::LinuxHugepage) };
    }

    fn grow(&self, size: usize) -> std::io::Result<()> {
        let old = self.size();
        if size > self.reserved {
            return Err(std::io::ErrorKind::OutOfMemory.into());
        }
        if size > old {
            let flags = MprotectFlags::READ | MprotectFlags::WRITE;
            // SAFETY: the range is a part of the reservation that nothing refers to yet.
            unsafe { mprotect(self.start.byte_add(old), size - old, flags)? };
            self.size.store(size, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's. The stores that used it are gone: each has a reference to the region.
        let _ = unsafe { munmap(self.mapping.0, self.mapping.1) };
    }
}

/// The memory of one store.
struct View(Arc<Region>);

impl View {
    /// Calls `with` with the region that the store sees now.
    fn seen<T>(&self, with: impl FnOnce(&Region) -> T) -> T {
        match self.0.scratch.lock().as_ref() {
            Some(scratch) => with(scratch),
            None => with(&self.0),
        }
    }
}

// SAFETY: the first `byte_size` bytes at the address are readable and writable. The rest of the reservation and the guard behind it are
// inaccessible. The address changes only in `joined`. There the store takes the new address (`Memory::grow` by 0) before code of it runs, and it
// takes the old one before the scratch region is unmapped.
unsafe impl LinearMemory for View {
    fn byte_size(&self) -> usize {
        self.seen(Region::size)
    }

    fn byte_capacity(&self) -> usize {
        self.0.reserved
    }

    fn grow_to(&mut self, size: usize) -> wasmtime::Result<()> {
        Ok(self.seen(|region| region.grow(size))?)
    }

    fn as_ptr(&self) -> *mut u8 {
        self.seen(|region| region.start.cast())
    }
}

thread_local! {
    /// The region that the next linear memory joins.
    static JOIN: RefCell<Option<Arc<Region>>> = const { RefCell::new(None) };
    /// The region that was made last.
    static LATEST: RefCell<Option<Arc<Region>>> = const { RefCell::new(None) };
}

/// Returns the region of the linear memory that this thread made last.
pub(crate) fn latest() -> Option<Arc<Region>> {
    LATEST.with_borrow_mut(Option::take)
}

/// Makes the memory of stores.
pub(crate) struct Creator;

// SAFETY: each memory fulfils the contract of `View`. Guards are at least as large as asked.
unsafe impl MemoryCreator for Creator {
    fn new_memory(
        &self,
        _: MemoryType,
        minimum: usize,
        _: Option<usize>,
        reserved: Option<usize>,
        guard: usize,
    ) -> Result<Box<dyn LinearMemory>, String> {
        let reserved = reserved.unwrap_or(minimum).max(minimum);
        let new = || Region::new(minimum, reserved, guard).map(Arc::new).map_err(|error| error.to_string());
        if reserved < LINEAR {
            return Ok(Box::new(View(new()?)));
        }
        let region = match JOIN.with_borrow(Clone::clone) {
            Some(region) => region,
            None => {
                let region = new()?;
                LATEST.set(Some(region.clone()));
                region
            }
        };
        Ok(Box::new(View(region)))
    }
}

/// The limit of the process's private memory, lifted until this value is dropped.
struct LiftedLimit(Rlimit);

impl LiftedLimit {
    fn new() -> LiftedLimit {
        let before = getrlimit(Resource::Data);
        let _ = setrlimit(Resource::Data, Rlimit { current: before.maximum, ..before });
        LiftedLimit(before)
    }
}

impl Drop for LiftedLimit {
    fn drop(&mut self) {
        let _ = setrlimit(Resource::Data, self.0);
    }
}

/// Makes instances in a store whose linear memory is `region`, without writing to it. `memory` returns the store's memory, if it has one yet.
///
/// # Errors
/// The errors of `make`. Also if there is no address space. The store must not run on then.
pub(crate) fn joined<S: AsContextMut, T>(
    store: &mut S,
    region: &Arc<Region>,
    memory: impl Fn(&S) -> Option<Memory>,
    make: impl FnOnce(&mut S) -> wasmtime::Result<T>,
) -> wasmtime::Result<T> {
    let refresh = |store: &mut S| -> wasmtime::Result<()> {
        if let Some(memory) = memory(store) {
            memory.grow(&mut *store, 0)?;
        }
        Ok(())
    };
    // The pages of the scratch region are gone before the guest runs on. They do not count for its limit.
    let _limit = LiftedLimit::new();
    let scratch = Arc::new(Region::new(region.size(), region.reserved, region.guard)?);
    // The modules' data is written at once: thousands of small pages would take most of the time.
    scratch.use_huge_pages();
    *region.scratch.lock() = Some(scratch.clone());
    JOIN.set(Some(region.clone()));
    let made = refresh(store).and_then(|()| make(store));
    JOIN.set(None);
    *region.scratch.lock() = None;
    let back = refresh(store);
    drop(scratch);
    back.and(made)
}
