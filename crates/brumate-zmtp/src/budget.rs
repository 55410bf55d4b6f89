//! Room for the large messages of all peers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::error::ConnectionError;
use crate::limits::Limits;

/// Returns bytes as permits of a semaphore.
pub(crate) fn permits(bytes: usize) -> u32 {
    u32::try_from(bytes.min(Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX)
}

/// Bytes that messages which have arrived may hold until they are taken.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    room: Arc<Semaphore>,
    total: u32,
    /// Number of complete messages that hold a share of the room. The user of the socket will take them.
    complete: Arc<AtomicUsize>,
    timeout: Duration,
}

impl Budget {
    pub(crate) fn new(limits: &Limits) -> Self {
        let total = permits(limits.received_bytes);
        Self {
            room: Arc::new(Semaphore::new(total as usize)),
            total,
            complete: Arc::default(),
            timeout: limits.write_timeout,
        }
    }

    /// Makes a share larger, up to `bytes`. Waits for room.
    ///
    /// # Errors
    ///
    /// [`ConnectionError::TimedOut`], when messages that are not complete hold all room, so that one of them must end.
    pub(crate) async fn grow(&self, share: &mut Share, bytes: usize) -> Result<(), ConnectionError> {
        let held = share.permit.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let wanted = permits(bytes).min(self.total).saturating_sub(permits(held));
        if wanted == 0 {
            return Ok(());
        }
        loop {
            match timeout(self.timeout, Arc::clone(&self.room).acquire_many_owned(wanted)).await {
                Ok(Ok(permit)) => {
                    match &mut share.permit {
                        Some(held) => held.merge(permit),
                        None => share.permit = Some(permit),
                    }
                    return Ok(());
                }
                // The room is never closed.
                Ok(Err(_)) => return Err(ConnectionError::Closed),
                Err(_) if self.complete.load(Ordering::Relaxed) > 0 => {}
                Err(_) => return Err(ConnectionError::TimedOut("get room for its message")),
            }
        }
    }

    /// Notes that the message of this share is complete.
    pub(crate) fn complete(&self, share: &mut Share) {
        if share.permit.is_some() {
            self.complete.fetch_add(1, Ordering::Relaxed);
            share.complete = Some(Arc::clone(&self.complete));
        }
    }
}

/// Part of the room that one message holds. Empty for a small message.
#[derive(Debug, Default)]
pub(crate) struct Share {
    permit: Option<OwnedSemaphorePermit>,
    complete: Option<Arc<AtomicUsize>>,
}

impl Drop for Share {
    fn drop(&mut self) {
        if let Some(complete) = &self.complete {
            complete.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn messages_that_never_end_are_refused_and_complete_ones_are_waited_for() {
        let budget = Budget::new(&Limits { received_bytes: 1000, ..Limits::default() });
        let (mut first, mut second) = (Share::default(), Share::default());
        budget.grow(&mut first, 600).await.unwrap();
        budget.grow(&mut first, 700).await.unwrap();
        budget.grow(&mut second, 300).await.unwrap();
        assert!(matches!(budget.grow(&mut second, 301).await, Err(ConnectionError::TimedOut(_))));

        budget.complete(&mut first);
        let taken = async {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            drop(first);
        };
        let (grown, ()) = tokio::join!(budget.grow(&mut second, 301), taken);
        grown.unwrap();
        // More than the whole room is the whole room.
        budget.grow(&mut second, usize::MAX).await.unwrap();
        assert_eq!(budget.room.available_permits(), 0);
        drop(second);
        assert_eq!(budget.room.available_permits(), 1000);
    }
}
