//! Which pages of the linear memory a piece of work touches and which it writes to.
//!
//! Used once, when an image is built, in a fork that ends afterwards: all pages are made inaccessible, and each fault makes
//! one accessible again. Every fork of a zygote touches much the same pages; knowing them beforehand saves it most of its
//! page faults, which take most of its time.

#![expect(unsafe_code, reason = "catches page faults of a run")]

use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};

use crate::memory::PAGE_BYTES;

/// Pages by number.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pages {
    /// Read, and not written.
    pub(crate) read: Vec<u32>,
    /// Written.
    pub(crate) written: Vec<u32>,
    /// Written by what a session runs later on.
    pub(crate) later: Vec<u32>,
}

/// Faults of a page that was only read.
const READ: u8 = 1;

static START: AtomicUsize = AtomicUsize::new(0);
static LENGTH: AtomicUsize = AtomicUsize::new(0);
/// One byte for each page; leaked.
static MAP: AtomicPtr<AtomicU8> = AtomicPtr::new(std::ptr::null_mut());

extern "C" fn on_fault(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid structure to a handler installed with SA_SIGINFO.
    let address = unsafe { (*info).si_addr() } as usize;
    let offset = address.wrapping_sub(START.load(Ordering::Relaxed));
    if offset >= LENGTH.load(Ordering::Relaxed) {
        // Not ours: let it happen again with the default action, which ends this process.
        // SAFETY: plain call, async-signal-safe.
        unsafe { libc::signal(libc::SIGSEGV, libc::SIG_DFL) };
        return;
    }
    let page = offset / PAGE_BYTES;
    // SAFETY: the map has a byte for each page of the range and lives for ever.
    let seen = unsafe { &*MAP.load(Ordering::Relaxed).add(page) };
    // The first fault may be for reading: then writing faults again.
    let protection =
        if seen.load(Ordering::Relaxed) == 0 { libc::PROT_READ } else { libc::PROT_READ | libc::PROT_WRITE };
    seen.fetch_add(1, Ordering::Relaxed);
    let start = START.load(Ordering::Relaxed) + page * PAGE_BYTES;
    // SAFETY: one page of the traced range, which is part of the linear memory's mapping.
    unsafe { libc::mprotect(start as *mut libc::c_void, PAGE_BYTES, protection) };
}

/// Starts to trace what is touched of a linear memory of `length` bytes at `start`. For a process that does nothing else, and ends.
///
/// # Errors
/// When the kernel refuses.
pub(crate) fn begin_memory(start: *mut u8, length: usize) -> std::io::Result<()> {
    // SAFETY: the caller names the accessible part of its linear memory, page aligned and mapped for the process's life. The
    // process is a fork with one thread; while an image is built no system call gets an address of the guest's memory
    // (chance is off, and output goes through copies).
    unsafe { begin(start, length) }
}

/// Starts to trace the `length` bytes at `start`.
///
/// # Errors
/// When the kernel refuses.
///
/// # Safety
/// The range must be page aligned, mapped readable and writable, and accessible to this process for the rest of its life; the
/// process must have one thread, and must not pass addresses in the range to system calls.
unsafe fn begin(start: *mut u8, length: usize) -> std::io::Result<()> {
    let map: &'static mut [AtomicU8] = (0..length / PAGE_BYTES).map(|_| AtomicU8::new(0)).collect::<Vec<_>>().leak();
    MAP.store(map.as_mut_ptr(), Ordering::Relaxed);
    LENGTH.store(length, Ordering::Relaxed);
    START.store(start as usize, Ordering::Relaxed);
    // SAFETY: a zeroed sigaction is valid; the handler only touches atomics and calls `mprotect` and `signal`. The
    // protection is that of the caller's own range.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_fault;
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        libc::sigemptyset(&raw mut action.sa_mask);
        if libc::sigaction(libc::SIGSEGV, &raw const action, std::ptr::null_mut()) != 0
            || libc::mprotect(start.cast(), length, libc::PROT_NONE) != 0
        {
            return Err(std::io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Starts anew: nothing has been touched yet.
///
/// # Errors
/// When the kernel refuses.
pub(crate) fn restart() -> std::io::Result<()> {
    let (map, length) = (MAP.load(Ordering::Relaxed), LENGTH.load(Ordering::Relaxed));
    if map.is_null() {
        return Ok(());
    }
    // SAFETY: the map was leaked by `begin` with this length, and the range is the one whose caller has promised what `begin`
    // wants for the rest of the process's life.
    unsafe {
        for seen in std::slice::from_raw_parts(map, length / PAGE_BYTES) {
            seen.store(0, Ordering::Relaxed);
        }
        if libc::mprotect(START.load(Ordering::Relaxed) as *mut libc::c_void, length, libc::PROT_NONE) != 0 {
            return Err(std::io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Returns the pages that have been touched since [`begin_memory`].
pub(crate) fn pages() -> Pages {
    let mut pages = Pages::default();
    let map = MAP.load(Ordering::Relaxed);
    if map.is_null() {
        return pages;
    }
    // SAFETY: the map was leaked by `begin` with this length.
    let map = unsafe { std::slice::from_raw_parts(map, LENGTH.load(Ordering::Relaxed) / PAGE_BYTES) };
    for (number, seen) in map.iter().enumerate() {
        let seen = seen.load(Ordering::Relaxed);
        match seen {
            0 => {}
            READ => pages.read.push(number as u32),
            _ => pages.written.push(number as u32),
        }
    }
    pages
}
