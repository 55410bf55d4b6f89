//! Writes the output of a server to standard error, up to a limit.

use std::io::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use brumate_session::RunEvent;
use tokio::sync::mpsc;

use crate::commands::run_events::for_each_output;

/// Bytes of the log that are written in one [`LOG_WINDOW`]. Further ones are counted.
const MAX_LOG_BYTES: usize = 1 << 20;
/// Time after which the server may write again.
const LOG_WINDOW: Duration = Duration::from_secs(60);

/// Writes the log of a server, over all its machines.
#[derive(Debug, Default)]
pub(super) struct ServerLog {
    window: Mutex<Option<LogWindow>>,
}

/// The bytes of one window.
#[derive(Debug, Clone, Copy)]
struct LogWindow {
    begun: Instant,
    written: usize,
    left_out: usize,
}

impl LogWindow {
    fn new(begun: Instant) -> Self {
        Self { begun, written: 0, left_out: 0 }
    }

    /// Returns how much of `text` may be written.
    fn admit(&mut self, text: &str) -> usize {
        let room = MAX_LOG_BYTES.saturating_sub(self.written).min(text.len());
        let admitted = text.floor_char_boundary(room);
        self.written += admitted;
        self.left_out += text.len() - admitted;
        admitted
    }
}

impl ServerLog {
    /// Writes what a machine prints until it has ended. Standard output belongs to the protocol, so all goes to standard error.
    pub(super) fn write(&self, events: mpsc::Receiver<RunEvent>) {
        for_each_output(events, |_, text| self.print(text));
    }

    fn print(&self, text: &str) {
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let current = window.get_or_insert_with(|| LogWindow::new(now));
        let mut error = std::io::stderr().lock();
        if now.duration_since(current.begun) >= LOG_WINDOW {
            let left_out = current.left_out;
            *current = LogWindow::new(now);
            if left_out > 0 {
                let _ = writeln!(error, "brumate: {left_out} bytes of the server's log were left out");
            }
        }
        let is_first = current.left_out == 0;
        let admitted = current.admit(text);
        // Nobody may read it.
        let _ = error.write_all(&text.as_bytes()[..admitted]);
        if is_first && current.left_out > 0 {
            let _ = writeln!(
                error,
                "\nbrumate: the server has logged {MAX_LOG_BYTES} bytes within a minute; the rest is left out"
            );
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
        assert_eq!(window.admit(&text), text.len());
        assert_eq!(window.admit("aéé"), 1);
        assert_eq!((window.written, window.left_out), (MAX_LOG_BYTES - 1, 4));
        assert_eq!(window.admit("b"), 1);
        assert_eq!(window.admit("b"), 0);
    }
}
