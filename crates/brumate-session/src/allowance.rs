//! What each principal may use, and what is said when it has.

use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::time::Instant;

use crate::units::{format_duration, format_size};

/// After this time all that was spent has come back.
const HOUR: Duration = Duration::from_secs(60 * 60);

/// What one principal may use; what is not said has no limit of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Allowance {
    /// Runs at the same time; four times as many may wait.
    pub runs: Option<usize>,
    /// Sessions, awake or asleep.
    pub sessions: Option<usize>,
    /// Bytes of its sessions on disk; those that are awake count with what they would take.
    pub disk_bytes: Option<u64>,
    /// CPU time that code may take in an hour. As much may be taken at once; it comes back evenly.
    pub cpu_per_hour: Option<Duration>,
    /// It may use nothing any more: no run begins, and none that waits. [`Admission::revoke`](crate::Admission::revoke) ends those that
    /// are under way.
    pub revoked: bool,
}

/// What all of them may use.
#[derive(Clone, Default)]
pub struct Allowances(Option<Arc<Of>>);

type Of = dyn Fn(&str) -> Allowance + Send + Sync;

impl std::fmt::Debug for Allowances {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Allowances")
    }
}

impl Allowances {
    /// What `of` says of a principal. It is asked with each call, and may change its mind.
    pub fn new(of: impl Fn(&str) -> Allowance + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(of)))
    }

    /// What a principal may use.
    pub fn of(&self, principal: &str) -> Allowance {
        self.0.as_ref().map_or_else(Allowance::default, |of| of(principal))
    }
}

/// A principal has used what it may. The texts are read by models, which decide by them what to do next.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OverLimit {
    /// Too many runs.
    #[error("you have {running} runs under way and {waiting} waiting, as many as you may; try again in a few seconds")]
    Runs {
        /// Under way.
        running: usize,
        /// Waiting.
        waiting: usize,
    },
    /// Too much CPU time.
    #[error(
        "you have used {} of CPU time, as much as you may in an hour; try again in {}",
        format_duration(*limit), format_duration(*retry_after)
    )]
    Cpu {
        /// What may be used in an hour.
        limit: Duration,
        /// When a call is let in again.
        retry_after: Duration,
    },
    /// Too many sessions.
    #[error("you have {limit} sessions, as many as you may; clear one that is not needed")]
    Sessions {
        /// How many.
        limit: usize,
    },
    /// Too much disk space.
    #[error(
        "your sessions may take {} of the disk, and there is not enough left; keep less data, or clear one that is not needed",
        format_size(*limit)
    )]
    Disk {
        /// Bytes.
        limit: u64,
    },
}

impl OverLimit {
    /// How errors of sessions begin that are like this one.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            OverLimit::Runs { .. } | OverLimit::Cpu { .. } => "SessionBusyError",
            OverLimit::Sessions { .. } | OverLimit::Disk { .. } => "SessionLimitError",
        }
    }
}

/// CPU time that was spent and has not come back yet.
#[derive(Debug, Default)]
pub(crate) struct Spent {
    level: Duration,
    at: Option<Instant>,
}

impl Spent {
    /// What is left of it at `now`, when `limit` comes back in an hour.
    fn settle(&mut self, limit: Duration, now: Instant) {
        let since = self.at.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        let back = limit.mul_f64((since.as_secs_f64() / HOUR.as_secs_f64()).min(1e6));
        self.level = self.level.saturating_sub(back);
        self.at = Some(now);
    }

    /// Nothing; what was spent would have to be settled first to be sure.
    pub(crate) fn is_nothing(&self) -> bool {
        self.level.is_zero()
    }

    pub(crate) fn add(&mut self, time: Duration, limit: Duration, now: Instant) {
        self.settle(limit, now);
        self.level = self.level.saturating_add(time);
    }

    /// When there is some left again, if there is none now: whole seconds, rounded up.
    pub(crate) fn exceeds(&mut self, limit: Duration, now: Instant) -> Option<Duration> {
        self.settle(limit, now);
        let over = self.level.checked_sub(limit)?;
        let seconds = over.as_secs_f64() / limit.as_secs_f64().max(1e-3) * HOUR.as_secs_f64();
        Some(Duration::from_secs((seconds.ceil() as u64).max(1)))
    }
}
