//! Events of one request on their way to the package.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use brumate_engine_api::StreamName;
use brumate_session::RunEvent;
use serde_json::{Value, json};
use tokio::sync::Notify;

/// Events that wait to be sent, in order. Texts of one stream become one event while they wait, so the queue holds what the output limit
/// of the run admits, and the names of its packages.
#[derive(Debug, Default)]
pub(super) struct EventQueue {
    waiting: Mutex<Waiting>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    events: VecDeque<Waited>,
    closed: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Waited {
    Text(StreamName, String),
    Packages(Vec<String>),
}

impl EventQueue {
    /// Adds what the package hears of an event.
    pub(super) fn add(&self, event: RunEvent) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            RunEvent::Output { name, text } => match waiting.events.back_mut() {
                Some(Waited::Text(last, earlier)) if *last == name => earlier.push_str(&text),
                _ => waiting.events.push_back(Waited::Text(name, text)),
            },
            RunEvent::Loaded { wheels } => waiting.events.push_back(Waited::Packages(wheels)),
            // Figures follow the report.
            _ => return,
        }
        drop(waiting);
        self.changed.notify_one();
    }

    /// Says that no more will be added.
    pub(super) fn close(&self) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.changed.notify_one();
    }

    /// Waits for the next event; `None` when the queue is closed and empty.
    pub(super) async fn next(&self) -> Option<Value> {
        loop {
            {
                let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                match waiting.events.pop_front() {
                    Some(event) => return Some(event.into_json()),
                    None if waiting.closed => return None,
                    None => {}
                }
            }
            self.changed.notified().await;
        }
    }
}

impl Waited {
    fn into_json(self) -> Value {
        match self {
            Waited::Text(StreamName::Stdout, text) => json!({"event": "stdout", "text": text}),
            Waited::Text(StreamName::Stderr, text) => json!({"event": "stderr", "text": text}),
            Waited::Packages(wheels) => json!({"event": "packages", "wheels": wheels}),
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
