//! The server's side: the signal that stops one execution.

use std::os::fd::{AsRawFd, BorrowedFd};

use super::{BUSY_TASK, number};

/// `siginfo_t` as a queued signal has it, on 64-bit Linux (`<asm-generic/siginfo.h>`).
#[repr(C)]
struct Queued {
    signo: libc::c_int,
    errno: libc::c_int,
    code: libc::c_int,
    _gap: libc::c_int,
    /// Process id of the sender. Machines ignore it.
    pid: libc::pid_t,
    uid: libc::uid_t,
    value: u64,
    _rest: [u64; 12],
}

const _: () = assert!(size_of::<Queued>() == size_of::<libc::siginfo_t>());

/// Asks the machine behind `pidfd` to stop the task that keeps the event loop of an execution busy.
///
/// # Errors
/// The kernel's, as for [`queue`].
pub(crate) fn queue_busy_task(pidfd: BorrowedFd<'_>, execution: u64) -> std::io::Result<()> {
    queue(pidfd, execution | BUSY_TASK)
}

/// Asks the machine behind `pidfd` to stop one of its executions.
///
/// # Errors
/// The kernel's: `ESRCH` when it has ended, `EAGAIN` when too many are queued.
pub(crate) fn queue(pidfd: BorrowedFd<'_>, execution: u64) -> std::io::Result<()> {
    let info = Queued {
        signo: number(),
        errno: 0,
        code: libc::SI_QUEUE,
        _gap: 0,
        pid: 0,
        uid: 0,
        value: execution,
        _rest: [0; 12],
    };
    // SAFETY: the kernel reads `info`, which has the size and layout of a `siginfo_t`; the descriptor is open.
    let sent =
        unsafe { libc::syscall(libc::SYS_pidfd_send_signal, pidfd.as_raw_fd(), number(), &raw const info, 0_u32) };
    if sent == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}
