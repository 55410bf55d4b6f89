//! Interrupting the guest from outside: signal handlers that write CPython's two signal words.
//!
//! The server sends `SIGUSR1` (KeyboardInterrupt), the kernel `SIGPROF` (CPU time used up). CPython looks at the words at
//! function entries and backward jumps; blocking host calls return early. A guest that does not react is killed by the
//! server (`SIGKILL`) or by the kernel (`RLIMIT_CPU`).

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU8, Ordering};
use std::time::Duration;

use crate::caps::clock::INTERRUPTED;

/// Python's SIGINT.
const SIGINT: i32 = 2;

/// Addresses of `_Py_emscripten_signal_in_memory` and `_Py_emscripten_signal_clock` in this process.
static IN_MEMORY: AtomicPtr<i32> = AtomicPtr::new(std::ptr::null_mut());
static CLOCK: AtomicPtr<i32> = AtomicPtr::new(std::ptr::null_mut());

/// An execution is running: signals count only then.
static ARMED: AtomicBool = AtomicBool::new(false);

/// The kernel's CPU timer fired during this execution.
static CPU_LIMIT: AtomicBool = AtomicBool::new(false);

/// How many interrupts arrived during this execution.
static COUNT: AtomicU8 = AtomicU8::new(0);

extern "C" fn on_signal(signal: libc::c_int) {
    if !ARMED.load(Ordering::Relaxed) {
        return;
    }
    if signal == libc::SIGPROF {
        CPU_LIMIT.store(true, Ordering::Relaxed);
    }
    COUNT.fetch_add(1, Ordering::Relaxed);
    INTERRUPTED.store(true, Ordering::Relaxed);
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

/// The connection that is watched; -1 for none.
static WATCHED: AtomicI32 = AtomicI32::new(-1);

/// How often the connection is looked at while guest code runs.
const WATCH_EVERY: Duration = Duration::from_secs(1);

/// Ends this process when nobody is there any more to hear what it does.
extern "C" fn on_alarm(_: libc::c_int) {
    let fd = WATCHED.load(Ordering::Relaxed);
    if fd < 0 {
        return;
    }
    // SAFETY: `poll` gets one live entry and does not wait; `_exit` only ends the process; both are async-signal-safe. The
    // interrupted code finds `errno` as it was.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let mut poll = libc::pollfd { fd, events: 0, revents: 0 };
        if libc::poll(&raw mut poll, 1, 0) > 0 && poll.revents & (libc::POLLHUP | libc::POLLERR) != 0 {
            libc::_exit(1);
        }
        *errno = before;
    }
}

/// Until [`unwatch`]: ends this process when `socket`'s peer closes it. `socket` must stay open until then.
pub(crate) fn watch(socket: &impl std::os::fd::AsRawFd) {
    WATCHED.store(socket.as_raw_fd(), Ordering::Relaxed);
    // Refused only for arguments out of range.
    let _ = crate::jail::start_alarm(WATCH_EVERY);
}

/// Ends [`watch`].
pub(crate) fn unwatch() {
    WATCHED.store(-1, Ordering::Relaxed);
    let _ = crate::jail::stop_alarm();
}

/// Installs the handlers in this process. Forks inherit them.
pub(crate) fn install() {
    // SAFETY: a zeroed sigaction is valid; the handler only touches atomics and two words (see `on_signal`), which is
    // async-signal-safe.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as extern "C" fn(libc::c_int) as usize;
        libc::sigemptyset(&raw mut action.sa_mask);
        for signal in [libc::SIGUSR1, libc::SIGPROF] {
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
        action.sa_sigaction = on_alarm as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGALRM, &raw const action, std::ptr::null_mut());
        // A reader that went away is an error, not a death.
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
    }
}

/// Tells the handlers where CPython's signal words are: host addresses inside the linear memory.
pub(crate) fn set_words(in_memory: *mut u8, clock: *mut u8) {
    IN_MEMORY.store(in_memory.cast(), Ordering::Relaxed);
    CLOCK.store(clock.cast(), Ordering::Relaxed);
}

/// Starts counting signals for an execution.
pub(crate) fn arm() {
    INTERRUPTED.store(false, Ordering::Relaxed);
    CPU_LIMIT.store(false, Ordering::Relaxed);
    COUNT.store(0, Ordering::Relaxed);
    forget_pending();
    ARMED.store(true, Ordering::Relaxed);
}

/// Takes back an interrupt that CPython has not seen yet: it was meant for the execution that is over.
fn forget_pending() {
    let in_memory = IN_MEMORY.load(Ordering::Relaxed);
    if !in_memory.is_null() {
        // SAFETY: as in `on_signal`; no guest code runs while the host prepares or ends an execution.
        unsafe { in_memory.write_volatile(0) };
    }
}

/// What arrived since [`arm`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrived {
    /// Any interrupt.
    pub(crate) interrupted: bool,
    /// The CPU timer.
    pub(crate) cpu_limit: bool,
}

/// Stops counting.
pub(crate) fn disarm() -> Arrived {
    ARMED.store(false, Ordering::Relaxed);
    forget_pending();
    INTERRUPTED.store(false, Ordering::Relaxed);
    Arrived { interrupted: COUNT.load(Ordering::Relaxed) > 0, cpu_limit: CPU_LIMIT.load(Ordering::Relaxed) }
}

/// While it lives the interrupt signals are delivered only inside [`Blocked::pause`].
pub(crate) struct Blocked {
    before: libc::sigset_t,
}

/// Blocks the interrupt signals.
pub(crate) fn block_interrupt() -> Blocked {
    // SAFETY: plain calls on sets that live on this stack; the process is single-threaded.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGUSR1);
        libc::sigaddset(&raw mut set, libc::SIGPROF);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, &raw mut before);
        Blocked { before }
    }
}

impl Blocked {
    /// Waits for `duration` or a signal.
    pub(crate) fn pause(&self, duration: Duration) {
        let timeout = libc::timespec {
            tv_sec: libc::time_t::try_from(duration.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: duration.subsec_nanos().into(),
        };
        // SAFETY: no descriptors are passed; the timeout and the mask live across the call.
        unsafe {
            libc::ppoll(std::ptr::null_mut(), 0, &raw const timeout, &raw const self.before);
        }
    }

    /// Waits for `fds` to become ready, for a signal, or for `timeout` (`None`: for ever). True when something is ready.
    pub(crate) fn poll(&self, fds: &mut [libc::pollfd], timeout: Option<Duration>) -> bool {
        let timeout = timeout.map(|duration| libc::timespec {
            tv_sec: libc::time_t::try_from(duration.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: duration.subsec_nanos().into(),
        });
        let pointer = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the slice, the timeout and the mask live across the call.
        unsafe { libc::ppoll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, pointer, &raw const self.before) > 0 }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: restores the mask saved by `block_interrupt`.
        unsafe {
            libc::sigprocmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut());
        }
    }
}
