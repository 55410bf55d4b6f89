//! Results of cells.

use brumate_engine_api::{Ended, ExitReason, Limits, Outcome, StreamName};

use super::error::SessionError;
use super::id::SessionId;
use super::limits::MAX_FILES_ELSEWHERE;
use crate::explain;
use crate::installs::MissingModules;
use crate::new_files::NewFiles;
use crate::report::{OutputChunk, Report, RunStatus, prefix, stop_reason};
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

/// Result of a cell: the report of its code, and what it did to its session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CellReport {
    /// Session that the cell ran in.
    pub id: SessionId,
    /// Whether this call made the session.
    pub created: bool,
    /// Report of the code.
    pub run: Report,
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
    /// Place of the full text.
    pub full_text: FullText,
    /// Whether the session is as it was before the cell: its machine ended, the cell could not be stored, or the principal's
    /// access was revoked.
    pub rolled_back: bool,
}

impl CellReport {
    pub(crate) fn new(id: SessionId) -> Self {
        Self {
            id,
            created: false,
            run: Report::empty(),
            files: Vec::new(),
            files_left_out: 0,
            files_elsewhere: Vec::new(),
            files_elsewhere_left_out: 0,
            files_changed: false,
            full_text: FullText::InAnswer,
            rolled_back: false,
        }
    }

    /// Adds a note behind the output.
    pub(crate) fn add_note(&mut self, note: String) {
        self.run.output.push(OutputChunk { name: StreamName::Stdout, text: note });
    }

    /// Returns the bytes of text that an answer has to hold.
    pub(crate) fn text_bytes(&self) -> usize {
        self.run.output.iter().map(|chunk| chunk.text.len()).sum::<usize>()
            + self.run.result.as_ref().map_or(0, String::len)
    }

    /// Sets the end of the cell from its outcome.
    pub(crate) fn set_outcome(&mut self, outcome: Outcome, missing: &MissingModules, limits: &Limits) {
        self.run.output_dropped = self.run.output_dropped.saturating_add(outcome.output_dropped);
        self.run.stopped = outcome.stopped;
        let elsewhere = NewFiles::of(&outcome, MAX_FILES_ELSEWHERE);
        (self.files_elsewhere, self.files_elsewhere_left_out) = (elsewhere.paths, elsewhere.left_out);
        let stop = outcome.stopped.map(|reason| format!("{} {STATE_IS_KEPT}", explain::stopped(reason, limits)));
        let (name, message) = match outcome.ended {
            Ended::Returned(value) => {
                self.run.value = value;
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
                self.run.traceback = prefix(traceback.trim_end(), room).lines().map(str::to_owned).collect();
                (ename, evalue)
            }
        };
        if let Some(note) = explain::import_note(&name, &message, missing, explain::CodeContext::Cell) {
            // Goes into the traceback, as notes of exceptions do: `error` has CPython's own text.
            self.run.traceback.extend(note.lines().map(str::to_owned));
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
        self.run.output_dropped = self.run.output_dropped.saturating_add(output_dropped);
        self.run.stopped = stop_reason(reason);
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
        self.run.result = None;
        self.run.value = None;
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
        self.run.status = RunStatus::RunError;
        self.run.error = Some(error);
    }
}

/// Formats an error as a sentence.
fn as_sentence(error: &SessionError) -> String {
    let text = error.to_string();
    if text.ends_with('.') { text } else { format!("{text}.") }
}

/// Added to the reason of a stop that the code reacted to.
const STATE_IS_KEPT: &str = "The session keeps what was done until then.";
