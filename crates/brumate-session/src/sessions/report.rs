//! Results of cells.

use brumate_engine_api::{Ended, Event, ExitReason, Limits, MimeBundle, Outcome, ReturnValue, StopReason, StreamName};

use super::error::SessionError;
use super::figures::{Figures, figure_of, text_of};
use super::id::SessionId;
use super::limits::MAX_FILES_ELSEWHERE;
use crate::explain;
use crate::installs::MissingModules;
use crate::new_files::NewFiles;
use crate::report::{OutputChunk, RunReport, RunStatus, prefix, stop_reason};
use crate::units::format_size;

/// A file of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFile {
    /// Path relative to the working directory.
    pub name: String,
    /// MIME type.
    pub mime: String,
    /// Size in bytes.
    pub size: u64,
}

/// Picture to show with the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellImage {
    /// Name of the file that has the picture.
    pub name: String,
    /// MIME type.
    pub mime: String,
    /// Bytes of the picture.
    pub bytes: Vec<u8>,
}

/// Place of the full text of a cell whose answer holds a part of it only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FullText {
    /// The answer holds the full text.
    InAnswer,
    /// The file with this name holds it.
    InFile(String),
    /// It could not be stored, for this reason.
    Unavailable(String),
}

/// Result of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CellReport {
    /// Session that the cell ran in.
    pub id: SessionId,
    /// Whether this call made the session.
    pub created: bool,
    /// Whether the cell ran to its end.
    pub success: bool,
    /// Written and displayed text, in order. Neighbours are of different streams.
    pub output: Vec<String>,
    /// Bytes of output beyond the limit, which were dropped.
    pub output_dropped: u64,
    /// Text of the last expression's value, as IPython shows it.
    pub result: Option<String>,
    /// The same value as JSON, if it has one.
    pub value: Option<ReturnValue>,
    /// `Name: message` of the exception, or the reason why the cell ended.
    pub error: Option<String>,
    /// Lines of the traceback.
    pub traceback: Vec<String>,
    /// Files that the cell made or wrote to.
    pub files: Vec<SessionFile>,
    /// Number of further such files.
    pub files_left_out: usize,
    /// Absolute paths of files that the cell made or wrote to outside of the working directory.
    pub files_elsewhere: Vec<String>,
    /// Number of further such files.
    pub files_elsewhere_left_out: u64,
    /// Whether a file is new, changed or removed.
    pub files_changed: bool,
    /// Pictures to show.
    pub images: Vec<CellImage>,
    /// Place of the full text.
    pub full_text: FullText,
    /// Limit or cancellation that ended the cell.
    pub stopped: Option<StopReason>,
    /// Whether the cell ended its machine, so that the session was rolled back.
    pub rolled_back: bool,
}

impl CellReport {
    pub(crate) fn new(id: SessionId) -> Self {
        Self {
            id,
            created: false,
            success: true,
            output: Vec::new(),
            output_dropped: 0,
            result: None,
            value: None,
            error: None,
            traceback: Vec::new(),
            files: Vec::new(),
            files_left_out: 0,
            files_elsewhere: Vec::new(),
            files_elsewhere_left_out: 0,
            files_changed: false,
            images: Vec::new(),
            full_text: FullText::InAnswer,
            stopped: None,
            rolled_back: false,
        }
    }

    /// Returns the traceback and the reason why the cell ended, if the traceback does not have it; `None` for a cell
    /// that ran to its end.
    pub fn failure(&self) -> Option<String> {
        let error = self.error.as_ref()?;
        let traceback = self.traceback.join("\n");
        // The last line of the traceback has the error, unless a limit adds to it.
        Some(match traceback.is_empty() {
            true => error.clone(),
            false if traceback.ends_with(error) || self.traceback.contains(error) => traceback,
            false => format!("{traceback}\n{error}"),
        })
    }

    /// Converts to the report of a run, for callers without sessions.
    pub fn into_run_report(self) -> RunReport {
        let mut report = RunReport::install_error(Vec::new(), String::new());
        report.error = self.failure();
        report.status = if self.success { RunStatus::Success } else { RunStatus::RunError };
        let chunk = |text| OutputChunk { name: StreamName::Stdout, text };
        report.output = self.output.into_iter().map(chunk).collect();
        report.output_dropped = self.output_dropped;
        report.stopped = self.stopped;
        report.figures = self.images.into_iter().map(|image| image.bytes).collect();
        let shown = |text: String| ReturnValue { json: serde_json::Value::from(text).to_string(), is_str: true };
        report.return_value = self.value.or_else(|| self.result.map(shown)).filter(|_| report.error.is_none());
        report
    }

    /// Returns the bytes of text that an answer has to hold.
    pub(crate) fn text_bytes(&self) -> usize {
        self.output.iter().map(String::len).sum::<usize>() + self.result.as_ref().map_or(0, String::len)
    }

    /// Sets the end of the cell from its outcome.
    pub(crate) fn set_outcome(&mut self, outcome: Outcome, missing: &MissingModules, limits: &Limits) {
        self.output_dropped = self.output_dropped.saturating_add(outcome.output_dropped);
        self.stopped = outcome.stopped;
        let elsewhere = NewFiles::of(&outcome, MAX_FILES_ELSEWHERE);
        (self.files_elsewhere, self.files_elsewhere_left_out) = (elsewhere.paths, elsewhere.left_out);
        let stop = outcome.stopped.map(|reason| format!("{} {STATE_IS_KEPT}", explain::stopped(reason, limits)));
        let (name, message) = match outcome.ended {
            Ended::Returned(value) => {
                self.value = value;
                // The code swallowed the interrupt and finished. The caller must still learn that a limit was
                // exceeded.
                if let Some(stop) = stop {
                    self.set_error(stop);
                }
                return;
            }
            Ended::Exited { code: 0, .. } if stop.is_none() => return,
            Ended::Exited { code, message } => {
                let message = message.trim_end();
                ("SystemExit".to_owned(), if message.is_empty() { code.to_string() } else { message.to_owned() })
            }
            Ended::Raised { ename, evalue, traceback } => {
                let room = usize::try_from(limits.output_bytes).unwrap_or(usize::MAX);
                self.traceback = prefix(traceback.trim_end(), room).lines().map(str::to_owned).collect();
                (ename, evalue)
            }
        };
        if let Some(note) = explain::import_note(&name, &message, missing, explain::CodeContext::Cell) {
            // Goes into the traceback, as notes of exceptions do: `error` has CPython's own text.
            self.traceback.extend(note.lines().map(str::to_owned));
        }
        let hint = match name.as_str() {
            name if explain::is_memory_error(name) => Some(format!(
                "(the session used {} of memory at its peak; {})",
                format_size(outcome.peak_memory_bytes),
                explain::memory(limits)
            )),
            _ => explain::hint(&name, &message, limits),
        };
        let mut error = if message.is_empty() { name } else { format!("{name}: {message}") };
        for more in [stop, hint].into_iter().flatten() {
            error = if error == "KeyboardInterrupt" { format!("{error}: {more}") } else { format!("{error} {more}") };
        }
        self.set_error(error);
    }

    /// Sets that the machine ended; `lost` if the session is lost with it.
    pub(crate) fn set_machine_exit(
        &mut self,
        reason: &ExitReason,
        output_dropped: u64,
        peak: Option<u64>,
        limits: &Limits,
        lost: bool,
    ) {
        self.output_dropped = self.output_dropped.saturating_add(output_dropped);
        self.stopped = stop_reason(reason);
        self.rolled_back = !lost;
        let what = explain::machine_exited(reason, peak, limits).replace(" Nothing but this run is affected.", "");
        self.set_error(if lost {
            format!(
                "SessionLostError: {what} The session is lost; please create a new one and re-execute your setup code."
            )
        } else {
            format!("SessionRolledBackError: {what} The session is as it was before this cell.")
        });
    }

    /// Sets that the cell was rolled back because of `error`; `lost` is the reason if the session is lost.
    pub(crate) fn set_rolled_back(&mut self, error: &SessionError, lost: Option<&str>) {
        self.rolled_back = lost.is_none();
        self.result = None;
        self.value = None;
        self.files.clear();
        self.files_left_out = 0;
        self.files_elsewhere.clear();
        self.files_elsewhere_left_out = 0;
        self.files_changed = false;
        if let FullText::InFile(_) = self.full_text {
            self.full_text = FullText::Unavailable("the cell was undone".to_owned());
        }
        self.set_error(match lost {
            None => {
                format!(
                    "{error} The cell was undone: the session is as it was before this cell.",
                    error = as_sentence(error)
                )
            }
            Some(reason) => format!(
                "SessionLostError: {} The session could not be brought back: {reason}; please create a new one and \
                 re-execute your setup code.",
                as_sentence(error)
            ),
        });
    }

    /// Sets that the cell was ended because its principal's access was revoked.
    pub(crate) fn set_revoked(&mut self) {
        self.rolled_back = true;
        self.set_error(format!(
            "{} It was ended; the session is as it was before this cell.",
            as_sentence(&SessionError::Revoked)
        ));
    }

    /// Sets that the cell was ended because its session was reset or removed.
    pub(crate) fn set_discarded(&mut self) {
        self.rolled_back = false;
        self.set_error(
            "SessionResetError: The session was reset or cleared while this code ran. What it had is gone.".to_owned(),
        );
    }

    fn set_error(&mut self, error: String) {
        self.success = false;
        self.error = Some(error);
    }
}

/// Formats an error as a sentence.
fn as_sentence(error: &SessionError) -> String {
    let text = error.to_string();
    if text.ends_with('.') { text } else { format!("{text}.") }
}

/// Added to the reason of a stop that the code reacted to.
const STATE_IS_KEPT: &str = "The session keeps what was done until then.";

/// Collects what a cell shows and enforces the limits itself: the guest's own counts are not trusted.
#[derive(Debug)]
pub(crate) struct CellOutputCollector {
    pub(crate) output: Vec<String>,
    /// Stream of the last piece of text, if more may be joined to it.
    last: Option<StreamName>,
    room: usize,
    pub(crate) dropped: u64,
    pub(crate) result: Option<String>,
    pub(crate) figures: Figures,
    /// Modules that code imported and that could not be installed.
    pub(crate) missing: MissingModules,
}

impl CellOutputCollector {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            output: Vec::new(),
            last: None,
            room: usize::try_from(limits.output_bytes).unwrap_or(usize::MAX),
            dropped: 0,
            result: None,
            figures: Figures::default(),
            missing: MissingModules::new(),
        }
    }

    /// Collects an event; returns the output to forward.
    pub(crate) fn take(&mut self, event: Event) -> Option<(StreamName, String)> {
        match event {
            Event::Stream { name, text } => {
                let kept = self.keep(&text).to_owned();
                match self.output.last_mut() {
                    _ if kept.is_empty() => return None,
                    Some(last) if self.last == Some(name) => last.push_str(&kept),
                    _ => self.output.push(kept.clone()),
                }
                self.last = Some(name);
                Some((name, kept))
            }
            Event::DisplayData { data } => {
                let shown = self.show(data)?;
                let kept = self.keep(&shown).to_owned();
                if kept.is_empty() {
                    return None;
                }
                self.last = None;
                self.output.push(kept.clone());
                Some((StreamName::Stdout, kept))
            }
            Event::ExecuteResult { data } => {
                // With `ast_node_interactivity` a cell has several results; the last one counts.
                if let Some(earlier) = self.result.take() {
                    self.last = None;
                    self.output.push(format!("{earlier}\n"));
                }
                let text = text_of(&data).cloned();
                self.result = text.map(|text| self.keep(&text).to_owned());
                self.figures.keep(&data);
                None
            }
            // The error and the status come with the outcome.
            Event::Error { .. }
            | Event::InputRequest { .. }
            | Event::Install(_)
            | Event::OutputDropped { .. }
            | Event::Status { .. } => None,
        }
    }

    /// Returns the text of a displayed object; `None` for a picture, which is kept itself.
    fn show(&mut self, data: MimeBundle) -> Option<String> {
        if figure_of(&data) && self.figures.keep(&data) {
            return None;
        }
        text_of(&data).map(|text| format!("{text}\n"))
    }

    fn keep<'a>(&mut self, text: &'a str) -> &'a str {
        let kept = prefix(text, self.room);
        self.dropped = self.dropped.saturating_add((text.len() - kept.len()) as u64);
        // After a cut nothing more is kept, so that the output has no gap.
        self.room = if kept.len() < text.len() { 0 } else { self.room - kept.len() };
        kept
    }
}
