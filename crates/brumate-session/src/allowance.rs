//! Allowances of principals, and the errors when one is used up.

use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::time::Instant;

use crate::units::{format_duration, format_size};

/// Time after which all used CPU time is available again.
const HOUR: Duration = Duration::from_secs(60 * 60);

/// Allowance of one principal. `None` means no limit of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Allowance {
    /// Most runs at the same time; four times as many may wait.
    pub runs: Option<usize>,
    /// Most sessions, live and hibernated.
    pub sessions: Option<usize>,
    /// Most bytes of its sessions on disk. A live session counts with the estimated size of its file.
    pub disk_bytes: Option<u64>,
    /// CPU time per hour. It may be used all at once, and comes back evenly.
    pub cpu_per_hour: Option<Duration>,
    /// Whether the principal's access is revoked: no run starts, and waiting calls are refused.
    /// [`Admission::revoke`](crate::Admission::revoke) ends runs that are under way.
    pub revoked: bool,
}

/// Allowances of all principals. The default has no limits.
#[derive(Clone, Default)]
pub struct Allowances(Option<Arc<AllowanceLookup>>);

type AllowanceLookup = dyn Fn(&str) -> Allowance + Send + Sync;

impl std::fmt::Debug for Allowances {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Allowances")
    }
}

impl Allowances {
    /// Looks allowances up with `of`, once for each call. Its answers may change over time.
    pub fn new(of: impl Fn(&str) -> Allowance + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(of)))
    }

    /// Returns the allowance of a principal.
    pub fn of(&self, principal: &str) -> Allowance {
        self.0.as_ref().map_or_else(Allowance::default, |of| of(principal))
    }
}

/// Allowance that is used up. Models read these texts and decide by them what to do next.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OverLimit {
    /// Too many runs at the same time.
    #[error("you have {running} runs under way and {waiting} waiting, as many as you may; try again in a few seconds")]
    Runs {
        /// Runs under way.
        running: usize,
        /// Waiting calls.
        waiting: usize,
    },
    /// Too much CPU time in the last hour.
    #[error(
        "you have used {} of CPU time, as much as you may in an hour; try again in {}",
        format_duration(*limit), format_duration(*retry_after)
    )]
    Cpu {
        /// CPU time per hour.
        limit: Duration,
        /// Time until a call is admitted again.
        retry_after: Duration,
    },
    /// Too many sessions.
    #[error("you have {limit} sessions, as many as you may; clear one that is not needed")]
    Sessions {
        /// Most sessions of the principal.
        limit: usize,
    },
    /// Too much disk space.
    #[error(
        "your sessions may take {} of the disk, and there is not enough left; keep less data, or clear one that is not needed",
        format_size(*limit)
    )]
    Disk {
        /// Most bytes on disk.
        limit: u64,
    },
}

impl OverLimit {
    /// Returns the error class that an error text begins with, as those of sessions do.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            OverLimit::Runs { .. } | OverLimit::Cpu { .. } => "SessionBusyError",
            OverLimit::Sessions { .. } | OverLimit::Disk { .. } => "SessionLimitError",
        }
    }
}

/// CPU time that was used and is not available again yet.
#[derive(Debug, Default)]
pub(crate) struct CpuUsage {
    level: Duration,
    at: Option<Instant>,
}

impl CpuUsage {
    /// Subtracts what has become available until `now`, at the rate of `limit` in an hour.
    fn settle(&mut self, limit: Duration, now: Instant) {
        let since = self.at.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        let back = limit.mul_f64((since.as_secs_f64() / HOUR.as_secs_f64()).min(1e6));
        self.level = self.level.saturating_sub(back);
        self.at = Some(now);
    }

    /// Returns whether no CPU time counts as used. Call it after `CpuUsage::settle` for an exact answer.
    pub(crate) fn is_zero(&self) -> bool {
        self.level.is_zero()
    }

    pub(crate) fn add(&mut self, time: Duration, limit: Duration, now: Instant) {
        self.settle(limit, now);
        self.level = self.level.saturating_add(time);
    }

    /// Returns how long to wait, in whole seconds rounded up, if `limit` is used up; `None` if it is not.
    pub(crate) fn retry_after(&mut self, limit: Duration, now: Instant) -> Option<Duration> {
        self.settle(limit, now);
        let over = self.level.checked_sub(limit)?;
        let seconds = over.as_secs_f64() / limit.as_secs_f64().max(1e-3) * HOUR.as_secs_f64();
        Some(Duration::from_secs((seconds.ceil() as u64).max(1)))
    }
}
