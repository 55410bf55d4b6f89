//! The queue of messages for one peer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::Parts;
use crate::budget::permits;
use crate::command;
use crate::error::SendError;
use crate::limits::{Limits, PART_BYTES, QUEUED_MESSAGES};

/// An entry of the queue.
#[derive(Debug)]
pub(crate) enum Outgoing {
    /// A message, with its share of the queue until it is written.
    Message(Arc<Parts>, OwnedSemaphorePermit),
    /// PONG with this context.
    Pong(Bytes),
}

/// The end of a queue where messages go in.
#[derive(Debug)]
pub(crate) struct Outbox {
    queue: mpsc::Sender<Outgoing>,
    room: Arc<Semaphore>,
    total: u32,
    timeout: Duration,
    /// Whether PONG is queued. One is enough: a peer that asks faster than it reads gets fewer answers.
    has_pong: AtomicBool,
    /// Cancelled to end the connection of a peer that does not read.
    too_slow: CancellationToken,
}

impl Outbox {
    /// Makes a queue with both its ends.
    pub(crate) fn new(limits: &Limits) -> (Self, mpsc::Receiver<Outgoing>) {
        let (queue, outgoing) = mpsc::channel(QUEUED_MESSAGES);
        let total = permits(limits.queue_bytes.max(1));
        let outbox = Self {
            queue,
            room: Arc::new(Semaphore::new(total as usize)),
            total,
            timeout: limits.write_timeout,
            has_pong: AtomicBool::new(false),
            too_slow: CancellationToken::new(),
        };
        (outbox, outgoing)
    }

    /// Queues a message when there is room at once, and returns whether it did.
    pub(crate) fn try_send(&self, parts: &Arc<Parts>) -> bool {
        let Ok(share) = Arc::clone(&self.room).try_acquire_many_owned(self.cost(parts)) else { return false };
        self.queue.try_send(Outgoing::Message(Arc::clone(parts), share)).is_ok()
    }

    /// Queues a message. Waits for room, and ends the connection when there is none in time.
    pub(crate) async fn send(&self, parts: Arc<Parts>) -> Result<(), SendError> {
        self.send_until(parts, self.deadline()).await
    }

    /// Returns when a message that is sent now must have found room.
    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.timeout
    }

    /// Queues a message. Waits for room until `deadline`.
    pub(crate) async fn send_until(&self, parts: Arc<Parts>, deadline: Instant) -> Result<(), SendError> {
        let queued = async {
            let share = Arc::clone(&self.room).acquire_many_owned(self.cost(&parts)).await.ok()?;
            self.queue.send(Outgoing::Message(parts, share)).await.ok()
        };
        match timeout_at(deadline, queued).await {
            Ok(Some(())) => Ok(()),
            Ok(None) => Err(SendError::Disconnected),
            Err(_) => {
                self.too_slow.cancel();
                Err(SendError::TimedOut)
            }
        }
    }

    /// Queues PONG, unless one is queued.
    pub(crate) fn pong(&self, context: Bytes) {
        if !self.has_pong.swap(true, Ordering::Relaxed) && self.queue.try_send(Outgoing::Pong(context)).is_err() {
            self.has_pong.store(false, Ordering::Relaxed);
        }
    }

    /// Returns the frame of a PONG that is written now.
    pub(crate) fn take_pong(&self, context: &[u8]) -> Bytes {
        self.has_pong.store(false, Ordering::Relaxed);
        command::pong(context)
    }

    /// Waits until the queue is written. Returns whether that was before `deadline`.
    pub(crate) async fn flush(&self, deadline: Instant) -> bool {
        matches!(timeout_at(deadline, self.room.acquire_many(self.total)).await, Ok(Ok(_)))
    }

    /// Waits until a message found no room in time.
    pub(crate) async fn too_slow(&self) {
        self.too_slow.cancelled().await;
    }

    /// Makes all calls that wait for room return.
    pub(crate) fn close(&self) {
        self.room.close();
    }

    fn cost(&self, parts: &Parts) -> u32 {
        let bytes = parts.iter().fold(PART_BYTES, |sum, part| sum.saturating_add(part.len() + PART_BYTES));
        permits(bytes).min(self.total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(length: usize) -> Arc<Parts> {
        Arc::new(vec![vec![0; length].into()])
    }

    #[tokio::test(start_paused = true)]
    async fn a_queue_has_room_again_when_its_messages_are_written() {
        let (outbox, mut outgoing) = Outbox::new(&Limits { queue_bytes: 1000, ..Limits::default() });
        assert!(outbox.try_send(&message(500)));
        assert!(!outbox.try_send(&message(500)));
        assert!(!outbox.flush(Instant::now()).await);
        let written = async {
            tokio::time::sleep(Duration::from_secs(29)).await;
            drop(outgoing.recv().await);
        };
        // Longer than the queue: it waits until the queue is empty.
        let (sent, ()) = tokio::join!(outbox.send(message(5000)), written);
        assert_eq!(sent, Ok(()));
        assert!(!outbox.try_send(&message(1)));
        drop(outgoing.recv().await);
        assert!(outbox.flush(Instant::now() + Duration::from_secs(1)).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_does_not_read_is_given_up() {
        let (outbox, _outgoing) = Outbox::new(&Limits { queue_bytes: 1000, ..Limits::default() });
        outbox.send(message(800)).await.unwrap();
        let began = Instant::now();
        assert_eq!(outbox.send(message(800)).await, Err(SendError::TimedOut));
        assert_eq!(began.elapsed(), Duration::from_secs(30));
        outbox.too_slow().await;
        outbox.close();
        assert_eq!(outbox.send(message(800)).await, Err(SendError::Disconnected));
    }

    #[tokio::test]
    async fn one_pong_is_queued_at_a_time() {
        let (outbox, mut outgoing) = Outbox::new(&Limits::default());
        for _ in 0..1000 {
            outbox.pong(Bytes::from("context"));
        }
        assert!(matches!(outgoing.recv().await, Some(Outgoing::Pong(context)) if context == "context"));
        assert!(outgoing.try_recv().is_err());
        outbox.take_pong(b"context");
        outbox.pong(Bytes::new());
        assert!(outgoing.try_recv().is_ok());
    }
}
