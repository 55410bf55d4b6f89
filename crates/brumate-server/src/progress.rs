//! Output of running code as progress notifications, for clients that sent a progress token.

use std::future::pending;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use brumate_engine_api::Preparing;
use brumate_session::RunEvent;
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::Peer;
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};

/// Shortest time between two notifications. Output is collected meanwhile.
const INTERVAL: Duration = Duration::from_millis(100);
/// Longest time between two notifications, for clients whose timeouts start again with each one.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// Largest message of one notification, in bytes.
const MAX_MESSAGE_BYTES: usize = 16 << 10;

/// Sends the progress notifications of one call. [`ProgressSender::push`] never waits; [`ProgressSender::run`] sends.
///
/// The waiting text is bounded: events never hold more than the output limit of the run.
pub(crate) struct ProgressSender {
    peer: Peer<RoleServer>,
    /// The client's progress token. `None`: no notifications.
    token: Option<ProgressToken>,
    /// The preparation that runs wait for, such as compilation.
    preparing: Option<watch::Receiver<Option<Preparing>>>,
    queue: Mutex<ProgressQueue>,
    changed: Notify,
    closed: Notify,
}

/// Text that waits to be sent.
#[derive(Default)]
struct ProgressQueue {
    waiting: String,
    /// Whether the code has written something. Then it no longer waits for preparation.
    has_output: bool,
    closed: bool,
}

impl ProgressSender {
    /// Makes the sender of a call. `preparing` receives the preparation that runs wait for; it is reported until the code writes
    /// something.
    pub(crate) fn new(
        peer: Peer<RoleServer>,
        token: Option<ProgressToken>,
        preparing: Option<watch::Receiver<Option<Preparing>>>,
    ) -> Self {
        Self { peer, token, preparing, queue: Mutex::default(), changed: Notify::new(), closed: Notify::new() }
    }

    /// Adds an event.
    pub(crate) fn push(&self, event: &RunEvent) {
        if self.token.is_none() {
            return;
        }
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            RunEvent::Output { text, .. } => {
                queue.has_output = true;
                queue.waiting.push_str(text);
            }
            RunEvent::Loading { wheels } => {
                queue.waiting.push_str(&format!("Loading {}\n", wheels.join(", ")));
            }
            RunEvent::Packages(event) if !event.is_passing() => {
                queue.waiting.push_str(&format!("{event}\n"));
            }
            _ => return,
        }
        drop(queue);
        self.changed.notify_one();
    }

    /// Says that no more events follow.
    pub(crate) fn close(&self) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.changed.notify_one();
        self.closed.notify_one();
    }

    /// Sends notifications until the sender is closed and nothing waits, or the client is gone.
    pub(crate) async fn run(&self) {
        let Some(token) = &self.token else { return };
        let mut sent = 0_u32;
        let mut preparing = self.preparing.clone();
        // Preparation that has started already is new to this client.
        preparing.iter_mut().for_each(watch::Receiver::mark_changed);
        loop {
            let (mut message, has_output, closed) = {
                let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
                (take_front(&mut queue.waiting, MAX_MESSAGE_BYTES), queue.has_output, queue.closed)
            };
            if has_output {
                preparing = None;
            }
            if message.is_empty() {
                if closed {
                    return;
                }
                // Wait for text, for a preparation, or for the heartbeat.
                tokio::select! {
                    biased;
                    () = self.changed.notified() => continue,
                    text = next_preparation(&mut preparing) => message = text,
                    () = sleep(HEARTBEAT) => {}
                }
            }
            sent = sent.saturating_add(1);
            let mut notification = ProgressNotificationParam::new(token.clone(), sent.into());
            if !message.is_empty() {
                notification = notification.with_message(message);
            }
            if self.peer.notify_progress(notification).await.is_err() {
                return;
            }
            if !closed {
                // The pause ends with the run, so that the result is not delayed.
                let _ = timeout(INTERVAL, self.closed.notified()).await;
            }
        }
    }
}

/// Waits for the next preparation, and returns a line about it.
async fn next_preparation(preparing: &mut Option<watch::Receiver<Option<Preparing>>>) -> String {
    loop {
        let Some(receiver) = preparing else { return pending().await };
        if receiver.changed().await.is_err() {
            *preparing = None;
        } else if let Some(text) = receiver.borrow_and_update().as_ref().map(|preparing| format!("{preparing}\n")) {
            return text;
        }
    }
}

/// Takes at most `limit` bytes from the front of `text`, whole characters only.
fn take_front(text: &mut String, limit: usize) -> String {
    if text.len() <= limit {
        return std::mem::take(text);
    }
    let mut end = limit;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let rest = text.split_off(end);
    std::mem::replace(text, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_taken_in_whole_characters() {
        let mut text = "aéb".to_owned();
        assert_eq!(take_front(&mut text, 2), "a");
        assert_eq!(take_front(&mut text, 2), "é");
        assert_eq!(take_front(&mut text, 2), "b");
        assert_eq!(take_front(&mut text, 2), "");
    }
}
