//! Clocks and sleeping.

use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Longest single sleep before the clock is read again.
const MAX_SLEEP: Duration = Duration::from_secs(3600);

/// Nanoseconds of a time stamp.
fn nanoseconds(time: Timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(time.tv_nsec).unwrap_or(0))
}

/// Finds the kernel's code for reading clocks (vdso(7)). Call it before the process enters the jail: it cannot be found there, and
/// each reading would be a system call.
pub(crate) fn prepare() {
    let _ = clock_gettime(ClockId::Monotonic);
}

/// The guest's clocks. The monotonic one starts when the interpreter boots, so that the host's uptime stays unknown, and
/// stands still while a session sleeps on disk.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    base: u64,
}

impl Clock {
    /// A clock that starts now.
    pub(crate) fn new() -> Clock {
        // At one second: a clock at zero looks unset to some programs.
        Clock::resumed(1_000_000_000)
    }

    /// A clock whose monotonic time goes on from `monotonic` nanoseconds.
    pub(crate) fn resumed(monotonic: u64) -> Clock {
        // Wraps when the host has been up for less; so does the subtraction that undoes it.
        Clock { base: nanoseconds(clock_gettime(ClockId::Monotonic)).wrapping_sub(monotonic) }
    }

    /// Wall clock, nanoseconds since 1970.
    pub(crate) fn realtime(&self) -> u64 {
        realtime()
    }

    /// Monotonic clock, nanoseconds.
    pub(crate) fn monotonic(&self) -> u64 {
        match super::rehearsal::tick() {
            Some(ticks) => 1_000_000_000 + ticks,
            None => nanoseconds(clock_gettime(ClockId::Monotonic)).wrapping_sub(self.base),
        }
    }

    /// CPU time of this process, nanoseconds; a forked machine starts at zero.
    pub(crate) fn process_cpu(&self) -> u64 {
        super::rehearsal::tick().unwrap_or_else(|| nanoseconds(clock_gettime(ClockId::ProcessCPUTime)))
    }
}

/// Wall clock, nanoseconds since 1970.
pub(crate) fn realtime() -> u64 {
    match super::rehearsal::tick() {
        Some(ticks) => super::rehearsal::EPOCH + ticks,
        None => nanoseconds(clock_gettime(ClockId::Realtime)),
    }
}

/// Waits without using the CPU until one of the descriptors is ready, at most for `duration`. Returns early, with `true`, when the machine is
/// interrupted.
///
/// The signal is blocked except inside `ppoll`, so that one that arrives just before the call is not lost.
pub(crate) fn wait(fds: &mut [libc::pollfd], duration: Option<Duration>) -> bool {
    let deadline = duration.map(|duration| std::time::Instant::now().checked_add(duration));
    let guard = crate::signals::block_interrupt();
    loop {
        if crate::signals::take_interrupted() {
            return true;
        }
        let step = match deadline {
            Some(Some(deadline)) => {
                let rest = deadline.saturating_duration_since(std::time::Instant::now());
                if rest.is_zero() {
                    return false;
                }
                rest.min(MAX_SLEEP)
            }
            _ => MAX_SLEEP,
        };
        if guard.poll(fds, Some(step)) {
            return false;
        }
    }
}
