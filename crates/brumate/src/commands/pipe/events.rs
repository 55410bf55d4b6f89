//! The queue of events of one request, which are sent to the package.

use std::collections::VecDeque;

use brumate_engine_api::{FrontendKind, StreamName};
use brumate_notebook::OutputPolicy;
use brumate_session::RunEvent;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;

/// Events that wait to be sent, in order. Waiting texts of one stream are joined, so the output limit of the run bounds the queue.
#[derive(Debug, Default)]
pub(super) struct EventQueue {
    state: Mutex<QueueState>,
    changed: Notify,
}

/// Events that wait.
#[derive(Debug, Default)]
struct QueueState {
    events: VecDeque<QueuedEvent>,
    closed: bool,
}

/// An event that waits.
#[derive(Debug, PartialEq, Eq)]
enum QueuedEvent {
    Text(StreamName, String),
    Packages(Vec<String>),
    /// A message of code to a frontend: kind and content.
    Message(FrontendKind, Value),
}

impl EventQueue {
    /// Adds an event, if the package receives events of its kind.
    pub(super) fn add(&self, event: RunEvent) {
        let mut state = self.state.lock();
        match event {
            RunEvent::Output { name, text } => match state.events.back_mut() {
                Some(QueuedEvent::Text(last, earlier)) if *last == name => earlier.push_str(&text),
                _ => state.events.push_back(QueuedEvent::Text(name, text)),
            },
            RunEvent::Loaded { wheels } => state.events.push_back(QueuedEvent::Packages(wheels)),
            RunEvent::Frontend(message) => {
                let content = serde_json::from_str(&message.content).ok().filter(Value::is_object);
                // One that is no JSON harms nobody but the code.
                let Some(content) = content.and_then(|content| OutputPolicy::Passive.content(message.kind, content))
                else {
                    return;
                };
                state.events.push_back(QueuedEvent::Message(message.kind, content));
            }
            // Figures are sent with the result.
            _ => return,
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Says that no more events follow.
    pub(super) fn close(&self) {
        self.state.lock().closed = true;
        self.changed.notify_one();
    }

    /// Waits for the next event. Returns `None` when the queue is closed and empty.
    pub(super) async fn next(&self) -> Option<Value> {
        loop {
            {
                let mut state = self.state.lock();
                match state.events.pop_front() {
                    Some(event) => return Some(event.into_json()),
                    None if state.closed => return None,
                    None => {}
                }
            }
            self.changed.notified().await;
        }
    }
}

impl QueuedEvent {
    fn into_json(self) -> Value {
        match self {
            QueuedEvent::Text(StreamName::Stdout, text) => json!({"event": "stdout", "text": text}),
            QueuedEvent::Text(StreamName::Stderr, text) => json!({"event": "stderr", "text": text}),
            QueuedEvent::Packages(wheels) => json!({"event": "packages", "wheels": wheels}),
            QueuedEvent::Message(kind, content) => {
                json!({"event": "message", "kind": kind.as_str(), "content": content})
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn texts_of_one_stream_become_one_event() {
        let queue = EventQueue::default();
        for (name, text) in [(StreamName::Stdout, "a"), (StreamName::Stdout, "b"), (StreamName::Stderr, "c")] {
            queue.add(RunEvent::Output { name, text: text.to_owned() });
        }
        queue.add(RunEvent::Loaded { wheels: vec!["rich".to_owned()] });
        queue.close();
        assert_eq!(queue.next().await, Some(json!({"event": "stdout", "text": "ab"})));
        assert_eq!(queue.next().await, Some(json!({"event": "stderr", "text": "c"})));
        assert_eq!(queue.next().await, Some(json!({"event": "packages", "wheels": ["rich"]})));
        assert_eq!(queue.next().await, None);
    }
}
