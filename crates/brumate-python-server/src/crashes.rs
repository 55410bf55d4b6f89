//! The crashes of a server: a server that dies again and again is not started once more.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// Crashes within [`CRASH_WINDOW`] that end a server.
pub const MAX_CRASHES: usize = 3;
/// Time in which crashes are counted together.
pub const CRASH_WINDOW: Duration = Duration::from_secs(60);

/// The times of the last crashes.
#[derive(Debug, Default)]
pub(crate) struct Crashes(VecDeque<Instant>);

impl Crashes {
    /// Counts a crash. Returns whether there were too many of them.
    pub(crate) fn record(&mut self) -> bool {
        let now = Instant::now();
        self.0.retain(|crash| now.duration_since(*crash) < CRASH_WINDOW);
        self.0.push_back(now);
        self.0.len() >= MAX_CRASHES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn crashes_of_one_window_are_counted() {
        let mut crashes = Crashes::default();
        for _ in 0..10 {
            assert!(!crashes.record());
            assert!(!crashes.record());
            tokio::time::advance(CRASH_WINDOW).await;
        }
        assert!(!crashes.record());
        tokio::time::advance(CRASH_WINDOW / 2).await;
        assert!(!crashes.record());
        assert!(crashes.record());
    }
}
