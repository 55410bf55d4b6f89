//! `fork`, and waiting for a socket and for children at once.

#![expect(unsafe_code, reason = "forks, and makes system calls that rustix does not offer")]

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

use rustix::process::Pid;

/// Forks. `None` in the child.
///
/// # Errors
/// The kernel's: `EAGAIN`, `ENOMEM`.
pub(crate) fn fork() -> Result<Option<Pid>, rustix::io::Errno> {
    // SAFETY: this process is single-threaded (a zygote's engine compiles nothing and starts no thread), so the child has
    // every lock, and parking_lot's queues of waiting threads, in a consistent state and may go on running ordinary code.
    let pid = unsafe { libc::fork() };
    match pid {
        0 => Ok(None),
        pid if pid > 0 => Ok(Pid::from_raw(pid)),
        _ => {
            Err(rustix::io::Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(rustix::io::Errno::AGAIN))
        }
    }
}

/// Forks a machine: the new process is a child of this one's parent, the jail's first process, as this one is. `None` in the
/// new process.
///
/// # Errors
/// The kernel's: `EAGAIN`, `ENOMEM`.
pub(crate) fn fork_sibling() -> Result<Option<Pid>, rustix::io::Errno> {
    let flags = libc::CLONE_PARENT | libc::SIGCHLD;
    // SAFETY: as `fork`: this process, a zygote or a machine, has one thread. The C library is not told of the fork: it keeps no handlers here, and
    // what it remembers of the thread's number is used by nothing that is called afterwards.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags as libc::c_ulong, 0, 0, 0, 0) };
    match i32::try_from(pid) {
        Ok(0) => Ok(None),
        Ok(pid) if pid > 0 => Ok(Pid::from_raw(pid)),
        _ => {
            Err(rustix::io::Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(rustix::io::Errno::AGAIN))
        }
    }
}

/// Ends this process without tidying up: freeing what a fork shares would first copy it.
pub(crate) fn exit_now(status: i32) -> ! {
    // SAFETY: ends the process; no code of it runs afterwards.
    unsafe { libc::_exit(status) }
}

extern "C" fn on_child(_: libc::c_int) {}

/// Makes a child's death interrupt [`wait_readable_or_child`], and only that.
pub(crate) fn install_child_signal() {
    // SAFETY: a zeroed sigaction is valid and the handler does nothing; the mask is this thread's own.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_child as extern "C" fn(libc::c_int) as usize;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(libc::SIGCHLD, &raw const action, std::ptr::null_mut());
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
    }
}

/// Waits until `socket` is readable (true) or a child has ended (false). Never misses one: the signal is blocked outside.
pub(crate) fn wait_readable_or_child(socket: &impl AsFd) -> bool {
    let socket: BorrowedFd<'_> = socket.as_fd();
    let mut poll = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one pollfd and an empty mask that live across the call.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::ppoll(&raw mut poll, 1, std::ptr::null(), &raw const none) > 0
    }
}

/// Waits until a child has ended, or for `timeout`.
pub(crate) fn wait_child(timeout: Duration) {
    let timeout = libc::timespec {
        tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    };
    // SAFETY: no descriptors; the timeout and an empty mask live across the call.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::ppoll(std::ptr::null_mut(), 0, &raw const timeout, &raw const none);
    }
}

/// A child that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) pid: i32,
    /// The signal that killed it.
    pub(crate) signal: Option<i32>,
    /// Most memory that it had resident, in bytes.
    pub(crate) peak_memory_bytes: u64,
}

/// Children, as [`reap`] finds them.
#[derive(Debug)]
pub(crate) enum Children {
    Ended(Ended),
    /// They all go on.
    Alive,
    /// There are none.
    None,
}

/// Buries a child that has ended, if there is one.
pub(crate) fn reap() -> Children {
    let mut status = 0;
    // SAFETY: a zeroed rusage is valid; both results live across the call, which does not wait.
    let (pid, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        let pid = libc::wait4(-1, &raw mut status, libc::WNOHANG, &raw mut usage);
        (pid, usage)
    };
    match pid {
        0 => Children::Alive,
        pid if pid > 0 => {
            let signal = libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status));
            // In KiB.
            let peak_memory_bytes = u64::try_from(usage.ru_maxrss).unwrap_or(0).saturating_mul(1024);
            Children::Ended(Ended { pid, signal, peak_memory_bytes })
        }
        _ => Children::None,
    }
}

/// Closes every descriptor but the standard streams and `keep`.
///
/// For a process that goes on with nothing else.
pub(crate) fn close_all_but(keep: &impl AsFd) {
    let keep = keep.as_fd().as_raw_fd();
    for (first, last) in [(3, keep - 1), (keep + 1, libc::c_int::MAX)] {
        // SAFETY: plain numbers; nothing that owns one of these descriptors is used again.
        let closed = first > last || unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } == 0;
        if !closed {
            for fd in first..=last.min(HIGHEST_FD) {
                // SAFETY: as above; one that is not open is no error.
                unsafe { libc::close(fd) };
            }
        }
    }
}

/// Where the kernel does not close descriptors by range: the highest that a jail may have.
const HIGHEST_FD: libc::c_int = 4096;
