//! The log of refused requests: enough to find a wrong setting, and few enough lines for a log.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The least time between two lines.
const PAUSE: Duration = Duration::from_secs(10);
/// The longest reason that is logged, in characters. It repeats text of the client.
const MAX_REASON: usize = 200;

/// The refusals of one endpoint.
#[derive(Debug, Default)]
pub(crate) struct RefusalLog(Mutex<RefusalLogState>);

#[derive(Debug, Default)]
struct RefusalLogState {
    last: Option<Instant>,
    /// Refusals since then.
    suppressed: u64,
}

impl RefusalLog {
    /// Logs that a request was refused, and how many were refused since the last line.
    pub(crate) fn log(&self, reason: &str) {
        if let Some(suppressed) = self.take_suppressed(Instant::now()) {
            let reason: String = reason.chars().take(MAX_REASON).collect();
            tracing::warn!(reason, suppressed, "a request was refused");
        }
    }

    /// Returns the number of refusals that were not logged, if a line may be written at `now`.
    fn take_suppressed(&self, now: Instant) -> Option<u64> {
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if written.last.is_some_and(|last| now.saturating_duration_since(last) < PAUSE) {
            written.suppressed = written.suppressed.saturating_add(1);
            return None;
        }
        written.last = Some(now);
        Some(std::mem::take(&mut written.suppressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_now_and_then_counts_those_between() {
        let (refusals, start) = (RefusalLog::default(), Instant::now());
        assert_eq!(refusals.take_suppressed(start), Some(0));
        for step in 1..=5 {
            assert_eq!(refusals.take_suppressed(start + PAUSE * step / 6), None);
        }
        assert_eq!(refusals.take_suppressed(start + PAUSE), Some(5));
        assert_eq!(refusals.take_suppressed(start + PAUSE), None);
        assert_eq!(refusals.take_suppressed(start + PAUSE * 3), Some(1));
        assert_eq!(refusals.take_suppressed(start + PAUSE * 4), Some(0));
    }
}
