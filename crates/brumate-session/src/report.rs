//! Output and results of runs: collected while code runs, and reported at its end.

use std::borrow::Cow;

use brumate_engine_api::{Ended, Event, ExitReason, Limits, MimeBundle, Outcome, ReturnValue, StopReason, StreamName};
use serde::Serialize;
use serde::de::IgnoredAny;

use crate::explain::{self, CodeContext};
use crate::installs::MissingModules;
use crate::json::strict_json;
use crate::sessions::figures::{Figures, figure_of, picture_of, text_of};
use crate::sessions::mime_of_content;

/// Most pictures of one run.
pub const MAX_RUN_FIGURES: usize = 32;
/// Most bytes of all pictures of one run.
pub const MAX_RUN_FIGURE_BYTES: usize = 64 << 20;

/// A piece of output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputChunk {
    /// Stream that it was written to.
    pub name: StreamName,
    /// The text.
    pub text: String,
}

/// Collects what code writes and shows, and enforces the limits itself: the guest's own counts are not trusted.
#[derive(Debug)]
pub(crate) struct OutputCollector {
    /// Written and displayed text, in order.
    pub(crate) chunks: Vec<OutputChunk>,
    /// Bytes of text beyond the limit, which were dropped.
    pub(crate) dropped: u64,
    /// Text of the last expression's value, if the machine shows it.
    pub(crate) result: Option<String>,
    pub(crate) pictures: Pictures,
    /// Whether text of the same stream may be joined to the last chunk.
    joins: bool,
    /// Bytes of text that still fit.
    room: usize,
    /// Whether text is only forwarded: frontends have it.
    forwards_only: bool,
}

/// Pictures that code shows.
#[derive(Debug)]
pub(crate) enum Pictures {
    /// Pictures of a run, shown with its answer. Their text is output as well.
    Shown(Vec<Vec<u8>>),
    /// Pictures of a cell, which become files. They replace their text.
    Kept(Figures),
}

impl Pictures {
    /// Returns the pictures of a run.
    pub(crate) fn into_shown(self) -> Vec<Vec<u8>> {
        match self {
            Self::Shown(shown) => shown,
            Self::Kept(_) => Vec::new(),
        }
    }

    /// Returns the pictures of a cell.
    pub(crate) fn into_kept(self) -> Figures {
        match self {
            Self::Shown(_) => Figures::default(),
            Self::Kept(figures) => figures,
        }
    }
}

impl OutputCollector {
    /// Makes the collector of a run.
    pub(crate) fn of_run(limits: &Limits) -> Self {
        Self::new(limits, Pictures::Shown(Vec::new()))
    }

    /// Makes the collector of a cell.
    pub(crate) fn of_cell(limits: &Limits) -> Self {
        Self::new(limits, Pictures::Kept(Figures::default()))
    }

    /// Makes the collector of a frontend's request. It keeps nothing.
    pub(crate) fn of_frontend(limits: &Limits) -> Self {
        Self { forwards_only: true, ..Self::of_cell(limits) }
    }

    fn new(limits: &Limits, pictures: Pictures) -> Self {
        let room = usize::try_from(limits.output_bytes).unwrap_or(usize::MAX);
        Self { chunks: Vec::new(), dropped: 0, result: None, pictures, joins: true, room, forwards_only: false }
    }

    /// Collects an event. Returns the output to forward.
    pub(crate) fn take(&mut self, event: Event) -> Option<OutputChunk> {
        match event {
            Event::DisplayData { data } => {
                let text = self.show(&data)?;
                // A cell's answer lists displayed objects one by one.
                let is_apart = matches!(self.pictures, Pictures::Kept(_));
                self.joins &= !is_apart;
                let kept = self.push(StreamName::Stdout, &text)?;
                self.joins = !is_apart;
                Some(kept)
            }
            Event::ExecuteResult { data } if matches!(self.pictures, Pictures::Kept(_)) => {
                // With `ast_node_interactivity` a cell has several results; the last one counts.
                if let Some(earlier) = self.result.take() {
                    self.joins = false;
                    self.chunks.push(OutputChunk { name: StreamName::Stdout, text: format!("{earlier}\n") });
                }
                self.result = text_of(&data).map(|text| self.keep(text).to_owned());
                if let Pictures::Kept(figures) = &mut self.pictures {
                    figures.keep(&data);
                }
                None
            }
            event => output_of(event).and_then(|OutputChunk { name, text }| {
                let kept = self.push(name, &text)?;
                self.joins = true;
                Some(kept)
            }),
        }
    }

    /// Keeps the picture of a displayed object. Returns its text; `None` if the picture replaces it.
    fn show(&mut self, data: &MimeBundle) -> Option<String> {
        match &mut self.pictures {
            Pictures::Kept(figures) => {
                if figure_of(data) && figures.keep(data) {
                    return None;
                }
            }
            Pictures::Shown(shown) => {
                let picture = picture_of(data).filter(|picture| {
                    let all = shown.iter().map(Vec::len).sum::<usize>() + picture.len();
                    shown.len() < MAX_RUN_FIGURES && all <= MAX_RUN_FIGURE_BYTES
                });
                shown.extend(picture);
            }
        }
        shown_text(data)
    }

    /// Adds as much of a text as fits, and returns that part; `None` if nothing of it fits.
    fn push(&mut self, name: StreamName, text: &str) -> Option<OutputChunk> {
        let kept = self.keep(text).to_owned();
        match self.chunks.last_mut() {
            _ if kept.is_empty() => return None,
            _ if self.forwards_only => {}
            Some(last) if self.joins && last.name == name => last.text.push_str(&kept),
            _ => self.chunks.push(OutputChunk { name, text: kept.clone() }),
        }
        Some(OutputChunk { name, text: kept })
    }

    /// Returns the part of a text that fits. After a cut nothing more fits, so that the output has no gap.
    fn keep<'a>(&mut self, text: &'a str) -> &'a str {
        let kept = prefix(text, self.room);
        self.dropped = self.dropped.saturating_add((text.len() - kept.len()) as u64);
        self.room = if kept.len() < text.len() { 0 } else { self.room - kept.len() };
        kept
    }
}

/// Returns the output of an event. A displayed object is shown by its text, as a terminal shows it.
pub(crate) fn output_of(event: Event) -> Option<OutputChunk> {
    match event {
        Event::Stream { name, text } => Some(OutputChunk { name, text }),
        Event::DisplayData { data } => shown_text(&data).map(|text| OutputChunk { name: StreamName::Stdout, text }),
        // The value comes with the outcome.
        Event::ExecuteResult { .. } | Event::Frontend(_) | Event::Request(_) | Event::OutputDropped { .. } => None,
    }
}

/// Returns the text of a displayed object, as a line.
fn shown_text(data: &MimeBundle) -> Option<String> {
    text_of(data).map(|text| format!("{text}\n"))
}

/// Returns the longest prefix of at most `limit` bytes that ends at a character boundary.
pub(crate) fn prefix(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

/// Status of a run, as the tool's output schema has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunStatus {
    /// The code ran to its end.
    Success,
    /// A needed package cannot be installed. No code ran.
    InstallError,
    /// The code raised, exited with an error, exceeded a limit or crashed.
    RunError,
}

impl RunStatus {
    /// Returns the status as the tool writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            RunStatus::Success => "success",
            RunStatus::InstallError => "install-error",
            RunStatus::RunError => "run-error",
        }
    }
}

/// Result of code, in a fresh interpreter or in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// How the code ended.
    pub status: RunStatus,
    /// Requirements that were loaded, as the caller would write them. Empty for a cell.
    pub dependencies: Vec<String>,
    /// Written and displayed text, in order. Written neighbours are of different streams.
    pub output: Vec<OutputChunk>,
    /// Bytes of output beyond the limit, which were dropped.
    pub output_dropped: u64,
    /// Value of the last expression; `None` if it is Python's `None`.
    pub value: Option<ReturnValue>,
    /// Text of the same value, as IPython shows it; cells have it that run through IPython's shell.
    pub result: Option<String>,
    /// Error text for the caller; set unless the status is [`RunStatus::Success`]. Of an exception in a cell: `Name: message`.
    pub error: Option<String>,
    /// Lines of the traceback of a cell. The error of other code has its traceback.
    pub traceback: Vec<String>,
    /// Limit or cancellation that ended the code.
    pub stopped: Option<StopReason>,
    /// Pictures to show, not validated, the earliest first. A run has at most [`MAX_RUN_FIGURES`](crate::MAX_RUN_FIGURES),
    /// with [`MAX_RUN_FIGURE_BYTES`](crate::MAX_RUN_FIGURE_BYTES) in total.
    pub images: Vec<ShownImage>,
}

/// Picture to show with an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownImage {
    /// Name of the session's file that has the picture; `None` outside of sessions.
    pub name: Option<String>,
    /// MIME type.
    pub mime: String,
    /// Bytes of the picture.
    pub bytes: Vec<u8>,
}

impl ShownImage {
    fn of_run(bytes: Vec<u8>) -> Self {
        Self { name: None, mime: mime_of_content(&bytes).to_owned(), bytes }
    }
}

impl Report {
    /// Makes the report of code that has done nothing yet.
    pub(crate) fn empty() -> Self {
        Self {
            status: RunStatus::Success,
            dependencies: Vec::new(),
            output: Vec::new(),
            output_dropped: 0,
            value: None,
            result: None,
            error: None,
            traceback: Vec::new(),
            stopped: None,
            images: Vec::new(),
        }
    }

    pub(crate) fn install_error(dependencies: Vec<String>, error: String) -> Self {
        Self { status: RunStatus::InstallError, dependencies, error: Some(error), ..Self::empty() }
    }

    /// Returns whether the code ran to its end.
    pub fn is_success(&self) -> bool {
        self.status == RunStatus::Success
    }

    /// Returns the traceback and the reason why the code ended, if the traceback does not have it; `None` for code
    /// that ran to its end.
    pub fn failure(&self) -> Option<Cow<'_, str>> {
        let error = self.error.as_ref()?;
        if self.traceback.is_empty() {
            return Some(Cow::Borrowed(error));
        }
        let traceback = self.traceback.join("\n");
        // The last line of the traceback has the error, unless a limit adds to it.
        Some(Cow::Owned(match traceback.ends_with(error) || self.traceback.contains(error) {
            true => traceback,
            false => format!("{traceback}\n{error}"),
        }))
    }

    /// Returns the value of the last expression, or its text as a string if it has no JSON; `None` after an error.
    pub fn shown_value(&self) -> Option<Cow<'_, ReturnValue>> {
        let shown =
            |text: &String| ReturnValue { json: serde_json::Value::from(text.as_str()).to_string(), is_str: true };
        match (&self.error, &self.value) {
            (Some(_), _) => None,
            (None, Some(value)) => Some(Cow::Borrowed(value)),
            (None, None) => self.result.as_ref().map(shown).map(Cow::Owned),
        }
    }

    /// Makes the report of a run.
    pub(crate) fn of_run(
        collected: OutputCollector,
        dependencies: Vec<String>,
        end: RunEnd,
        (context, limits): (CodeContext, &Limits),
    ) -> Self {
        let mut report = Self {
            dependencies,
            output: collected.chunks,
            output_dropped: collected.dropped,
            images: collected.pictures.into_shown().into_iter().map(ShownImage::of_run).collect(),
            ..Self::empty()
        };
        match end {
            RunEnd::Completed { outcome, missing } => {
                report.output_dropped = report.output_dropped.saturating_add(outcome.output_dropped);
                report.stopped = outcome.stopped;
                match outcome_value(outcome, &missing, (context, limits)) {
                    Ok(value) => report.value = value,
                    Err(error) => report.error = Some(error),
                }
            }
            // `os._exit(0)` skips Python's own exit, but is no failure.
            RunEnd::MachineExited { reason: ExitReason::Exit(0), output_dropped, .. } => {
                report.output_dropped = report.output_dropped.saturating_add(output_dropped)
            }
            RunEnd::MachineExited { reason, output_dropped, peak_memory_bytes } => {
                report.output_dropped = report.output_dropped.saturating_add(output_dropped);
                report.stopped = stop_reason(&reason);
                report.error = Some(explain::machine_exited(&reason, peak_memory_bytes, limits));
            }
        }
        if report.error.is_some() {
            report.status = RunStatus::RunError;
        }
        report
    }

    /// Returns the output as a terminal shows it, with a last line about dropped bytes.
    pub fn output_text(&self, limits: &Limits) -> String {
        let mut text: String = self.output.iter().map(|chunk| chunk.text.as_str()).collect();
        if self.output_dropped > 0 {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&explain::output_dropped(self.output_dropped, limits));
        }
        text
    }
}

/// How an execution ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RunEnd {
    /// The machine answered. Imports of the `missing` modules failed.
    Completed { outcome: Outcome, missing: MissingModules },
    /// The machine ended.
    MachineExited { reason: ExitReason, output_dropped: u64, peak_memory_bytes: Option<u64> },
}

/// Returns the value of an outcome, or its error text.
fn outcome_value(
    outcome: Outcome,
    missing: &MissingModules,
    (context, limits): (CodeContext, &Limits),
) -> Result<Option<ReturnValue>, String> {
    let stop = outcome.stopped.map(|reason| explain::stopped(reason, limits));
    match (outcome.ended, stop) {
        (Ended::Returned(value), None) => value.map(|value| check_value(value, limits)).transpose(),
        // The guest swallowed the interrupt and finished. The caller must still learn that a limit was exceeded.
        (Ended::Returned(_) | Ended::Exited { .. }, Some(stop)) => Err(stop),
        (Ended::Raised { traceback, .. }, Some(stop)) => {
            Err(bounded_error(format!("{stop}\n{}", traceback.trim_end()), limits))
        }
        (Ended::Raised { ename, evalue, traceback }, None) => {
            let traceback = bounded_error(traceback.trim_end().to_owned(), limits);
            Err(match explain::script_hint(&ename, &evalue, missing, context, limits) {
                Some(hint) => format!("{traceback}\n{hint}"),
                None => traceback,
            })
        }
        (Ended::Exited { code: 0, .. }, None) => Ok(None),
        (Ended::Exited { code, message }, None) => {
            let message = match message.trim_end() {
                "" => String::new(),
                message => format!("{message}\n"),
            };
            Err(bounded_error(format!("{message}{}", explain::exited(code)), limits))
        }
    }
}

/// Returns the value if it is JSON within the limit; otherwise an abridged text.
fn check_value(value: ReturnValue, limits: &Limits) -> Result<ReturnValue, String> {
    if serde_json::from_str::<IgnoredAny>(&strict_json(&value.json)).is_err() {
        return Err("The code damaged its interpreter: the return value it sent is not JSON.".to_owned());
    }
    let limit = usize::try_from(limits.output_bytes).unwrap_or(usize::MAX);
    if value.json.len() <= limit {
        return Ok(value);
    }
    let text = value.text();
    let kept = prefix(&text, limit);
    let note = explain::output_dropped((text.len() - kept.len()) as u64, limits);
    Ok(ReturnValue { json: serde_json::Value::from(format!("{kept}\n{note}")).to_string(), is_str: true })
}

/// Shortens an error text to at most [`Limits::output_bytes`] by cutting its middle: both ends of a traceback matter.
fn bounded_error(text: String, limits: &Limits) -> String {
    let limit = usize::try_from(limits.output_bytes).unwrap_or(usize::MAX);
    if text.len() <= limit {
        return text;
    }
    let head = prefix(&text, limit / 2);
    let mut tail = text.len() - limit / 2;
    while !text.is_char_boundary(tail) {
        tail += 1;
    }
    let note = explain::output_dropped((tail - head.len()) as u64, limits);
    format!("{head}\n{note}\n{}", &text[tail..])
}

pub(crate) fn stop_reason(reason: &ExitReason) -> Option<StopReason> {
    match reason {
        ExitReason::TimeLimit => Some(StopReason::TimeLimit),
        ExitReason::CpuLimit => Some(StopReason::CpuLimit),
        ExitReason::Cancelled => Some(StopReason::Cancelled),
        _ => None,
    }
}
