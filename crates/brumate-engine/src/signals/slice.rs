//! Slices: a thread that computes gives the lock of the interpreter back after some time.

#![expect(unsafe_code, reason = "installs a signal handler that writes a word of the guest's memory")]

use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::time::Duration;

use brumate_module::patch::threads::{DROP_REQUEST, EVAL_BREAKER};

/// CPU time of a slice, CPython's default switch interval.
const SLICE: Duration = Duration::from_millis(5);

/// The slice of the thread that runs is over.
static OVER: AtomicBool = AtomicBool::new(false);

/// Address of the word with the attached thread state, and of the memory that it is in.
static ATTACHED: AtomicPtr<u32> = AtomicPtr::new(std::ptr::null_mut());
static MEMORY: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
static LENGTH: AtomicUsize = AtomicUsize::new(0);

/// Whether the timer runs in this process.
static TICKING: AtomicBool = AtomicBool::new(false);

extern "C" fn on_tick(_: libc::c_int) {
    OVER.store(true, Ordering::Relaxed);
    let (attached, memory) = (ATTACHED.load(Ordering::Relaxed), MEMORY.load(Ordering::Relaxed));
    if attached.is_null() || memory.is_null() {
        return;
    }
    // SAFETY: `attached` is an aligned word of the linear memory, which is mapped for the life of the process and never moves. The guest's code,
    // the only other writer, runs on this very thread. The state's address is the guest's: it is used only if the word lies in the memory.
    unsafe {
        let state = attached.read_volatile() as usize;
        let breaker = state + EVAL_BREAKER as usize;
        if state != 0 && breaker.is_multiple_of(4) && breaker + 4 <= LENGTH.load(Ordering::Relaxed) {
            let breaker = memory.add(breaker).cast::<u32>();
            breaker.write_volatile(breaker.read_volatile() | DROP_REQUEST);
        }
    }
}

/// Tells the handler where the guest's memory is. `attached` is the offset of the word with the attached thread state.
pub(crate) fn set_memory(memory: *mut u8, length: usize, attached: u32) {
    LENGTH.store(length, Ordering::Relaxed);
    MEMORY.store(memory, Ordering::Relaxed);
    ATTACHED.store(memory.wrapping_add(attached as usize).cast(), Ordering::Relaxed);
}

/// Starts the timer, if it does not run. It runs only while code of the guest does, so no fork has it.
pub(crate) fn start() {
    if !TICKING.swap(true, Ordering::Relaxed) {
        // SAFETY: a zeroed sigaction is valid. The handler only touches atomics and a word, see there.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigemptyset(&raw mut action.sa_mask);
            action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
            action.sa_sigaction = on_tick as extern "C" fn(libc::c_int) as usize;
            libc::sigaction(libc::SIGVTALRM, &raw const action, std::ptr::null_mut());
        }
        let _ = brumate_jail::start_slices(SLICE);
    }
}

/// Stops the timer.
pub(crate) fn stop() {
    if TICKING.swap(false, Ordering::Relaxed) {
        let _ = brumate_jail::stop_slices();
        begin();
    }
}

/// Whether the slice of the thread that runs is over. Says so once.
pub(crate) fn take_over() -> bool {
    OVER.swap(false, Ordering::Relaxed)
}

/// A new slice begins.
pub(crate) fn begin() {
    OVER.store(false, Ordering::Relaxed);
}
