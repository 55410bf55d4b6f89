//! What is said of requests that are not let in: enough to find a wrong setting, and no more lines than a log can take.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Least time between two lines.
const PAUSE: Duration = Duration::from_secs(10);
/// Longest reason that is written, in characters; it repeats what a stranger sent.
const MAX_REASON: usize = 200;

/// The refusals of one endpoint.
#[derive(Debug, Default)]
pub(crate) struct Refused(Mutex<Written>);

#[derive(Debug, Default)]
struct Written {
    last: Option<Instant>,
    /// Refusals since then.
    unsaid: u64,
}

impl Refused {
    /// Says that a request was refused, and how many were since the last that was spoken of.
    pub(crate) fn tell(&self, reason: &str) {
        if let Some(unsaid) = self.pass(Instant::now()) {
            let reason: String = reason.chars().take(MAX_REASON).collect();
            tracing::warn!(reason, unsaid, "a request was refused");
        }
    }

    /// If a line may be written at `now`: how many were not since the one before.
    fn pass(&self, now: Instant) -> Option<u64> {
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if written.last.is_some_and(|last| now.saturating_duration_since(last) < PAUSE) {
            written.unsaid = written.unsaid.saturating_add(1);
            return None;
        }
        written.last = Some(now);
        Some(std::mem::take(&mut written.unsaid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_now_and_then_counts_those_between() {
        let (refused, start) = (Refused::default(), Instant::now());
        assert_eq!(refused.pass(start), Some(0));
        for step in 1..=5 {
            assert_eq!(refused.pass(start + PAUSE * step / 6), None);
        }
        assert_eq!(refused.pass(start + PAUSE), Some(5));
        assert_eq!(refused.pass(start + PAUSE), None);
        assert_eq!(refused.pass(start + PAUSE * 3), Some(1));
        assert_eq!(refused.pass(start + PAUSE * 4), Some(0));
    }
}
