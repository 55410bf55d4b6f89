//! What became of a cell.

use brumate_engine_api::{Ended, Event, ExitReason, Limits, MimeBundle, Outcome, ReturnValue, StopReason, StreamName};

use super::error::SessionError;
use super::figures::{Figures, figure_of, text_of};
use super::id::SessionId;
use super::settings::MAX_FILES_ELSEWHERE;
use crate::explain;
use crate::installs::MissingModules;
use crate::new_files::NewFiles;
use crate::report::{OutputChunk, RunReport, Status, prefix, stop_reason};
use crate::units::format_size;

/// A file of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFile {
    /// Relative to the working directory.
    pub name: String,
    /// Type of its content.
    pub mime: String,
    /// Bytes.
    pub size: u64,
}

/// A picture to be shown with the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellImage {
    /// The file that it is kept in.
    pub name: String,
    /// Its type.
    pub mime: String,
    /// The picture.
    pub bytes: Vec<u8>,
}

/// The whole text of a cell whose answer holds only a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WholeText {
    /// It is short enough to be in the answer.
    InAnswer,
    /// It is a file of this name.
    Kept(String),
    /// It could not be kept, for this reason.
    NotKept(String),
}

/// What became of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CellReport {
    /// The session that it ran in.
    pub id: SessionId,
    /// The session was made by this call.
    pub created: bool,
    /// It ran to its end.
    pub success: bool,
    /// What it wrote and displayed, in order; neighbours are of different streams.
    pub output: Vec<String>,
    /// Bytes of output that were cut at the limit.
    pub output_dropped: u64,
    /// Text of the last expression's value, as IPython shows it.
    pub result: Option<String>,
    /// The same value as JSON, if it has one.
    pub value: Option<ReturnValue>,
    /// `Name: message` of the exception, or what ended the cell.
    pub error: Option<String>,
    /// Lines of the traceback.
    pub traceback: Vec<String>,
    /// Files that it made or wrote to.
    pub files: Vec<SessionFile>,
    /// How many more those are.
    pub files_left_out: usize,
    /// Absolute paths of files that it made or wrote to outside of the working directory, which no list shows.
    pub files_elsewhere: Vec<String>,
    /// How many more those are.
    pub files_elsewhere_left_out: u64,
    /// Some file is new, changed or gone.
    pub files_changed: bool,
    /// Pictures to show.
    pub images: Vec<CellImage>,
    /// Where all of its text is.
    pub whole: WholeText,
    /// Set when a limit or a cancellation ended it.
    pub stopped: Option<StopReason>,
    /// It ended its machine, and the session is as it was before.
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
            whole: WholeText::InAnswer,
            stopped: None,
            rolled_back: false,
        }
    }

    /// Returns the traceback, and what ended the cell where the traceback does not say it; `None` for one that ran to its end.
    pub fn failure(&self) -> Option<String> {
        let error = self.error.as_ref()?;
        let traceback = self.traceback.join("\n");
        // A line of the traceback says the same, unless a limit has its say as well.
        Some(match traceback.is_empty() {
            true => error.clone(),
            false if traceback.ends_with(error) || self.traceback.contains(error) => traceback,
            false => format!("{traceback}\n{error}"),
        })
    }

    /// The same in the words of a run: for callers that know no sessions.
    pub fn into_run_report(self) -> RunReport {
        let mut report = RunReport::install_error(Vec::new(), String::new());
        report.error = self.failure();
        report.status = if self.success { Status::Success } else { Status::RunError };
        let chunk = |text| OutputChunk { name: StreamName::Stdout, text };
        report.output = self.output.into_iter().map(chunk).collect();
        report.output_dropped = self.output_dropped;
        report.stopped = self.stopped;
        report.figures = self.images.into_iter().map(|image| image.bytes).collect();
        let shown = |text: String| ReturnValue { json: serde_json::Value::from(text).to_string(), is_str: true };
        report.return_value = self.value.or_else(|| self.result.map(shown)).filter(|_| report.error.is_none());
        report
    }

    /// Bytes of text that an answer has to hold.
    pub(crate) fn text_bytes(&self) -> usize {
        self.output.iter().map(String::len).sum::<usize>() + self.result.as_ref().map_or(0, String::len)
    }

    /// Notes how the cell ended.
    pub(crate) fn end(&mut self, outcome: Outcome, missing: &MissingModules, limits: &Limits) {
        self.output_dropped = self.output_dropped.saturating_add(outcome.output_dropped);
        self.stopped = outcome.stopped;
        let elsewhere = NewFiles::of(&outcome, MAX_FILES_ELSEWHERE);
        (self.files_elsewhere, self.files_elsewhere_left_out) = (elsewhere.paths, elsewhere.left_out);
        let stop = outcome.stopped.map(|reason| format!("{} {KEPT}", explain::stopped(reason, limits)));
        let (name, message) = match outcome.ended {
            Ended::Returned(value) => {
                self.value = value;
                // It swallowed the interrupt and finished, but it passed a limit, and the caller must learn that.
                if let Some(stop) = stop {
                    self.fail(stop);
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
            // In the traceback, as notes of exceptions are: `error` holds CPython's own words.
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
        self.fail(error);
    }

    /// Notes that the cell took its machine with it; `lost` when the session went along.
    pub(crate) fn die(
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
        let what = explain::died(reason, peak, limits).replace(" Nothing but this run is affected.", "");
        self.fail(if lost {
            format!(
                "SessionLostError: {what} The session is lost; please create a new one and re-execute your setup code."
            )
        } else {
            format!("SessionRolledBackError: {what} The session is as it was before this cell.")
        });
    }

    /// Notes that what the cell did was taken back for `error`; `lost` says why the session went along, if it did.
    pub(crate) fn undo(&mut self, error: &SessionError, lost: Option<&str>) {
        self.rolled_back = lost.is_none();
        self.result = None;
        self.value = None;
        self.files.clear();
        self.files_left_out = 0;
        self.files_elsewhere.clear();
        self.files_elsewhere_left_out = 0;
        self.files_changed = false;
        if let WholeText::Kept(_) = self.whole {
            self.whole = WholeText::NotKept("the cell was undone".to_owned());
        }
        self.fail(match lost {
            None => {
                format!("{error} The cell was undone: the session is as it was before this cell.", error = ended(error))
            }
            Some(reason) => format!(
                "SessionLostError: {} The session could not be brought back: {reason}; please create a new one and \
                 re-execute your setup code.",
                ended(error)
            ),
        });
    }

    /// Notes that the cell was ended because its principal's access was revoked.
    pub(crate) fn revoke(&mut self) {
        self.rolled_back = true;
        self.fail(format!(
            "{} It was ended; the session is as it was before this cell.",
            ended(&SessionError::Revoked)
        ));
    }

    /// Notes that the cell was ended because its session was emptied or removed.
    pub(crate) fn take_away(&mut self) {
        self.rolled_back = false;
        self.fail(
            "SessionResetError: The session was reset or cleared while this code ran. What it had is gone.".to_owned(),
        );
    }

    fn fail(&mut self, error: String) {
        self.success = false;
        self.error = Some(error);
    }
}

/// An error as a sentence.
fn ended(error: &SessionError) -> String {
    let text = error.to_string();
    if text.ends_with('.') { text } else { format!("{text}.") }
}

/// After a stop that the code reacted to.
const KEPT: &str = "The session keeps what was done until then.";

/// Gathers what a cell shows. Counts for itself: what a machine says about its limits is no proof.
#[derive(Debug)]
pub(crate) struct Gatherer {
    pub(crate) output: Vec<String>,
    /// Stream of the last piece, if another may join it.
    last: Option<StreamName>,
    room: usize,
    pub(crate) dropped: u64,
    pub(crate) result: Option<String>,
    pub(crate) figures: Figures,
    /// Modules that code imported and that could not be installed.
    pub(crate) missing: MissingModules,
}

impl Gatherer {
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

    /// Takes an event; returns what of it an onlooker should see.
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
                // With `ast_node_interactivity` a cell has several: the last one is its result.
                if let Some(earlier) = self.result.take() {
                    self.last = None;
                    self.output.push(format!("{earlier}\n"));
                }
                let text = text_of(&data).cloned();
                self.result = text.map(|text| self.keep(&text).to_owned());
                self.figures.take(&data);
                None
            }
            // The error and the state come with the outcome.
            Event::Error { .. }
            | Event::InputRequest { .. }
            | Event::Install(_)
            | Event::OutputDropped { .. }
            | Event::Status { .. } => None,
        }
    }

    /// The text of a displayed object; nothing for a picture, which is shown itself.
    fn show(&mut self, data: MimeBundle) -> Option<String> {
        if figure_of(&data) && self.figures.take(&data) {
            return None;
        }
        text_of(&data).map(|text| format!("{text}\n"))
    }

    fn keep<'a>(&mut self, text: &'a str) -> &'a str {
        let kept = prefix(text, self.room);
        self.dropped = self.dropped.saturating_add((text.len() - kept.len()) as u64);
        // Once something is cut, nothing that comes later may close the gap.
        self.room = if kept.len() < text.len() { 0 } else { self.room - kept.len() };
        kept
    }
}
