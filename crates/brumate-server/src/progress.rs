//! Output as progress notifications, for clients that sent a progress token.

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

/// Output is gathered this long before the next notification: a client's screen need not follow every `print`.
const INTERVAL: Duration = Duration::from_millis(100);
/// A silent run still shows a sign of life this often, for clients whose timeouts start anew with each one.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// Largest message of one notification.
const MAX_MESSAGE_BYTES: usize = 16 << 10;

/// The progress of one call: takes events without waiting, sends them from [`ProgressPump::run`].
///
/// What waits is bounded by the output limit, which events keep.
pub(crate) struct ProgressPump {
    peer: Peer<RoleServer>,
    /// `None`: the client wants no progress.
    token: Option<ProgressToken>,
    /// Receives the work that runs wait for.
    preparing: Option<watch::Receiver<Option<Preparing>>>,
    state: Mutex<State>,
    changed: Notify,
    closed: Notify,
}

#[derive(Default)]
struct State {
    waiting: String,
    /// The code has written something: it waits for nothing any more.
    begun: bool,
    closed: bool,
}

impl ProgressPump {
    /// Makes the pump of a call. `preparing` receives the work that runs wait for; the client hears about it until the code writes
    /// something.
    pub(crate) fn new(
        peer: Peer<RoleServer>,
        token: Option<ProgressToken>,
        preparing: Option<watch::Receiver<Option<Preparing>>>,
    ) -> Self {
        Self { peer, token, preparing, state: Mutex::default(), changed: Notify::new(), closed: Notify::new() }
    }

    /// Takes note of an event.
    pub(crate) fn push(&self, event: &RunEvent) {
        if self.token.is_none() {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            RunEvent::Output { text, .. } => {
                state.begun = true;
                state.waiting.push_str(text);
            }
            RunEvent::Loading { wheels } => {
                state.waiting.push_str(&format!("Loading {}\n", wheels.join(", ")));
            }
            RunEvent::Packages(event) if !event.is_passing() => {
                state.waiting.push_str(&format!("{event}\n"));
            }
            _ => return,
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Lets [`ProgressPump::run`] end when everything is sent.
    pub(crate) fn close(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.changed.notify_one();
        self.closed.notify_one();
    }

    /// Sends until progress is closed and nothing waits, or the client is gone.
    pub(crate) async fn run(&self) {
        let Some(token) = &self.token else { return };
        let mut sent = 0_u32;
        let mut preparing = self.preparing.clone();
        // What is under way already is news to this client.
        preparing.iter_mut().for_each(watch::Receiver::mark_changed);
        loop {
            let (mut message, begun, closed) = {
                let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                (take_front(&mut state.waiting, MAX_MESSAGE_BYTES), state.begun, state.closed)
            };
            if begun {
                preparing = None;
            }
            if message.is_empty() {
                if closed {
                    return;
                }
                // Something new, or nothing for long enough to say so.
                tokio::select! {
                    biased;
                    () = self.changed.notified() => continue,
                    text = prepared(&mut preparing) => message = text,
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
                // Ends early when the run does: nobody should wait for the rest.
                let _ = timeout(INTERVAL, self.closed.notified()).await;
            }
        }
    }
}

/// Waits until something else is prepared, and returns a line about it.
async fn prepared(preparing: &mut Option<watch::Receiver<Option<Preparing>>>) -> String {
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
