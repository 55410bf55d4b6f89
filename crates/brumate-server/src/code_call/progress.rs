//! Output of running code as progress notifications, for clients that sent a progress token.

use std::future::pending;
use std::time::Duration;

use brumate_engine_api::Preparing;
use brumate_mcp::Context;
use brumate_session::RunEvent;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};

use super::wait_until;

/// Shortest time between two notifications. Output is collected meanwhile.
const INTERVAL: Duration = Duration::from_millis(100);
/// Longest time between two notifications, for clients whose timeouts start again with each one.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// Largest message of one notification, in bytes.
const MAX_MESSAGE_BYTES: usize = 16 << 10;

/// Sends the progress notifications of one call. [`ProgressSender::push`] never waits; [`ProgressSender::run`] sends.
///
/// The waiting text is bounded: events never hold more than the output limit of the run.
pub(super) struct ProgressSender<'a> {
    context: &'a Context,
    /// The preparation for which runs wait at present, such as compilation.
    preparing: Option<watch::Receiver<Option<Preparing>>>,
    queue: Mutex<ProgressQueue>,
    /// Notified when text was added, and at the end.
    changed: Notify,
    /// Notified to end the pause between two notifications early.
    hurry: Notify,
    /// Notified when no text waits to be sent.
    drained: Notify,
}

/// Text that waits to be sent.
#[derive(Default)]
struct ProgressQueue {
    waiting: String,
    /// Whether the code has written something. Then it no longer waits for preparation.
    has_output: bool,
    /// Whether a notification is being sent.
    is_sending: bool,
    is_closed: bool,
}

impl ProgressQueue {
    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && !self.is_sending
    }
}

impl<'a> ProgressSender<'a> {
    /// Makes the sender of a call. `preparing` receives the preparation for which runs wait. The preparation is
    /// reported until the code writes its first output.
    pub(super) fn new(context: &'a Context, preparing: Option<watch::Receiver<Option<Preparing>>>) -> Self {
        let (changed, hurry, drained) = Default::default();
        Self { context, preparing, queue: Mutex::default(), changed, hurry, drained }
    }

    /// Adds an event.
    pub(super) fn push(&self, event: &RunEvent) {
        if !self.context.wants_progress() {
            return;
        }
        let mut queue = self.queue.lock();
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
    pub(super) fn close(&self) {
        self.queue.lock().is_closed = true;
        self.changed.notify_one();
        self.hurry.notify_one();
    }

    /// Waits until all text so far is sent.
    pub(super) async fn flush(&self) {
        self.hurry.notify_one();
        wait_until(&self.drained, || self.queue.lock().is_idle()).await;
    }

    /// Sends notifications until the sender is closed and nothing waits.
    pub(super) async fn run(&self) {
        let mut preparing = self.preparing.clone();
        // The client does not know yet of a preparation that has already started, so it is reported too.
        preparing.iter_mut().for_each(watch::Receiver::mark_changed);
        loop {
            let (mut message, has_output, is_closed) = {
                let mut queue = self.queue.lock();
                let message = take_front(&mut queue.waiting, MAX_MESSAGE_BYTES);
                queue.is_sending = !message.is_empty();
                (message, queue.has_output, queue.is_closed)
            };
            if has_output {
                preparing = None;
            }
            if message.is_empty() {
                self.drained.notify_waiters();
                if is_closed {
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
            self.context.notify_progress((!message.is_empty()).then_some(message)).await;
            self.queue.lock().is_sending = false;
            if !is_closed {
                // The pause ends with the run, so that the result is not delayed.
                let _ = timeout(INTERVAL, self.hurry.notified()).await;
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

/// Removes at most `limit` bytes from the front of `text` and returns them. Characters stay whole.
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
