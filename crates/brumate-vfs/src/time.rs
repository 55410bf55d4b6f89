//! File times.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A point in time, as `struct timespec` has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Timestamp {
    /// Seconds since the epoch.
    pub secs: i64,
    /// Nanoseconds of that second, below 1 000 000 000.
    pub nanos: u32,
}

impl Timestamp {
    /// Returns the time so many nanoseconds after the epoch.
    pub fn from_nanos(nanos: u64) -> Self {
        Self { secs: (nanos / 1_000_000_000) as i64, nanos: (nanos % 1_000_000_000) as u32 }
    }
}

/// A new value for a file time (`utimensat`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetTime {
    /// The present time.
    Now,
    /// No change.
    Omit,
    /// This time.
    To(Timestamp),
}

/// Reads the real-time clock: nanoseconds since the epoch.
pub type ClockFn = Box<dyn Fn() -> u64 + Send>;

/// Returns strictly increasing times.
///
/// Import caches compare modification times for equality, so two changes must never have the same time, even if the
/// clock is coarse: if it has not advanced, the last time plus one nanosecond is used.
pub struct Clock {
    source: ClockFn,
}

impl Clock {
    pub fn new(source: ClockFn) -> Self {
        Self { source }
    }

    /// Returns the next time after `last`, and sets `last` to it.
    pub fn next(&self, last: &mut u64) -> Timestamp {
        *last = (self.source)().max(last.saturating_add(1));
        Timestamp::from_nanos(*last)
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self { source: Box::new(|| 0) }
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}
