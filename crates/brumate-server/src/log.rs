//! Output as MCP log messages, for clients that ask for them.
//!
//! Logging is deprecated since protocol 2026-07-28, but older clients know nothing else.
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

/// Messages that may wait for a slow client; later lines join the last one.
const MAX_WAITING: usize = 256;
/// Longest line that is waited for; longer ones come in pieces.
const MAX_LINE_BYTES: usize = 64 << 10;

/// Severities, lowest first (the order of RFC 5424 turned round).
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

/// The lowest level that a client wants to see. Nothing that is sent is an emergency, so the default is silence.
#[derive(Debug)]
pub(crate) struct Threshold(AtomicU8);

impl Default for Threshold {
    fn default() -> Self {
        Self(AtomicU8::new(severity(LoggingLevel::Emergency)))
    }
}

impl Threshold {
    pub(crate) fn set(&self, level: LoggingLevel) {
        self.0.store(severity(level), Ordering::Relaxed);
    }

    pub(crate) fn level(&self) -> LoggingLevel {
        LEVELS.get(usize::from(self.0.load(Ordering::Relaxed))).copied().unwrap_or(LoggingLevel::Emergency)
    }
}

/// The log of one call: takes events without waiting, sends them from [`LogPump::run`].
pub(crate) struct LogPump {
    peer: Peer<RoleServer>,
    /// The request, on whose stream the messages belong where each has its own.
    request: RequestId,
    /// `None`: this client must not be sent log messages.
    threshold: Option<LoggingLevel>,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<(LoggingLevel, String)>,
    stdout: String,
    stderr: String,
    closed: bool,
}

impl LogPump {
    pub(crate) fn new(peer: Peer<RoleServer>, request: RequestId, threshold: Option<LoggingLevel>) -> Self {
        Self { peer, request, threshold, state: Mutex::default(), changed: Notify::new() }
    }

    fn wants(&self, level: LoggingLevel) -> bool {
        self.threshold.is_some_and(|threshold| severity(level) >= severity(threshold))
    }

    /// Takes note of an event.
    pub(crate) fn push(&self, event: &RunEvent) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            RunEvent::Loading { wheels } if self.wants(LoggingLevel::Debug) => {
                state.add(LoggingLevel::Debug, format!("Loading {}", wheels.join(", ")));
            }
            RunEvent::Loaded { wheels } if self.wants(LoggingLevel::Debug) => {
                state.add(LoggingLevel::Debug, format!("Loaded {}", wheels.join(", ")));
            }
            RunEvent::Packages(event) if self.wants(LoggingLevel::Debug) && !event.is_passing() => {
                state.add(LoggingLevel::Debug, event.to_string());
            }
            RunEvent::Output { name, text } if self.wants(level_of(*name)) => state.write(*name, text),
            _ => return,
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Lets [`LogPump::run`] end when everything is sent, the last unfinished lines included.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for name in [StreamName::Stdout, StreamName::Stderr] {
            let rest = std::mem::take(state.line(name));
            if !rest.is_empty() {
                state.add(level_of(name), rest);
            }
        }
        state.closed = true;
        drop(state);
        self.changed.notify_one();
    }

    /// Sends until the log is closed and empty, or the client is gone.
    pub(crate) async fn run(&self) {
        loop {
            let (next, closed) = {
                let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                (state.waiting.pop_front(), state.closed)
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

impl State {
    fn line(&mut self, name: StreamName) -> &mut String {
        match name {
            StreamName::Stdout => &mut self.stdout,
            StreamName::Stderr => &mut self.stderr,
        }
    }

    /// One message per line, as soon as the line is complete.
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
        let mut state = State::default();
        state.write(StreamName::Stdout, "a\n\nb");
        state.write(StreamName::Stderr, "e\n");
        state.write(StreamName::Stdout, "c\n");
        let messages: Vec<_> = state.waiting.iter().map(|(level, text)| (*level, text.as_str())).collect();
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
        let mut state = State::default();
        state.write(StreamName::Stdout, &"x\n".repeat(MAX_WAITING + 2));
        state.write(StreamName::Stderr, "y\n");
        assert_eq!(state.waiting.len(), MAX_WAITING);
        assert_eq!(state.waiting.back(), Some(&(LoggingLevel::Warning, "x\nx\nx\ny".to_owned())));
    }

    #[test]
    fn a_line_without_an_end_comes_in_pieces() {
        let mut state = State::default();
        for _ in 0..3 {
            state.write(StreamName::Stdout, &"x".repeat(MAX_LINE_BYTES / 2));
        }
        assert_eq!(state.waiting.len(), 1);
        assert_eq!(state.stdout.len(), MAX_LINE_BYTES / 2);
    }
}
