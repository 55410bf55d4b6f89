//! What became of code.

use brumate_engine_api::{ReturnValue, StopReason, StreamName};
use brumate_session::sessions::{CellReport, SessionFile, mime_of_content};
use brumate_session::{RunReport, RunStatus};
use serde::de::DeserializeOwned;

use super::error::Error;

/// What became of code that ran, or that could not because a package is missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunResult {
    /// The code ran to its end.
    pub success: bool,
    /// The value of its last expression, as JSON; `None` for `None` and for what JSON cannot say.
    pub json: Option<String>,
    /// The same value as text: a string itself, other values as Python or JSON writes them.
    pub text: Option<String>,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
    /// The traceback, or why it could not run; set unless it succeeded.
    pub error: Option<String>,
    /// The limit that ended it, or that it was cancelled.
    pub stopped: Option<Stop>,
    /// Pictures that it showed, in order.
    pub figures: Vec<Figure>,
    /// Packages that were loaded for it, as requirements.
    pub packages: Vec<String>,
    /// Files that it made or changed; in a session only.
    pub files: Vec<File>,
    /// Bytes of output that were cut at the limit.
    pub output_dropped: u64,
    /// It ended its interpreter, and the session is as it was before.
    pub rolled_back: bool,
}

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Figure {
    /// Its type, such as `image/png`.
    pub mime: String,
    /// The file's bytes.
    pub bytes: Vec<u8>,
}

/// A file of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct File {
    /// Its path in the working directory.
    pub name: String,
    /// Type of its content.
    pub mime: String,
    /// Its size in bytes.
    pub size: u64,
}

/// Why code was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// It took longer than `Builder::timeout`.
    TimeLimit,
    /// It took more CPU time than `Builder::cpu_timeout`.
    CpuLimit,
    /// It was cancelled or interrupted.
    Cancelled,
}

impl RunResult {
    /// Returns the value of the last expression. `None` is read as JSON's `null`.
    ///
    /// # Errors
    ///
    /// [`Error::Value`] when it has another type; [`Error::Code`] when the code failed.
    pub fn value<T: DeserializeOwned>(&self) -> Result<T, Error> {
        if let Some(error) = self.error.as_ref().filter(|_| !self.success) {
            return Err(Error::Code(error.clone()));
        }
        serde_json::from_str(self.json.as_deref().unwrap_or("null")).map_err(|error| Error::Value(error.to_string()))
    }

    /// Returns itself if the code succeeded.
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

    pub(super) fn of_run(report: RunReport) -> Self {
        let mut result = RunResult {
            success: report.status == RunStatus::Success,
            text: report.return_value.as_ref().map(ReturnValue::text),
            json: report.return_value.map(|value| value.json),
            error: report.error,
            stopped: report.stopped.map(Stop::from),
            packages: report.dependencies,
            output_dropped: report.output_dropped,
            ..RunResult::default()
        };
        for chunk in report.output {
            result.write(chunk.name, &chunk.text);
        }
        let figure = |bytes: Vec<u8>| Figure { mime: mime_of_content(&bytes).to_owned(), bytes };
        result.figures = report.figures.into_iter().map(figure).collect();
        result
    }

    /// `written` has the output, which the report has not by its streams.
    pub(super) fn of_cell(report: CellReport, written: RunResult) -> Self {
        RunResult {
            success: report.success,
            error: report.failure(),
            text: report.result.or_else(|| report.value.as_ref().map(ReturnValue::text)),
            json: report.value.map(|value| value.json),
            stopped: report.stopped.map(Stop::from),
            figures: report.images.into_iter().map(|image| Figure { mime: image.mime, bytes: image.bytes }).collect(),
            files: report.files.into_iter().map(File::from).collect(),
            output_dropped: report.output_dropped,
            rolled_back: report.rolled_back,
            ..written
        }
    }

    pub(super) fn write(&mut self, stream: StreamName, text: &str) {
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

impl From<StopReason> for Stop {
    fn from(reason: StopReason) -> Self {
        match reason {
            StopReason::WallLimit => Stop::TimeLimit,
            StopReason::CpuLimit => Stop::CpuLimit,
            StopReason::Cancelled => Stop::Cancelled,
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
        let failed = RunResult { error: Some("ZeroDivisionError".to_owned()), ..RunResult::default() };
        assert_eq!(failed.value::<()>().unwrap_err().to_string(), "ZeroDivisionError");
        assert!(matches!(failed.ok(), Err(Error::Code(text)) if text == "ZeroDivisionError"));
    }
}
