//! The timer of the guest: `SIGALRM` for its handler after some time, once or again and again (`setitimer(2)`).
//!
//! The process has one interval timer of wall-clock time. Every tick of it serves both the watch over the connection and the guest's
//! timer; one that is due before the next tick gets a tick of its own. The timer ends with the execution that set it.

#![expect(unsafe_code, reason = "sets a timer of the system")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::{CLOCK, IN_MEMORY, INTERRUPTED, RUNNING, WATCH_EVERY};

/// Python's SIGALRM.
const SIGALRM: i32 = 14;

/// The shortest time between two signals: a guest that asks for less gets this.
const MIN_INTERVAL: Duration = Duration::from_millis(1);

/// How long a signal waits that finds another one not yet taken.
const RETRY: Duration = Duration::from_millis(5);

/// When the next signal is due, in nanoseconds of the monotonic clock; 0 for never.
static DEADLINE: AtomicU64 = AtomicU64::new(0);

/// Nanoseconds from one signal to the next; 0 for a single one.
static INTERVAL: AtomicU64 = AtomicU64::new(0);

/// Sets the timer: `delay` to the first signal (zero: none), then `interval` (zero: no other). Returns what was set: the time that was
/// left, and the interval.
pub(crate) fn set(delay: Duration, interval: Duration) -> (Duration, Duration) {
    let before = get();
    let at_least = |duration: Duration| {
        let duration = if duration.is_zero() { duration } else { duration.max(MIN_INTERVAL) };
        u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX / 4).min(u64::MAX / 4)
    };
    DEADLINE.store(0, Ordering::Relaxed);
    INTERVAL.store(at_least(interval), Ordering::Relaxed);
    if !delay.is_zero() {
        DEADLINE.store(now() + at_least(delay), Ordering::Relaxed);
    }
    schedule();
    before
}

/// The time that is left to the next signal, and the interval; zeros when the timer is not set.
pub(crate) fn get() -> (Duration, Duration) {
    match DEADLINE.load(Ordering::Relaxed) {
        0 => (Duration::ZERO, Duration::ZERO),
        deadline => {
            let left = deadline.saturating_sub(now()).max(1);
            (Duration::from_nanos(left), Duration::from_nanos(INTERVAL.load(Ordering::Relaxed)))
        }
    }
}

/// Ends the timer.
pub(super) fn clear() {
    DEADLINE.store(0, Ordering::Relaxed);
}

/// Signals the guest if that is due. Async-signal-safe.
pub(super) fn tick() {
    let deadline = DEADLINE.load(Ordering::Relaxed);
    if deadline == 0 {
        return;
    }
    let now = now();
    if now >= deadline {
        let interval = INTERVAL.load(Ordering::Relaxed);
        let next = match (signal(), interval) {
            (false, _) => now + RETRY.as_nanos() as u64,
            (true, 0) => 0,
            (true, interval) => now + interval,
        };
        DEADLINE.store(next, Ordering::Relaxed);
    }
    schedule();
}

/// Writes the signal down for CPython. False when another one is to be taken first.
fn signal() -> bool {
    let (in_memory, clock) = (IN_MEMORY.load(Ordering::Relaxed), CLOCK.load(Ordering::Relaxed));
    if RUNNING.load(super::ORDER) == 0 || in_memory.is_null() || clock.is_null() {
        return true;
    }
    // SAFETY: as in `interrupt`.
    unsafe {
        if in_memory.read_volatile() != 0 {
            return false;
        }
        in_memory.write_volatile(SIGALRM);
        clock.write_volatile(0);
    }
    INTERRUPTED.store(true, Ordering::Relaxed);
    true
}

/// Has the process's timer tick when the guest's is due, if that is before its next regular tick. Async-signal-safe.
fn schedule() {
    let deadline = DEADLINE.load(Ordering::Relaxed);
    if deadline != 0 {
        let left = Duration::from_nanos(deadline.saturating_sub(now()).max(1000));
        // Refused only for arguments out of range.
        let _ = brumate_jail::start_alarm_in(left.min(WATCH_EVERY), WATCH_EVERY);
    }
}

/// Nanoseconds of the monotonic clock. Async-signal-safe.
fn now() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}
