//! Writes the output of a server to standard error, up to a limit.

use std::io::Write as _;
use std::time::{Duration, Instant};

use brumate_session::RunEvent;
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::commands::run_events::for_each_output;
use crate::guest_text::{GuestText, note_written, print_line};

/// Bytes of the log that are written in one [`LOG_WINDOW`]. Further ones are counted.
const MAX_LOG_BYTES: usize = 1 << 20;
/// Bytes of the log that one machine may write in one [`LOG_WINDOW`] where sessions have machines of their own.
const MAX_SESSION_LOG_BYTES: usize = 64 << 10;
/// Time after which the server may write again.
const LOG_WINDOW: Duration = Duration::from_secs(60);

/// Writes the log of a server, over all its machines.
#[derive(Debug)]
pub(super) struct ServerLog {
    window: Mutex<Option<LogWindow>>,
    /// Bytes that one machine may write in a window.
    each: usize,
}

/// The bytes of one window.
#[derive(Debug, Clone, Copy)]
struct LogWindow {
    begun: Instant,
    written: usize,
    left_out: usize,
    /// It was said that something is left out.
    noticed: bool,
}

impl LogWindow {
    fn new(begun: Instant) -> Self {
        Self { begun, written: 0, left_out: 0, noticed: false }
    }

    /// Returns how much of `text` may be written if the window may have `limit` bytes.
    fn admit(&mut self, text: &str, limit: usize) -> usize {
        let room = limit.saturating_sub(self.written).min(text.len());
        let admitted = text.floor_char_boundary(room);
        self.written += admitted;
        self.left_out += text.len() - admitted;
        admitted
    }

    /// Begins a new window if this one is over. Returns the bytes that this one has left out.
    fn renew(&mut self, now: Instant) -> usize {
        if now.duration_since(self.begun) < LOG_WINDOW {
            return 0;
        }
        std::mem::replace(self, Self::new(now)).left_out
    }
}

impl ServerLog {
    /// Makes a log; `of_sessions` if sessions have machines of their own.
    pub(super) fn new(of_sessions: bool) -> Self {
        Self { window: Mutex::default(), each: if of_sessions { MAX_SESSION_LOG_BYTES } else { MAX_LOG_BYTES } }
    }

    /// Writes what a machine prints until it has ended. Standard output belongs to the protocol, so all goes to standard error, where no
    /// line can be taken for one of ours.
    pub(super) fn write(&self, events: mpsc::Receiver<RunEvent>) {
        let mut text = GuestText::default();
        let mut own = LogWindow::new(Instant::now());
        for_each_output(events, |_, printed| self.print(&text.next(printed), &mut own));
        self.print(&text.finish(), &mut own);
    }

    fn print(&self, text: &str, own: &mut LogWindow) {
        let mut window = self.window.lock();
        let now = Instant::now();
        let all = window.get_or_insert_with(|| LogWindow::new(now));
        let (left_out, left_out_own) = (all.renew(now), own.renew(now));
        if left_out + left_out_own > 0 {
            print_line(&format!("brumate: {} bytes of the server's log were left out", left_out + left_out_own));
        }
        let (all_complete, own_complete) = (all.left_out == 0, own.left_out == 0);
        let text = &text[..own.admit(text, self.each)];
        let text = &text[..all.admit(text, MAX_LOG_BYTES)];
        // Nobody may read it.
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
        note_written(text);
        // One line for all machines, so that these lines are few as well.
        if all_complete && (all.left_out > 0 || (own_complete && own.left_out > 0 && !all.noticed)) {
            all.noticed = true;
            let limit = if all.left_out > 0 { MAX_LOG_BYTES } else { self.each };
            print_line(&format!("brumate: the server has logged {limit} bytes within a minute; the rest is left out"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_a_limit() {
        let mut window = LogWindow::new(Instant::now());
        let text = "é".repeat(MAX_LOG_BYTES / 2 - 1);
        assert_eq!(window.admit(&text, MAX_LOG_BYTES), text.len());
        assert_eq!(window.admit("aéé", MAX_LOG_BYTES), 1);
        assert_eq!((window.written, window.left_out), (MAX_LOG_BYTES - 1, 4));
        assert_eq!(window.admit("b", MAX_LOG_BYTES), 1);
        assert_eq!(window.admit("b", MAX_LOG_BYTES), 0);
        assert_eq!(window.renew(window.begun), 0);
        assert_eq!(window.renew(window.begun + LOG_WINDOW), 5);
        assert_eq!((window.written, window.left_out), (0, 0));
    }
}
