//! Wait for the owner of a session, bounded by its silence.

use std::time::Duration;

use tokio::time::Instant;

/// Longest time without a sign of life from the owner of a session. Then a call that waits for the session fails.
pub(crate) const SILENCE_LIMIT: Duration = Duration::from_secs(5);

/// Time between two attempts to reach the owner of a session: a killed server takes a moment to end.
pub(crate) const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// Wait of one call for a session that other servers own, one after the other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnerWait {
    /// Beginning of the wait.
    began: Instant,
    /// Last sign of life from an owner.
    heard: Instant,
}

impl OwnerWait {
    /// Begins to wait.
    pub(crate) fn begin() -> Self {
        let now = Instant::now();
        Self { began: now, heard: now }
    }

    /// Notes a sign of life.
    pub(crate) fn note_life(&mut self) {
        self.heard = Instant::now();
    }

    /// Returns the time at which the wait ends, unless there is a sign of life before.
    pub(crate) fn deadline(&self) -> Instant {
        self.heard + SILENCE_LIMIT
    }

    /// Returns whether no owner has given a sign of life for too long.
    pub(crate) fn is_over(&self) -> bool {
        Instant::now() >= self.deadline()
    }

    /// Returns for how long the call has waited.
    pub(crate) fn waited(&self) -> Duration {
        self.began.elapsed()
    }
}
