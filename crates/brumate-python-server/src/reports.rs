//! Reports of machines that have ended, for the log and for clients. Their texts are guests', so they are cut and counted.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::machine::MachineEnd;

/// Longest text of a machine at its end, in bytes.
const MAX_END_BYTES: usize = 64 << 10;
/// Longest text of a guest in one report of the log, in bytes.
const MAX_REPORT_BYTES: usize = 4 << 10;
/// Bytes of the reports in one [`REPORT_WINDOW`]. Further ones are counted.
const MAX_REPORTS_BYTES: usize = 32 << 10;
/// Time after which reports are written again.
const REPORT_WINDOW: Duration = Duration::from_secs(60);
/// Longest reason that a client is told, in bytes.
const MAX_REASON_BYTES: usize = 512;

/// Line that Python writes above a traceback.
const HEADER: &str = "Traceback (most recent call last):";
/// Line that Python writes above the traceback of a group.
const GROUP_HEADER: &str = "Exception Group Traceback (most recent call last):";

/// Writes reports to the log, up to a limit over all machines of a server.
#[derive(Debug, Default)]
pub(crate) struct ReportLog(Mutex<Option<ReportWindow>>);

/// The reports of one window.
#[derive(Debug)]
struct ReportWindow {
    begun: Instant,
    bytes: usize,
    left_out: usize,
}

impl ReportLog {
    /// Writes what happened, and the text of the guest that belongs to it.
    pub(crate) fn error(&self, what: &str, text: &str) {
        let report = report(what, text);
        let (admitted, left_out) = self.admit(report.len());
        if left_out > 0 {
            tracing::warn!("{left_out} reports of the server's ends were left out of the log");
        }
        if admitted {
            tracing::error!("{report}");
        }
    }

    /// Returns whether a report of this length may be written, and how many were left out in the window before.
    fn admit(&self, length: usize) -> (bool, usize) {
        let mut window = self.0.lock();
        let over = window.as_ref().is_none_or(|window| window.begun.elapsed() >= REPORT_WINDOW);
        let before = if over { window.take() } else { None };
        let left_out = before.map_or(0, |before| before.left_out);
        let window = window.get_or_insert_with(|| ReportWindow { begun: Instant::now(), bytes: 0, left_out: 0 });
        let admitted = window.bytes + length <= MAX_REPORTS_BYTES;
        if admitted {
            window.bytes += length;
        } else {
            window.left_out += 1;
        }
        (admitted, left_out)
    }
}

/// Returns the report: what happened, the exception, and the end of a text of several lines.
fn report(what: &str, text: &str) -> String {
    let text = text.trim_end();
    let reason = exception_of(text);
    // `what` may contain the reason already.
    let first = match what.contains(reason.trim_end_matches('.')) {
        true => what.to_owned(),
        false => format!("{what}: {reason}"),
    };
    if text.contains('\n') { format!("{first}\n{}", elide_middle(text, MAX_REPORT_BYTES)) } else { first }
}

impl MachineEnd {
    /// Makes an end. The middle of a long text is left out.
    pub fn new(status: u8, text: &str) -> Self {
        Self { status, text: elide_middle(text, MAX_END_BYTES) }
    }

    /// Returns the reason in one line: the innermost exception of a traceback, or the exit status.
    pub(crate) fn reason(&self) -> String {
        let reason = exception_of(&self.text);
        let reason = reason.trim_end_matches('.');
        if reason.is_empty() { format!("exit status {}", self.status) } else { reason.to_owned() }
    }
}

/// Returns the beginning and the end of a text that is longer than `limit` bytes, with a note of how much is missing between. The exception
/// of a traceback stands at the end, or before a long message.
pub(crate) fn elide_middle(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let (end, begin) = (text.floor_char_boundary(limit / 2), text.ceil_char_boundary(text.len() - limit / 2));
    format!("{}\n[{} bytes left out]\n{}", &text[..end], begin - end, &text[begin..])
}

/// Returns the exception of a traceback in one line, without boxes around it. Of several tracebacks, as groups and chains of exceptions
/// have them, it is that of the last one. Without a traceback it is the last line that says something.
fn exception_of(text: &str) -> String {
    let mut found = None;
    // The column at which the last header begins, until its exception has come.
    let mut column = None;
    // Whether a part of a group begins here. A part that was never raised has no traceback.
    let mut begins_part = false;
    for line in text.lines() {
        let is_part = std::mem::replace(&mut begins_part, begins_part_of_group(line));
        if let Some(at) = line.find(GROUP_HEADER).or_else(|| line.find(HEADER)).filter(|at| is_frame(&line[..*at])) {
            column = Some(at);
        } else if let Some(at) = column
            && let Some((before, after)) = line.split_at_checked(at)
            && is_frame(before)
            && after.starts_with(|first: char| !first.is_whitespace())
        {
            found = Some(after);
            column = None;
        } else if is_part {
            found = Some(line.trim_start_matches(is_of_frame));
        }
    }
    let last = || text.lines().rev().map(without_frame).find(|line| line.chars().any(char::is_alphabetic));
    let line = found.or_else(last).unwrap_or_default();
    let line: String = line.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
    let line = line.trim();
    match line.len() <= MAX_REASON_BYTES {
        true => line.to_owned(),
        false => format!("{}…", &line[..line.floor_char_boundary(MAX_REASON_BYTES)]),
    }
}

/// Returns whether a line is the head of a part of an exception group, such as `+---------------- 1 ----------------`.
fn begins_part_of_group(line: &str) -> bool {
    let line = line.trim();
    line.starts_with('+')
        && line.ends_with("----------------")
        && line.contains(|char: char| char.is_ascii_digit())
        && line.chars().all(|char| is_of_frame(char) || char.is_ascii_digit())
}

/// Returns whether a text is the left side of a box: blanks and lines.
fn is_frame(text: &str) -> bool {
    text.chars().all(is_of_frame)
}

/// Returns a line without the sides of boxes around it.
fn without_frame(line: &str) -> &str {
    line.trim_matches(is_of_frame)
}

fn is_of_frame(char: char) -> bool {
    char.is_whitespace() || matches!(char, '|' | '+' | '-' | '\u{2500}'..='\u{257f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_exception_is_the_reason() {
        let plain = "Traceback (most recent call last):\n  File \"s.py\", line 1, in <module>\n    x: int = f()\n             ^^^\nValueError: bad.\n";
        let several = "Traceback (most recent call last):\n  File \"s.py\", line 1\npydantic.ValidationError: 1 error for A\nb\n  Input should be\n    For further information visit https://errors.example\n";
        let chain = "Traceback (most recent call last):\n  File \"a\"\nKeyError: 1\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"b\"\nRuntimeError: 2\n";
        let group = "  + Exception Group Traceback (most recent call last):\n  |   File \"s.py\", line 1\n  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)\n  +-+---------------- 1 ----------------\n    | Traceback (most recent call last):\n    |   File \"s.py\", line 2\n    |     y: str\n    | LookupError: inner\n    +------------------------------------\n";
        let never_raised = "  + Exception Group Traceback (most recent call last):\n  |   File \"s.py\", line 1\n  | ExceptionGroup: all (1 sub-exception)\n  +-+---------------- 1 ----------------\n    | LookupError: inner\n    +------------------------------------\n";
        let rich = "╭──── Traceback (most recent call last) ────╮\n│ s.py:3 in <module>                        │\n╰───────────────────────────────────────────╯\nValueError: bad\n";
        let nested = "╭─ Sub-exception #1 ─╮\n│ ╭─ Traceback ─╮ │\n│ ╰─────────────╯ │\n│ ValueError: deep   │\n╰────────────────────╯\n";
        for (text, reason) in [
            (plain, "ValueError: bad"),
            (several, "pydantic.ValidationError: 1 error for A"),
            (chain, "RuntimeError: 2"),
            (group, "LookupError: inner"),
            (never_raised, "LookupError: inner"),
            (rich, "ValueError: bad"),
            (nested, "ValueError: deep"),
            ("it runs once", "it runs once"),
            ("a\x1b]0;b\x07", "a ]0;b"),
            ("", "exit status 3"),
            ("+----\n", "exit status 3"),
        ] {
            assert_eq!(MachineEnd { status: 3, text: text.to_owned() }.reason(), reason, "{text}");
        }
        let long = MachineEnd { status: 1, text: "é".repeat(1 << 20) }.reason();
        assert!(long.len() <= MAX_REASON_BYTES + 4, "{}", long.len());
    }

    #[tokio::test(start_paused = true)]
    async fn reports_are_cut_and_counted() {
        let long = format!("{}\nthe end", "é\n".repeat(1 << 16));
        let text = report("it ended", &long);
        assert!(text.starts_with("it ended: the end\né\n") && text.ends_with("\nthe end"), "{}", &text[..60]);
        assert!(text.contains(" bytes left out]\n") && text.len() < MAX_REPORT_BYTES + 100);
        let message = format!("Traceback (most recent call last):\n  File \"a\"\nKeyError: {}", "x\n".repeat(1 << 16));
        let end = MachineEnd::new(1, &message);
        assert!(end.text.len() < MAX_END_BYTES + 100);
        assert_eq!(end.reason(), "KeyError: x");
        assert_eq!(report("it ended", ""), "it ended");
        assert_eq!(report("it ended: why. It goes on", "why."), "it ended: why. It goes on");
        let log = ReportLog::default();
        let admitted = (0..1000).filter(|_| log.admit(MAX_REPORT_BYTES).0).count();
        assert_eq!(admitted, MAX_REPORTS_BYTES / MAX_REPORT_BYTES);
        tokio::time::advance(REPORT_WINDOW).await;
        assert_eq!(log.admit(1), (true, 1000 - admitted));
        assert_eq!(log.admit(1), (true, 0));
    }
}
