//! Native stacks of threads.
//!
//! A stack is a reservation of address space as large as the main thread's. Its pages become accessible when they are touched: a handler of
//! `SIGSEGV` makes them so. All together are bounded by [`MAX_STACKS`]. Inaccessible pages do not count for the limit of the process's memory.

#![expect(unsafe_code, reason = "maps stacks, and handles faults in them")]

use std::ffi::c_void;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use wasmtime::{StackCreator, StackMemory};

use super::MAX_WASM_STACK;

/// Accessible bytes of all stacks of a process together: room for one thread that uses all that wasmtime allows it, and for others. A guest that
/// needs more ends.
const MAX_STACKS: usize = MAX_WASM_STACK + (128 << 20);

/// Stacks of a process. Each thread has one, and one for each call from C to Python and back that it is in.
const MAX_STACK_COUNT: usize = 1024;

/// Stacks without a fiber that are kept for later ones.
const MAX_SPARE: usize = 32;

/// Bytes that become accessible at a time.
const STEP: usize = 128 << 10;

/// Inaccessible bytes below each stack.
const GUARD: usize = 1 << 20;

/// A stack's reservation: where it begins and ends, and its lowest accessible address. Zeros: none.
struct Reservation {
    start: AtomicUsize,
    accessible: AtomicUsize,
    end: AtomicUsize,
    /// Whether a fiber has it.
    used: AtomicBool,
}

impl Reservation {
    const fn empty() -> Reservation {
        Reservation {
            start: AtomicUsize::new(0),
            accessible: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            used: AtomicBool::new(false),
        }
    }

    /// Takes a reservation without a fiber whose stack has `size` bytes; 0 for a reservation without a stack.
    fn take(size: usize) -> Option<&'static Reservation> {
        let fits = |reservation: &&Reservation| {
            reservation.end.load(Ordering::Relaxed) - reservation.start.load(Ordering::Relaxed) == size
        };
        let free = |reservation: &&Reservation| !reservation.used.load(Ordering::Relaxed) && fits(reservation);
        RESERVATIONS.iter().filter(free).find(|reservation| !reservation.used.swap(true, Ordering::Relaxed))
    }
}

/// The stacks of this process. The handler of faults reads them.
static RESERVATIONS: [Reservation; MAX_STACK_COUNT] = [const { Reservation::empty() }; MAX_STACK_COUNT];

/// Number of reservations with a stack and without a fiber.
static SPARE: AtomicUsize = AtomicUsize::new(0);

/// Accessible bytes of all of them.
static ACCESSIBLE: AtomicUsize = AtomicUsize::new(0);

/// Makes a range of a stack accessible. Async-signal-safe.
fn commit(reservation: &Reservation, address: usize) -> bool {
    let (start, accessible) =
        (reservation.start.load(Ordering::Relaxed), reservation.accessible.load(Ordering::Relaxed));
    if address < start || address >= accessible {
        return false;
    }
    let low = (address & !(STEP - 1)).saturating_sub(STEP).max(start);
    let more = accessible - low;
    if ACCESSIBLE.load(Ordering::Relaxed) + more > MAX_STACKS {
        return false;
    }
    let range: *mut c_void = std::ptr::with_exposed_provenance_mut(low);
    // SAFETY: the range is a part of a stack's reservation. Nothing but the stack uses it.
    if unsafe { mprotect(range, more, MprotectFlags::READ | MprotectFlags::WRITE) }.is_err() {
        return false;
    }
    ACCESSIBLE.fetch_add(more, Ordering::Relaxed);
    reservation.accessible.store(low, Ordering::Relaxed);
    true
}

/// A stack for wasmtime.
struct Stack {
    reservation: &'static Reservation,
}

impl Stack {
    fn new(size: usize) -> wasmtime::Result<Stack> {
        if let Some(reservation) = Reservation::take(size) {
            SPARE.fetch_sub(1, Ordering::Relaxed);
            return Ok(Stack { reservation });
        }
        let reservation = Reservation::take(0);
        let reservation =
            reservation.ok_or_else(|| wasmtime::Error::msg("there are too many calls inside of each other"))?;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::STACK;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let mapped = unsafe { mmap_anonymous(std::ptr::null_mut(), size + GUARD, ProtFlags::empty(), flags) };
        let mapped = mapped.inspect_err(|_| reservation.used.store(false, Ordering::Relaxed))?;
        let start = mapped.expose_provenance() + GUARD;
        reservation.end.store(start + size, Ordering::Relaxed);
        reservation.accessible.store(start + size, Ordering::Relaxed);
        reservation.start.store(start, Ordering::Relaxed);
        let stack = Stack { reservation };
        if !commit(reservation, start + size - 1) {
            return Err(wasmtime::Error::msg("there is no memory for a stack"));
        }
        Ok(stack)
    }

    fn ends(&self) -> (usize, usize) {
        (self.reservation.start.load(Ordering::Relaxed), self.reservation.end.load(Ordering::Relaxed))
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        let (start, end) = self.ends();
        let accessible = end - self.reservation.accessible.load(Ordering::Relaxed);
        if accessible <= 2 * STEP && SPARE.load(Ordering::Relaxed) < MAX_SPARE {
            SPARE.fetch_add(1, Ordering::Relaxed);
        } else {
            ACCESSIBLE.fetch_sub(accessible, Ordering::Relaxed);
            for field in [&self.reservation.start, &self.reservation.accessible, &self.reservation.end] {
                field.store(0, Ordering::Relaxed);
            }
            let mapped: *mut c_void = std::ptr::with_exposed_provenance_mut(start - GUARD);
            // SAFETY: `new` made the mapping, and the fiber that ran on it has ended.
            let _ = unsafe { munmap(mapped, end - start + GUARD) };
        }
        self.reservation.used.store(false, Ordering::Relaxed);
    }
}

// SAFETY: the memory is page aligned and has a guard below. Inaccessible pages become accessible when they are touched.
unsafe impl StackMemory for Stack {
    fn top(&self) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(self.ends().1)
    }

    fn range(&self) -> Range<usize> {
        let (start, end) = self.ends();
        start..end
    }

    fn guard_range(&self) -> Range<*mut u8> {
        let (start, _) = self.ends();
        std::ptr::with_exposed_provenance_mut(start - GUARD)..std::ptr::with_exposed_provenance_mut(start)
    }
}

/// Makes stacks of threads.
pub(crate) struct Creator;

// SAFETY: each stack is a mapping of its own that nothing else uses.
unsafe impl StackCreator for Creator {
    fn new_stack(&self, size: usize, _: bool) -> wasmtime::Result<Box<dyn StackMemory>> {
        Ok(Box::new(Stack::new(size)?))
    }
}

/// The handler of `SIGSEGV` that was there before, wasmtime's.
static BEFORE: AtomicPtr<libc::sigaction> = AtomicPtr::new(std::ptr::null_mut());

extern "C" fn on_fault(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes the fault's address.
    let address = unsafe { (*info).si_addr() }.expose_provenance();
    if RESERVATIONS.iter().any(|reservation| commit(reservation, address)) {
        return;
    }
    // SAFETY: `install` has stored the action before this handler was there, and it is never freed. It is called as the kernel would call it.
    unsafe {
        let before = BEFORE.load(Ordering::Relaxed);
        match (*before).sa_sigaction {
            libc::SIG_DFL | libc::SIG_IGN => {
                libc::sigaction(signal, before, std::ptr::null_mut());
            }
            handler if (*before).sa_flags & libc::SA_SIGINFO != 0 => {
                let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut c_void) =
                    std::mem::transmute(handler);
                handler(signal, info, context);
            }
            handler => {
                let handler: extern "C" fn(libc::c_int) = std::mem::transmute(handler);
                handler(signal);
            }
        }
    }
}

/// Installs the handler of faults in front of wasmtime's, once in a process. Call it after an engine was made. Forks inherit it.
pub(crate) fn install() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        // SAFETY: a zeroed sigaction is valid. The handler touches atomics and makes system calls only. It runs on the alternate stack, because
        // the stack that it is for may be full.
        unsafe {
            let before: &'static mut libc::sigaction = Box::leak(Box::new(std::mem::zeroed()));
            libc::sigaction(libc::SIGSEGV, std::ptr::null(), before);
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigemptyset(&raw mut action.sa_mask);
            action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER | libc::SA_ONSTACK;
            action.sa_sigaction = on_fault as extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut c_void) as usize;
            BEFORE.store(before, Ordering::Relaxed);
            libc::sigaction(libc::SIGSEGV, &raw const action, std::ptr::null_mut());
        }
    });
}
