//! Results of runs.

use brumate_engine_api::{Ended, Event, ExitReason, Limits, Outcome, ReturnValue, StopReason, StreamName};
use serde::Serialize;
use serde::de::IgnoredAny;

use crate::explain::{self, CodeContext};
use crate::installs::MissingModules;
use crate::json::strict_json;
use crate::sessions::figures::text_of;

/// Most pictures of one run.
pub const MAX_RUN_FIGURES: usize = 32;
/// Most bytes of all pictures of one run.
pub const MAX_RUN_FIGURE_BYTES: usize = 64 << 20;

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

/// A piece of output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputChunk {
    /// Stream that it was written to.
    pub name: StreamName,
    /// The text.
    pub text: String,
}

/// Result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunReport {
    /// How the run ended.
    pub status: RunStatus,
    /// Requirements that were loaded, as the caller would write them.
    pub dependencies: Vec<String>,
    /// stdout and stderr in the order of writing. Neighbours are of different streams.
    pub output: Vec<OutputChunk>,
    /// Bytes of output beyond the limit, which were dropped.
    pub output_dropped: u64,
    /// Value of the last expression; `None` if it is Python's `None`.
    pub return_value: Option<ReturnValue>,
    /// Error text for the caller; set unless the status is [`RunStatus::Success`].
    pub error: Option<String>,
    /// Limit or cancellation that ended the run.
    pub stopped: Option<StopReason>,
    /// Pictures that the code showed (PNG, JPEG or GIF, not validated), the earliest first: at most
    /// [`MAX_RUN_FIGURES`], with [`MAX_RUN_FIGURE_BYTES`] in total.
    pub figures: Vec<Vec<u8>>,
}

impl RunReport {
    pub(crate) fn install_error(dependencies: Vec<String>, error: String) -> Self {
        Self {
            status: RunStatus::InstallError,
            dependencies,
            output: Vec::new(),
            output_dropped: 0,
            return_value: None,
            error: Some(error),
            stopped: None,
            figures: Vec::new(),
        }
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

/// Collects the output of a run and enforces the limits itself: the guest's own counts are not trusted.
#[derive(Debug)]
pub(crate) struct OutputCollector {
    chunks: Vec<OutputChunk>,
    room: usize,
    dropped: u64,
    figures: Vec<Vec<u8>>,
}

impl OutputCollector {
    pub(crate) fn new(limits: &Limits) -> Self {
        let room = usize::try_from(limits.output_bytes).unwrap_or(usize::MAX);
        Self { chunks: Vec::new(), room, dropped: 0, figures: Vec::new() }
    }

    /// Keeps as much of `text` as fits, and returns that part.
    pub(crate) fn push<'a>(&mut self, name: StreamName, text: &'a str) -> &'a str {
        let kept = prefix(text, self.room);
        self.dropped = self.dropped.saturating_add((text.len() - kept.len()) as u64);
        // After a cut nothing more is kept, so that the output has no gap.
        self.room = if kept.len() < text.len() { 0 } else { self.room - kept.len() };
        match self.chunks.last_mut() {
            _ if kept.is_empty() => {}
            Some(last) if last.name == name => last.text.push_str(kept),
            _ => self.chunks.push(OutputChunk { name, text: kept.to_owned() }),
        }
        kept
    }

    /// Keeps a picture, if it fits.
    pub(crate) fn show(&mut self, bytes: Vec<u8>) {
        let all = self.figures.iter().map(Vec::len).sum::<usize>() + bytes.len();
        if self.figures.len() < MAX_RUN_FIGURES && all <= MAX_RUN_FIGURE_BYTES {
            self.figures.push(bytes);
        }
    }

    /// Makes the report of an execution.
    pub(crate) fn finish(
        self,
        dependencies: Vec<String>,
        end: RunEnd,
        (context, limits): (CodeContext, &Limits),
    ) -> RunReport {
        let mut report = RunReport {
            status: RunStatus::Success,
            dependencies,
            output: self.chunks,
            output_dropped: self.dropped,
            return_value: None,
            error: None,
            stopped: None,
            figures: self.figures,
        };
        match end {
            RunEnd::Completed { outcome, missing } => {
                report.output_dropped = report.output_dropped.saturating_add(outcome.output_dropped);
                report.stopped = outcome.stopped;
                match outcome_value(outcome, &missing, (context, limits)) {
                    Ok(value) => report.return_value = value,
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

/// Returns the longest prefix of at most `limit` bytes that ends at a character boundary.
pub(crate) fn prefix(text: &str, limit: usize) -> &str {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

pub(crate) fn stop_reason(reason: &ExitReason) -> Option<StopReason> {
    match reason {
        ExitReason::TimeLimit => Some(StopReason::TimeLimit),
        ExitReason::CpuLimit => Some(StopReason::CpuLimit),
        ExitReason::Cancelled => Some(StopReason::Cancelled),
        _ => None,
    }
}

/// Returns the output text of an event. A displayed object is shown by its text, as a terminal shows it.
pub(crate) fn output_of(event: Event) -> Option<(StreamName, String)> {
    match event {
        Event::Stream { name, text } => Some((name, text)),
        Event::DisplayData { data } => text_of(&data).map(|text| (StreamName::Stdout, format!("{text}\n"))),
        // The value, the error and the status come with the outcome.
        Event::ExecuteResult { .. }
        | Event::Error { .. }
        | Event::InputRequest { .. }
        | Event::Install(_)
        | Event::OutputDropped { .. }
        | Event::Status { .. } => None,
    }
}
