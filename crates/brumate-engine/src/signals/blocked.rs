//! Waiting for descriptors, time or an interrupt, without missing one.

use std::time::Duration;

use super::number;

/// Interrupt signals that are blocked as long as this value lives, except inside [`Blocked::poll`].
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
        libc::sigaddset(&raw mut set, number());
        libc::sigaddset(&raw mut set, libc::SIGPROF);
        libc::sigaddset(&raw mut set, libc::SIGALRM);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, &raw mut before);
        Blocked { before }
    }
}

impl Blocked {
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
