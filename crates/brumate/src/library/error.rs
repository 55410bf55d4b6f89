//! Why a call of the library failed.

use std::path::PathBuf;

use brumate_session::RunError;
use brumate_session::sessions::{DataDirError, SessionError};

/// Why a call failed. Code that raises is no error: see [`RunResult`](crate::RunResult).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// `init` was not called.
    #[error(
        "this program cannot start the sandbox's processes: call `brumate::init()` first in `main`, or name an installed `brumate` with `Builder::program`"
    )]
    NotInitialized,
    /// There is no home directory.
    #[error("there is no directory for the {0}: set HOME, or name one with `Builder::{1}`")]
    NoDirectory(&'static str, &'static str),
    /// A setting is wrong.
    #[error("{0}")]
    Settings(String),
    /// Too much is under way; try again later.
    #[error("{0}")]
    Busy(String),
    /// The call was cancelled.
    #[error("the call was cancelled")]
    Cancelled,
    /// The sandbox cannot run code.
    #[error("{0}")]
    Sandbox(String),
    /// There is no such session, or it has expired.
    #[error("{0}")]
    SessionNotFound(String),
    /// The session's state is gone.
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
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A variable cannot be passed in.
    #[error("the variable `{name}` cannot be passed in: {source}")]
    Global {
        /// Its name.
        name: String,
        /// Why.
        source: serde_json::Error,
    },
    /// The value is of another type, or there is none.
    #[error("the value cannot be read: {0}")]
    Value(String),
    /// The code failed; only [`RunResult::ok`](crate::RunResult::ok) makes an error of that.
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
