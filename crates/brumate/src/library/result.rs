//! The result of a run.

use std::borrow::Cow;

use brumate_engine_api::{self as api, ReturnValue, StreamName};
use brumate_session::sessions::{CellReport, SessionFile};
use brumate_session::{Report, strict_json};
use serde::de::DeserializeOwned;

use super::error::Error;

/// The result of a run. A run that did not start because a package is missing has a result as well.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunResult {
    /// Whether the code ran to its end without an exception.
    pub success: bool,
    /// The value of the last expression as JSON, in which NaN and infinities are written as in Python. `None` for
    /// Python's `None`, and for values that JSON cannot represent.
    pub json: Option<String>,
    /// The same value as text: a string unchanged, other values as Python or JSON writes them.
    pub text: Option<String>,
    /// Text that the code wrote to standard output.
    pub stdout: String,
    /// Text that the code wrote to standard error.
    pub stderr: String,
    /// The traceback, or the reason why the code did not run. `None` if `success`.
    pub error: Option<String>,
    /// The reason why the code was stopped. `None` if it ended by itself.
    pub stopped: Option<StopReason>,
    /// Figures that the code showed, in order.
    pub figures: Vec<Figure>,
    /// Packages that were loaded for the code, as requirements.
    pub packages: Vec<String>,
    /// Files that the code created or changed. Empty outside of sessions.
    pub files: Vec<File>,
    /// Bytes of output beyond the limit, which were dropped.
    pub output_dropped: u64,
    /// Whether the code ended its interpreter. Then the session has the state from before the run.
    pub rolled_back: bool,
}

/// A figure: an image that code showed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Figure {
    /// Media type, such as `image/png`.
    pub mime: String,
    /// Content of the image file.
    pub bytes: Vec<u8>,
}

/// A file of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct File {
    /// Path in the working directory.
    pub name: String,
    /// Media type of the content.
    pub mime: String,
    /// Size in bytes.
    pub size: u64,
}

/// The reason why code was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// The time limit, [`SandboxBuilder::timeout`](crate::SandboxBuilder::timeout).
    TimeLimit,
    /// The CPU time limit, [`SandboxBuilder::cpu_timeout`](crate::SandboxBuilder::cpu_timeout).
    CpuLimit,
    /// The run was cancelled or interrupted.
    Cancelled,
}

impl RunResult {
    /// Returns the value of the last expression. Python's `None` is JSON's `null`, and so are NaN and infinities: read them as `Option<f64>`.
    /// Integers of more than 64 bits are read as `i128`, as `u128`, or as text by `Box<serde_json::value::RawValue>`.
    ///
    /// # Errors
    ///
    /// [`Error::Value`] when the value has another type, or an integer that the type would round; [`Error::Code`] when the code failed.
    pub fn value<T: DeserializeOwned>(&self) -> Result<T, Error> {
        if let Some(error) = self.error.as_ref().filter(|_| !self.success) {
            return Err(Error::Code(error.clone()));
        }
        let json = strict_json(self.json.as_deref().unwrap_or("null"));
        brumate_json::from_str(&json).map_err(|error| Error::Value(error.to_string()))
    }

    /// Returns the result if the code succeeded.
    ///
    /// # Errors
    ///
    /// [`Error::Code`] with the traceback.
    pub fn ok(self) -> Result<Self, Error> {
        match (self.success, &self.error) {
            (true, _) => Ok(self),
            (false, error) => Err(Error::Code(error.clone().unwrap_or_default())),
        }
    }

    /// Makes the result of a run in a fresh interpreter.
    pub(super) fn from_run(mut report: Report) -> Self {
        let mut result = RunResult { packages: std::mem::take(&mut report.dependencies), ..RunResult::default() };
        for chunk in std::mem::take(&mut report.output) {
            result.append_output(chunk.name, &chunk.text);
        }
        result.with_report(report)
    }

    /// Makes the result of a run in a session. `partial` has the output by streams, and the packages.
    pub(super) fn from_cell(report: CellReport, partial: RunResult) -> Self {
        RunResult {
            files: report.files.into_iter().map(File::from).collect(),
            rolled_back: report.rolled_back,
            ..partial.with_report(report.run)
        }
    }

    /// Sets the fields that are the same in a fresh interpreter and in a session.
    fn with_report(self, report: Report) -> Self {
        RunResult {
            success: report.is_success(),
            error: report.failure().map(Cow::into_owned),
            text: report.result.or_else(|| report.value.as_ref().map(ReturnValue::text)),
            json: report.value.map(|value| value.json),
            stopped: report.stopped.map(StopReason::from),
            figures: report.images.into_iter().map(|image| Figure { mime: image.mime, bytes: image.bytes }).collect(),
            output_dropped: report.output_dropped,
            ..self
        }
    }

    /// Appends output.
    pub(super) fn append_output(&mut self, stream: StreamName, text: &str) {
        match stream {
            StreamName::Stdout => self.stdout.push_str(text),
            StreamName::Stderr => self.stderr.push_str(text),
        }
    }
}

impl From<SessionFile> for File {
    fn from(SessionFile { name, mime, size, .. }: SessionFile) -> Self {
        File { name, mime, size }
    }
}

impl From<api::StopReason> for StopReason {
    fn from(reason: api::StopReason) -> Self {
        match reason {
            api::StopReason::TimeLimit => StopReason::TimeLimit,
            api::StopReason::CpuLimit => StopReason::CpuLimit,
            api::StopReason::Cancelled => StopReason::Cancelled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_the_callers_type() {
        let value = |json: &str| RunResult { success: true, json: Some(json.to_owned()), ..RunResult::default() };
        assert_eq!(value("[1, 2]").value::<Vec<u8>>().unwrap(), [1, 2]);
        assert_eq!(RunResult { json: None, ..value("") }.value::<Option<u8>>().unwrap(), None);
        assert!(value("\"a\"").value::<u8>().unwrap_err().to_string().contains("invalid type: string"));
        assert_eq!(value("[18446744073709551619]").value::<(i128,)>().unwrap().0 % 10, 9);
        assert!(
            value("18446744073709551619").value::<serde_json::Value>().unwrap_err().to_string().contains("64 bits")
        );
        assert_eq!(value("[NaN, -Infinity, 0.5]").value::<Vec<Option<f64>>>().unwrap(), [None, None, Some(0.5)]);
        let failed = RunResult { error: Some("ZeroDivisionError".to_owned()), ..RunResult::default() };
        assert_eq!(failed.value::<()>().unwrap_err().to_string(), "ZeroDivisionError");
        assert!(matches!(failed.ok(), Err(Error::Code(text)) if text == "ZeroDivisionError"));
    }
}
