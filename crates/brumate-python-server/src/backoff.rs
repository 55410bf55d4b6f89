//! Crashes and failed starts of a server: how long the next start waits, and when there is no next one.
//!
//! A client can make a server crash, so crashes never end it: they make the next start wait. A server that cannot be started at all is
//! given up.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// Time in which crashes and failed starts are counted together.
pub const CRASH_WINDOW: Duration = Duration::from_secs(60);
/// Wait of a start after the second crash of a window. It doubles with each further one.
pub const FIRST_RESTART_DELAY: Duration = Duration::from_millis(250);
/// Longest wait of a start.
pub const MAX_RESTART_DELAY: Duration = Duration::from_secs(5);
/// Starts that fail, one after the other, until a server is given up.
pub const MAX_FAILED_STARTS: usize = 3;
/// Most crashes that are remembered. The wait is the longest one by then.
const MAX_REMEMBERED: usize = 16;

/// The times of the last crashes and failed starts.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    recent: VecDeque<Instant>,
    /// Starts that have failed since the last one that succeeded.
    failed_starts: usize,
}

impl Backoff {
    /// Counts the crash of a machine whose server had started.
    pub(crate) fn crashed(&mut self) {
        let now = Instant::now();
        self.recent.retain(|crash| now.duration_since(*crash) < CRASH_WINDOW);
        if self.recent.len() >= MAX_REMEMBERED {
            self.recent.pop_front();
        }
        self.recent.push_back(now);
    }

    /// Counts a start that failed. Returns whether [`MAX_FAILED_STARTS`] failed, one after the other.
    pub(crate) fn start_failed(&mut self) -> bool {
        self.crashed();
        self.failed_starts = self.failed_starts.saturating_add(1);
        self.failed_starts >= MAX_FAILED_STARTS
    }

    /// Notes that a start has succeeded.
    pub(crate) fn started(&mut self) {
        self.failed_starts = 0;
    }

    /// Returns how long the next start has to wait from now on.
    pub(crate) fn delay(&self) -> Duration {
        let now = Instant::now();
        let count = self.recent.iter().filter(|crash| now.duration_since(**crash) < CRASH_WINDOW).count();
        let (Some(last), Some(doublings)) = (self.recent.back(), count.checked_sub(2)) else { return Duration::ZERO };
        let doublings = u32::try_from(doublings).unwrap_or(u32::MAX);
        let wait = FIRST_RESTART_DELAY.saturating_mul(2_u32.saturating_pow(doublings)).min(MAX_RESTART_DELAY);
        (*last + wait).saturating_duration_since(now)
    }

    /// Returns whether nothing of it counts any more.
    pub(crate) fn is_over(&self) -> bool {
        self.recent.back().is_none_or(|last| last.elapsed() >= CRASH_WINDOW)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_wait_doubles_up_to_a_limit_and_is_forgotten() {
        let mut backoff = Backoff::default();
        assert_eq!(backoff.delay(), Duration::ZERO);
        for milliseconds in [0, 250, 500, 1000, 2000, 4000, 5000, 5000] {
            backoff.crashed();
            assert_eq!(backoff.delay(), Duration::from_millis(milliseconds));
        }
        tokio::time::advance(Duration::from_secs(3)).await;
        assert_eq!(backoff.delay(), Duration::from_secs(2));
        for _ in 0..1000 {
            backoff.crashed();
        }
        assert_eq!((backoff.recent.len(), backoff.delay()), (MAX_REMEMBERED, MAX_RESTART_DELAY));
        tokio::time::advance(CRASH_WINDOW).await;
        assert!(backoff.is_over());
        backoff.crashed();
        assert_eq!(backoff.delay(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn starts_that_fail_one_after_the_other_are_counted() {
        let mut backoff = Backoff::default();
        for _ in 0..10 {
            for _ in 1..MAX_FAILED_STARTS {
                assert!(!backoff.start_failed());
            }
            backoff.started();
            // Crashes are no failed starts.
            backoff.crashed();
        }
        for _ in 1..MAX_FAILED_STARTS {
            assert!(!backoff.start_failed());
        }
        assert!(backoff.start_failed());
    }
}
