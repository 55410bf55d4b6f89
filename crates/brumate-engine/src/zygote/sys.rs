//! `fork`, and waiting for a socket and for children at once.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

use rustix::process::Pid;

/// Forks. `None` in the child.
///
/// # Errors
/// The kernel's: `EAGAIN`, `ENOMEM`.
pub(super) fn fork() -> Result<Option<Pid>, rustix::io::Errno> {
    // SAFETY: the zygote is single-threaded (its engine compiles nothing and starts no thread), so the child has every
    // lock in a consistent state and may go on running ordinary code.
    let pid = unsafe { libc::fork() };
    match pid {
        0 => Ok(None),
        pid if pid > 0 => Ok(Pid::from_raw(pid)),
        _ => {
            Err(rustix::io::Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(rustix::io::Errno::AGAIN))
        }
    }
}

/// Forks a machine: the new process is a child of this one's parent, the zygote, as this one is. `None` in the new process.
///
/// # Errors
/// The kernel's: `EAGAIN`, `ENOMEM`.
pub(crate) fn fork_sibling() -> Result<Option<Pid>, rustix::io::Errno> {
    let flags = libc::CLONE_PARENT | libc::SIGCHLD;
    // SAFETY: as `fork`: this process has one thread. The C library is not told of the fork: it keeps no handlers here, and
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
pub(super) fn exit_now(status: i32) -> ! {
    // SAFETY: ends the process; no code of it runs afterwards.
    unsafe { libc::_exit(status) }
}

extern "C" fn on_child(_: libc::c_int) {}

/// Makes a child's death interrupt [`wait_readable_or_child`], and only that.
pub(super) fn install_child_signal() {
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
pub(super) fn wait_readable_or_child(socket: &impl AsFd) -> bool {
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
pub(super) fn wait_child(timeout: Duration) {
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

/// Gives the child its default handling of `SIGCHLD` back.
pub(crate) fn forget_child_signal() {
    // SAFETY: as `install_child_signal`.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        libc::sigprocmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
    }
}
