//! Errors of the library.

use std::path::PathBuf;

use brumate_session::RunError;
use brumate_session::sessions::{DataDirError, SessionError};

/// The reason why a call failed. An exception of the code is not an error; see [`RunResult`](crate::RunResult).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// [`init`](crate::init) was not called.
    #[error(
        "this program cannot start the sandbox's processes: call `brumate::init()` first in `main`, or name an installed `brumate` with `SandboxBuilder::program`"
    )]
    NotInitialized,
    /// There is no home directory for the cache or the sessions.
    #[error("there is no directory for the {0}: set HOME, or name one with `SandboxBuilder::{1}`")]
    NoDirectory(&'static str, &'static str),
    /// A setting is wrong.
    #[error("{0}")]
    Settings(String),
    /// Too many sessions are active. Try again later.
    #[error("{0}")]
    Busy(String),
    /// The call was cancelled.
    #[error("the call was cancelled")]
    Cancelled,
    /// The sandbox cannot run code.
    #[error("{0}")]
    Sandbox(String),
    /// The session does not exist, or has expired.
    #[error("{0}")]
    SessionNotFound(String),
    /// The session's state is lost.
    #[error("{0}")]
    SessionLost(String),
    /// The session cannot be used.
    #[error("{0}")]
    Session(String),
    /// A file of a session cannot be read or written.
    #[error("{0}")]
    SessionFile(String),
    /// A file of the host cannot be read or written.
    #[error("{}: {source}", path.display())]
    HostFile {
        /// The file's path.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A variable cannot be converted to JSON.
    #[error("the variable `{name}` cannot be converted to JSON: {source}")]
    Global {
        /// The variable's name.
        name: String,
        /// The reason.
        source: serde_json::Error,
    },
    /// The value has another type, or there is none.
    #[error("the value cannot be read: {0}")]
    Value(String),
    /// The code failed. Only [`RunResult::ok`](crate::RunResult::ok) and [`RunResult::value`](crate::RunResult::value) return this error.
    #[error("{0}")]
    Code(String),
}

impl From<RunError> for Error {
    fn from(failure: RunError) -> Self {
        match failure {
            RunError::Busy { .. } | RunError::OverLimit(_) => Error::Busy(failure.to_string()),
            RunError::Cancelled => Error::Cancelled,
            other => Error::Sandbox(other.to_string()),
        }
    }
}

impl From<SessionError> for Error {
    fn from(error: SessionError) -> Self {
        let text = error.to_string();
        match error {
            SessionError::NotFound { .. } => Error::SessionNotFound(text),
            SessionError::Lost { .. } => Error::SessionLost(text),
            SessionError::Busy { .. } | SessionError::TooManyLive { .. } | SessionError::TooManyRuns { .. } => {
                Error::Busy(text)
            }
            SessionError::File { .. } | SessionError::FileName { .. } => Error::SessionFile(text),
            SessionError::Cancelled => Error::Cancelled,
            _ => Error::Session(text),
        }
    }
}

impl From<DataDirError> for Error {
    fn from(error: DataDirError) -> Self {
        Error::Session(error.to_string())
    }
}
