//! Output of running code as MCP log messages, for clients that ask for them.
//!
//! Logging is deprecated since protocol 2026-07-28. Older clients have nothing else.

use std::collections::VecDeque;

use brumate_engine_api::StreamName;
use brumate_mcp::{Context, LogLevel};
use brumate_session::RunEvent;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::wait_until;

/// Most messages that wait for a slow client. Later lines are appended to the last message.
const MAX_WAITING: usize = 256;
/// Longest line of one message, in bytes. Longer lines are split.
const MAX_LINE_BYTES: usize = 64 << 10;

/// Sends the log messages of one call. [`LogSender::push`] never waits; [`LogSender::run`] sends.
pub(super) struct LogSender<'a> {
    context: &'a Context,
    queue: Mutex<LogQueue>,
    /// Notified when messages were added, and at the end.
    changed: Notify,
    /// Notified when nothing waits any more.
    drained: Notify,
}

/// Messages that wait, and unfinished lines.
#[derive(Default)]
struct LogQueue {
    waiting: VecDeque<(LogLevel, String)>,
    stdout: String,
    stderr: String,
    /// Whether a message is on its way.
    is_sending: bool,
    is_closed: bool,
}

impl<'a> LogSender<'a> {
    pub(super) fn new(context: &'a Context) -> Self {
        Self { context, queue: Mutex::default(), changed: Notify::new(), drained: Notify::new() }
    }

    /// Adds an event.
    pub(super) fn push(&self, event: &RunEvent) {
        let wants = |level| self.context.wants_log(level);
        let mut queue = self.queue.lock();
        match event {
            RunEvent::Loading { wheels } if wants(LogLevel::Debug) => {
                queue.add(LogLevel::Debug, format!("Loading {}", wheels.join(", ")));
            }
            RunEvent::Loaded { wheels } if wants(LogLevel::Debug) => {
                queue.add(LogLevel::Debug, format!("Loaded {}", wheels.join(", ")));
            }
            RunEvent::Packages(event) if wants(LogLevel::Debug) && !event.is_passing() => {
                queue.add(LogLevel::Debug, event.to_string());
            }
            RunEvent::Output { name, text } if wants(level_of(*name)) => queue.write(*name, text),
            _ => return,
        }
        drop(queue);
        self.changed.notify_one();
    }

    /// Says that no more events follow. Unfinished lines become messages.
    pub(super) fn close(&self) {
        let mut queue = self.queue.lock();
        queue.finish_lines();
        queue.is_closed = true;
        drop(queue);
        self.changed.notify_one();
    }

    /// Waits until all messages so far are sent. Unfinished lines become messages.
    pub(super) async fn flush(&self) {
        self.queue.lock().finish_lines();
        self.changed.notify_one();
        wait_until(&self.drained, || self.queue.lock().is_idle()).await;
    }

    /// Sends messages until the sender is closed and the queue is empty.
    pub(super) async fn run(&self) {
        loop {
            let (next, is_closed) = {
                let mut queue = self.queue.lock();
                let next = queue.waiting.pop_front();
                queue.is_sending = next.is_some();
                (next, queue.is_closed)
            };
            match next {
                Some((level, text)) => self.context.log(level, None, text).await,
                None => {
                    self.drained.notify_waiters();
                    if is_closed {
                        return;
                    }
                    self.changed.notified().await;
                }
            }
        }
    }
}

impl LogQueue {
    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && !self.is_sending
    }

    /// Makes messages of unfinished lines.
    fn finish_lines(&mut self) {
        for name in [StreamName::Stdout, StreamName::Stderr] {
            let rest = std::mem::take(self.line(name));
            if !rest.is_empty() {
                self.add(level_of(name), rest);
            }
        }
    }

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

    fn add(&mut self, level: LogLevel, text: String) {
        let full = self.waiting.len() >= MAX_WAITING;
        match self.waiting.back_mut() {
            Some((last, joined)) if full => {
                *last = level.max(*last);
                joined.push('\n');
                joined.push_str(&text);
            }
            _ => self.waiting.push_back((level, text)),
        }
    }
}

fn level_of(name: StreamName) -> LogLevel {
    match name {
        StreamName::Stdout => LogLevel::Info,
        StreamName::Stderr => LogLevel::Warning,
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
            [(LogLevel::Info, "a"), (LogLevel::Info, ""), (LogLevel::Warning, "e"), (LogLevel::Info, "bc")]
        );
    }

    #[test]
    fn a_slow_client_gets_fewer_and_larger_messages() {
        let mut queue = LogQueue::default();
        queue.write(StreamName::Stdout, &"x\n".repeat(MAX_WAITING + 2));
        queue.write(StreamName::Stderr, "y\n");
        assert_eq!(queue.waiting.len(), MAX_WAITING);
        assert_eq!(queue.waiting.back(), Some(&(LogLevel::Warning, "x\nx\nx\ny".to_owned())));
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
