//! Interrupting the guest from outside: signal handlers that write CPython's two signal words.
//!
//! The server queues [`number`] with the number of an execution (KeyboardInterrupt), the kernel sends `SIGPROF` (CPU time used
//! up). CPython looks at the words at function entries and backward jumps; blocking host calls return early. A guest that does
//! not react is killed by the server (`SIGKILL`) or by the kernel (`RLIMIT_CPU`).
//!
//! A real-time signal is queued: none replaces another, each keeps its number. So a stop means one execution, whether it
//! comes before that has begun, while it runs, or after its end.

#![expect(unsafe_code, reason = "installs signal handlers")]

mod blocked;
mod queue;
pub(crate) mod slice;
pub(crate) mod timer;

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

pub(crate) use blocked::block_interrupt;
pub(crate) use queue::{queue, queue_busy_task};

/// Set by the interrupt signal's handler; cleared by the wait that it ends, and when an execution starts.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Python's SIGINT.
const SIGINT: i32 = 2;

/// Python's SIGUSR1. The guest's handler stops the task that keeps the event loop of a server busy.
const SIGUSR1: i32 = 10;

/// Flag of a queued number: the execution goes on, and the guest gets [`SIGUSR1`].
const BUSY_TASK: u64 = 1 << 63;

/// The signal that stops an execution.
pub(crate) fn number() -> libc::c_int {
    libc::SIGRTMIN()
}

/// Addresses of `_Py_emscripten_signal_in_memory` and `_Py_emscripten_signal_clock` in this process.
static IN_MEMORY: AtomicPtr<i32> = AtomicPtr::new(std::ptr::null_mut());
static CLOCK: AtomicPtr<i32> = AtomicPtr::new(std::ptr::null_mut());

/// The execution that runs; 0 for none. Signals count only then.
static RUNNING: AtomicU64 = AtomicU64::new(0);

/// The execution that was to be stopped last; 0 for none.
static STOPPED: AtomicU64 = AtomicU64::new(0);

/// The kernel's CPU timer fired during this execution.
static CPU_LIMIT: AtomicBool = AtomicBool::new(false);

/// Interrupts written so far; wraps.
static WRITTEN: AtomicU32 = AtomicU32::new(0);

/// An interrupt was taken by a callback from C, which cannot pass an exception on.
static TAKEN_IN_CALLBACK: AtomicBool = AtomicBool::new(false);

/// Whether a stop is meant for the execution that runs is decided once by the handler and once by [`arm`], in whatever order
/// the two come: hence the order of these loads and stores.
const ORDER: Ordering = Ordering::SeqCst;

extern "C" fn on_stop(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes what was queued; only the server may signal this process, and it gives a number.
    let execution = unsafe { (*info).si_value() }.sival_ptr as u64;
    if execution & BUSY_TASK != 0 {
        if RUNNING.load(ORDER) == execution & !BUSY_TASK {
            interrupt_busy_task();
        }
        return;
    }
    STOPPED.store(execution, ORDER);
    if execution != 0 && RUNNING.load(ORDER) == execution {
        interrupt();
    }
}

extern "C" fn on_cpu_limit(_: libc::c_int) {
    cpu_time_is_used_up();
}

/// Interrupts the execution that runs, if one does, since its CPU time is used up. Async-signal-safe.
pub(crate) fn cpu_time_is_used_up() {
    if RUNNING.load(ORDER) != 0 {
        CPU_LIMIT.store(true, Ordering::Relaxed);
        interrupt();
    }
}

/// Tells the interpreter and the host's waits. Async-signal-safe.
fn interrupt() {
    INTERRUPTED.store(true, Ordering::Relaxed);
    WRITTEN.fetch_add(1, Ordering::Relaxed);
    let (in_memory, clock) = (IN_MEMORY.load(Ordering::Relaxed), CLOCK.load(Ordering::Relaxed));
    if !in_memory.is_null() && !clock.is_null() {
        // SAFETY: both point at aligned words of the linear memory, which is mapped for the life of the process and never
        // moves (`memory_may_move(false)`); the guest's code, the only other writer, runs on this very thread.
        unsafe {
            in_memory.write_volatile(SIGINT);
            clock.write_volatile(0);
        }
    }
}

/// Tells the interpreter to stop the busy task of a server. A signal that CPython has still to see takes precedence. Async-signal-safe.
fn interrupt_busy_task() {
    let (in_memory, clock) = (IN_MEMORY.load(Ordering::Relaxed), CLOCK.load(Ordering::Relaxed));
    if in_memory.is_null() || clock.is_null() {
        return;
    }
    INTERRUPTED.store(true, Ordering::Relaxed);
    // SAFETY: as in `interrupt`.
    unsafe {
        if in_memory.read_volatile() == 0 {
            in_memory.write_volatile(SIGUSR1);
            clock.write_volatile(0);
        }
    }
}

/// The connection that is watched; -1 for none.
static WATCHED: AtomicI32 = AtomicI32::new(-1);

/// How often the connection is looked at while guest code runs.
const WATCH_EVERY: Duration = Duration::from_secs(1);

extern "C" fn on_alarm(_: libc::c_int) {
    // The interrupted code finds `errno` as it was.
    // SAFETY: the address of this thread's `errno`.
    let (errno, before) = unsafe {
        let errno = libc::__errno_location();
        (errno, *errno)
    };
    end_if_alone();
    timer::tick();
    // SAFETY: as above.
    unsafe { *errno = before };
}

/// Ends this process if the peer of the watched connection has gone. Async-signal-safe.
fn end_if_alone() {
    let fd = WATCHED.load(Ordering::Relaxed);
    if fd < 0 {
        return;
    }
    // SAFETY: `poll` gets one live entry and does not wait; `_exit` only ends the process; both are async-signal-safe.
    unsafe {
        let mut poll = libc::pollfd { fd, events: 0, revents: 0 };
        if libc::poll(&raw mut poll, 1, 0) > 0 && poll.revents & (libc::POLLHUP | libc::POLLERR) != 0 {
            libc::_exit(1);
        }
    }
}

/// Until [`unwatch`]: ends this process when `socket`'s peer closes it. `socket` must stay open until then.
pub(crate) fn watch(socket: &impl std::os::fd::AsRawFd) {
    WATCHED.store(socket.as_raw_fd(), Ordering::Relaxed);
    // Refused only for arguments out of range.
    let _ = brumate_jail::start_alarm(WATCH_EVERY);
}

/// Ends [`watch`].
pub(crate) fn unwatch() {
    WATCHED.store(-1, Ordering::Relaxed);
    let _ = brumate_jail::stop_alarm();
}

/// Installs the handlers in this process. Forks inherit them.
pub(crate) fn install() {
    // SAFETY: a zeroed sigaction is valid; the handlers only touch atomics and two words (see `interrupt`), which is
    // async-signal-safe.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigemptyset(&raw mut action.sa_mask);
        action.sa_flags = libc::SA_ONSTACK;
        action.sa_sigaction = on_cpu_limit as extern "C" fn(libc::c_int) as usize;
        libc::sigaction(libc::SIGPROF, &raw const action, std::ptr::null_mut());
        action.sa_sigaction = on_stop as extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigaction(number(), &raw const action, std::ptr::null_mut());
        action.sa_sigaction = on_alarm as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
        libc::sigaction(libc::SIGALRM, &raw const action, std::ptr::null_mut());
        // A reader that went away is an error, not a death.
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
        // A file that becomes too large as well: `EFBIG`.
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// Tells the handlers where CPython's signal words are: host addresses inside the linear memory.
pub(crate) fn set_words(in_memory: *mut u8, clock: *mut u8) {
    IN_MEMORY.store(in_memory.cast(), Ordering::Relaxed);
    CLOCK.store(clock.cast(), Ordering::Relaxed);
}

/// An execution begins. One that was to be stopped before is interrupted at once.
pub(crate) fn arm(execution: u64) {
    INTERRUPTED.store(false, Ordering::Relaxed);
    CPU_LIMIT.store(false, Ordering::Relaxed);
    TAKEN_IN_CALLBACK.store(false, Ordering::Relaxed);
    forget_pending();
    RUNNING.store(execution, ORDER);
    if STOPPED.load(ORDER) == execution {
        interrupt();
    }
}

/// Takes back an interrupt that CPython has not seen yet: it was meant for the execution that is over.
fn forget_pending() {
    let in_memory = IN_MEMORY.load(Ordering::Relaxed);
    if !in_memory.is_null() {
        // SAFETY: as in `interrupt`; no guest code runs while the host prepares or ends an execution.
        unsafe { in_memory.write_volatile(0) };
    }
}

/// The execution has ended. Returns whether its CPU time was used up.
pub(crate) fn disarm() -> bool {
    RUNNING.store(0, ORDER);
    timer::clear();
    forget_pending();
    INTERRUPTED.store(false, Ordering::Relaxed);
    CPU_LIMIT.load(Ordering::Relaxed)
}

/// In a process forked from a machine: the server counts its executions anew.
pub(crate) fn forget_stops() {
    STOPPED.store(0, ORDER);
}

/// Whether CPython has still to see an interrupt.
fn pending() -> bool {
    let in_memory = IN_MEMORY.load(Ordering::Relaxed);
    // SAFETY: as in `interrupt`.
    !in_memory.is_null() && unsafe { in_memory.read_volatile() } == SIGINT
}

/// Whether a wait is to end now: a signal has come that CPython has not taken yet. Says so once.
pub(crate) fn take_interrupted() -> bool {
    let in_memory = IN_MEMORY.load(Ordering::Relaxed);
    // SAFETY: as in `interrupt`.
    INTERRUPTED.swap(false, Ordering::Relaxed) && (in_memory.is_null() || unsafe { in_memory.read_volatile() } != 0)
}

/// Whether a signal has come since the last call. Another thread may have taken it for CPython already, and the main thread is to handle it.
pub(crate) fn take_signal() -> bool {
    INTERRUPTED.swap(false, Ordering::Relaxed)
}

/// A callback from C to Python, from its beginning to [`Callback::end`].
///
/// ctypes and cffi print what a callback raises, and C goes on: a KeyboardInterrupt is lost there, and where callbacks are
/// nearly all that runs, so is the next one. What is lost so is said again when C returns, see [`returned_from_c`].
pub(crate) struct Callback {
    pending: bool,
    written: u32,
}

impl Callback {
    /// It begins.
    pub(crate) fn begin() -> Callback {
        Callback { pending: pending(), written: WRITTEN.load(Ordering::Relaxed) }
    }

    /// It has ended.
    pub(crate) fn end(&self) {
        let was_there = self.pending || self.written != WRITTEN.load(Ordering::Relaxed);
        if was_there && !pending() {
            TAKEN_IN_CALLBACK.store(true, Ordering::Relaxed);
        }
    }
}

/// A C function that Python called has returned.
pub(crate) fn returned_from_c() {
    if TAKEN_IN_CALLBACK.swap(false, Ordering::Relaxed) && RUNNING.load(ORDER) != 0 {
        interrupt();
    }
}

#[cfg(test)]
mod tests;
