//! Output of running code as MCP log messages, for clients that ask for them.
//!
//! Logging is deprecated since protocol 2026-07-28. Older clients have nothing else.
#![expect(deprecated, reason = "kept for clients of older protocols")]

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

use brumate_engine_api::StreamName;
use brumate_session::RunEvent;
use rmcp::RoleServer;
use rmcp::model::{
    LoggingLevel, LoggingMessageNotification, LoggingMessageNotificationParam, RequestId, ServerNotification,
};
use rmcp::service::{OriginatingRequestId, Peer};
use tokio::sync::Notify;

/// Most messages that wait for a slow client. Later lines are appended to the last message.
const MAX_WAITING: usize = 256;
/// Longest line of one message, in bytes. Longer lines are split.
const MAX_LINE_BYTES: usize = 64 << 10;

/// Levels, lowest severity first (RFC 5424 numbers them the other way).
const LEVELS: [LoggingLevel; 8] = [
    LoggingLevel::Debug,
    LoggingLevel::Info,
    LoggingLevel::Notice,
    LoggingLevel::Warning,
    LoggingLevel::Error,
    LoggingLevel::Critical,
    LoggingLevel::Alert,
    LoggingLevel::Emergency,
];

fn severity(level: LoggingLevel) -> u8 {
    // Every level is in the table.
    LEVELS.iter().position(|known| *known == level).map_or(u8::MAX, |index| index as u8)
}

/// The lowest level that a client receives. Default: emergency, which no message has.
#[derive(Debug)]
pub(crate) struct LogThreshold(AtomicU8);

impl Default for LogThreshold {
    fn default() -> Self {
        Self(AtomicU8::new(severity(LoggingLevel::Emergency)))
    }
}

impl LogThreshold {
    pub(crate) fn set(&self, level: LoggingLevel) {
        self.0.store(severity(level), Ordering::Relaxed);
    }

    pub(crate) fn level(&self) -> LoggingLevel {
        LEVELS.get(usize::from(self.0.load(Ordering::Relaxed))).copied().unwrap_or(LoggingLevel::Emergency)
    }
}

/// Sends the log messages of one call. [`LogSender::push`] never waits; [`LogSender::run`] sends.
pub(crate) struct LogSender {
    peer: Peer<RoleServer>,
    /// The request that the messages belong to: over HTTP they go to its stream.
    request: RequestId,
    /// The lowest level to send. `None`: no messages.
    threshold: Option<LoggingLevel>,
    queue: Mutex<LogQueue>,
    changed: Notify,
}

/// Messages that wait, and unfinished lines.
#[derive(Default)]
struct LogQueue {
    waiting: VecDeque<(LoggingLevel, String)>,
    stdout: String,
    stderr: String,
    closed: bool,
}

impl LogSender {
    pub(crate) fn new(peer: Peer<RoleServer>, request: RequestId, threshold: Option<LoggingLevel>) -> Self {
        Self { peer, request, threshold, queue: Mutex::default(), changed: Notify::new() }
    }

    fn wants(&self, level: LoggingLevel) -> bool {
        self.threshold.is_some_and(|threshold| severity(level) >= severity(threshold))
    }

    /// Adds an event.
    pub(crate) fn push(&self, event: &RunEvent) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            RunEvent::Loading { wheels } if self.wants(LoggingLevel::Debug) => {
                queue.add(LoggingLevel::Debug, format!("Loading {}", wheels.join(", ")));
            }
            RunEvent::Loaded { wheels } if self.wants(LoggingLevel::Debug) => {
                queue.add(LoggingLevel::Debug, format!("Loaded {}", wheels.join(", ")));
            }
            RunEvent::Packages(event) if self.wants(LoggingLevel::Debug) && !event.is_passing() => {
                queue.add(LoggingLevel::Debug, event.to_string());
            }
            RunEvent::Output { name, text } if self.wants(level_of(*name)) => queue.write(*name, text),
            _ => return,
        }
        drop(queue);
        self.changed.notify_one();
    }

    /// Says that no more events follow. Unfinished lines become messages.
    pub(crate) fn close(&self) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        for name in [StreamName::Stdout, StreamName::Stderr] {
            let rest = std::mem::take(queue.line(name));
            if !rest.is_empty() {
                queue.add(level_of(name), rest);
            }
        }
        queue.closed = true;
        drop(queue);
        self.changed.notify_one();
    }

    /// Sends messages until the sender is closed and the queue is empty, or the client is gone.
    pub(crate) async fn run(&self) {
        loop {
            let (next, closed) = {
                let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
                (queue.waiting.pop_front(), queue.closed)
            };
            match next {
                Some((level, text)) => {
                    let message = LoggingMessageNotificationParam::new(level, text.into());
                    let mut notification = LoggingMessageNotification::new(message);
                    notification.extensions.insert(OriginatingRequestId(self.request.clone()));
                    let notification = ServerNotification::LoggingMessageNotification(notification);
                    if self.peer.send_notification(notification).await.is_err() {
                        return;
                    }
                }
                None if closed => return,
                None => self.changed.notified().await,
            }
        }
    }
}

impl LogQueue {
    fn line(&mut self, name: StreamName) -> &mut String {
        match name {
            StreamName::Stdout => &mut self.stdout,
            StreamName::Stderr => &mut self.stderr,
        }
    }

    /// Adds text. Each complete line becomes a message.
    fn write(&mut self, name: StreamName, text: &str) {
        for piece in text.split_inclusive('\n') {
            let line = self.line(name);
            line.push_str(piece.strip_suffix('\n').unwrap_or(piece));
            if piece.ends_with('\n') || line.len() >= MAX_LINE_BYTES {
                let line = std::mem::take(line);
                self.add(level_of(name), line);
            }
        }
    }

    fn add(&mut self, level: LoggingLevel, text: String) {
        let full = self.waiting.len() >= MAX_WAITING;
        match self.waiting.back_mut() {
            Some((last, joined)) if full => {
                if severity(level) > severity(*last) {
                    *last = level;
                }
                joined.push('\n');
                joined.push_str(&text);
            }
            _ => self.waiting.push_back((level, text)),
        }
    }
}

fn level_of(name: StreamName) -> LoggingLevel {
    match name {
        StreamName::Stdout => LoggingLevel::Info,
        StreamName::Stderr => LoggingLevel::Warning,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_messages_and_unfinished_ones_wait() {
        let mut queue = LogQueue::default();
        queue.write(StreamName::Stdout, "a\n\nb");
        queue.write(StreamName::Stderr, "e\n");
        queue.write(StreamName::Stdout, "c\n");
        let messages: Vec<_> = queue.waiting.iter().map(|(level, text)| (*level, text.as_str())).collect();
        assert_eq!(
            messages,
            [
                (LoggingLevel::Info, "a"),
                (LoggingLevel::Info, ""),
                (LoggingLevel::Warning, "e"),
                (LoggingLevel::Info, "bc")
            ]
        );
    }

    #[test]
    fn a_slow_client_gets_fewer_and_larger_messages() {
        let mut queue = LogQueue::default();
        queue.write(StreamName::Stdout, &"x\n".repeat(MAX_WAITING + 2));
        queue.write(StreamName::Stderr, "y\n");
        assert_eq!(queue.waiting.len(), MAX_WAITING);
        assert_eq!(queue.waiting.back(), Some(&(LoggingLevel::Warning, "x\nx\nx\ny".to_owned())));
    }

    #[test]
    fn a_line_without_an_end_comes_in_pieces() {
        let mut queue = LogQueue::default();
        for _ in 0..3 {
            queue.write(StreamName::Stdout, &"x".repeat(MAX_LINE_BYTES / 2));
        }
        assert_eq!(queue.waiting.len(), 1);
        assert_eq!(queue.stdout.len(), MAX_LINE_BYTES / 2);
    }
}
