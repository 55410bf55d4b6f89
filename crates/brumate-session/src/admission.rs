//! How many runs may be under way and how many may wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Calls that may wait, per run that may be under way. A longer queue would only hide that the host is too small:
/// at the default time limit the last one in it would wait for minutes.
const WAITING_PER_RUN: usize = 4;

/// The gate before the machines.
#[derive(Debug)]
pub(crate) struct Admission {
    runs: Arc<Semaphore>,
    max_running: usize,
    waiting: AtomicUsize,
}

/// All places are taken, those in the queue as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Busy {
    pub(crate) running: usize,
    pub(crate) waiting: usize,
}

impl Admission {
    pub(crate) fn new(max_running: usize) -> Self {
        let max_running = max_running.clamp(1, Semaphore::MAX_PERMITS);
        Self { runs: Arc::new(Semaphore::new(max_running)), max_running, waiting: AtomicUsize::new(0) }
    }

    /// Waits for a place; first come, first served. The place is free again when the permit is dropped.
    pub(crate) async fn enter(&self) -> Result<OwnedSemaphorePermit, Busy> {
        if let Ok(permit) = Arc::clone(&self.runs).try_acquire_owned() {
            return Ok(permit);
        }
        let _place = self.wait_in_line()?;
        // The semaphore is never closed; were it, nobody could run.
        Arc::clone(&self.runs)
            .acquire_owned()
            .await
            .map_err(|_| Busy { running: self.max_running, waiting: self.waiting.load(Ordering::Relaxed) })
    }

    fn wait_in_line(&self) -> Result<Place<'_>, Busy> {
        let limit = self.max_running.saturating_mul(WAITING_PER_RUN);
        let place = Place(&self.waiting);
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        // The place is given back when it is dropped, also here.
        if before >= limit { Err(Busy { running: self.max_running, waiting: limit }) } else { Ok(place) }
    }
}

/// A place in the queue.
struct Place<'a>(&'a AtomicUsize);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn runs_wait_then_are_refused() {
        let gate = Arc::new(Admission::new(1));
        let running = gate.enter().await.unwrap();
        let mut queue: Vec<_> = (0..WAITING_PER_RUN)
            .map(|_| {
                let gate = Arc::clone(&gate);
                tokio::spawn(async move { gate.enter().await.map(drop) })
            })
            .collect();
        while gate.waiting.load(Ordering::Relaxed) < WAITING_PER_RUN {
            tokio::task::yield_now().await;
        }
        assert_eq!(gate.enter().await.unwrap_err(), Busy { running: 1, waiting: WAITING_PER_RUN });

        // One that gives up makes room for another.
        let gone = queue.pop().unwrap();
        gone.abort();
        assert!(gone.await.unwrap_err().is_cancelled());
        assert_eq!(gate.waiting.load(Ordering::Relaxed), WAITING_PER_RUN - 1);

        drop(running);
        for waiting in queue {
            waiting.await.unwrap().unwrap();
        }
        assert_eq!(gate.waiting.load(Ordering::Relaxed), 0);
        assert!(gate.enter().await.is_ok());
    }
}
