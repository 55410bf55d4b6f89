//! Why a session cannot be used. The texts are read by models, which decide by them what to do next.

use std::time::Duration;

use brumate_engine_api::{EngineError, FileError};
use thiserror::Error;

use super::id::SessionId;
use crate::allowance::OverLimit;
use crate::explain::{self, MAX_LIVE_SESSIONS, MAX_SESSIONS, SESSIONS_DISK};
use crate::units::{format_duration, format_size};

/// What became of a call on a session.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SessionError {
    /// There is no such session, it has expired, or it is somebody else's: callers learn no more than that.
    #[error(
        "SessionExpiredError: Session {id} not found or has expired. {} Please create a new session \
         (use session_id=\"\" or session_id=\"0\") and re-execute your setup code.",
        expiry(*timeout)
    )]
    NotFound {
        /// As the caller wrote it, shortened when it is long.
        id: String,
        /// After how long without use sessions expire.
        timeout: Option<Duration>,
    },
    /// Its state is gone.
    #[error(
        "SessionLostError: Session {id} is lost: {reason}. Please create a new session \
         (use session_id=\"\" or session_id=\"0\") and re-execute your setup code."
    )]
    Lost {
        /// Which.
        id: SessionId,
        /// Why.
        reason: String,
    },
    /// It is asleep and does not wake; its file is kept.
    #[error("SessionAsleepError: Session {id} cannot be woken: {reason}. Other sessions are not affected.")]
    Unwakeable {
        /// Which.
        id: SessionId,
        /// Why.
        reason: String,
    },
    /// It was put to sleep by another version of Brumate and cannot be woken by this one; its files can be had.
    #[error(
        "SessionAsleepError: Session {id} cannot be woken: {reason}. Its files are kept and can be read as before; for a new session \
         with these files, and without its variables, call fork_session on it."
    )]
    Outdated {
        /// Which.
        id: SessionId,
        /// Who put it to sleep, and what is missing.
        reason: String,
    },
    /// Too many calls wait for this session.
    #[error("SessionBusyError: {waiting} calls are waiting for session {id} already; try again later.")]
    Busy {
        /// Which.
        id: SessionId,
        /// How many.
        waiting: usize,
    },
    /// Another server has it and does not give it up.
    #[error(
        "SessionBusyError: Session {id} is awake in another Brumate{}, and cannot be used here: {reason}. Use it there, or create a \
         new session (use session_id=\"\" or session_id=\"0\").",
        process.map(|pid| format!(" (process {pid})")).unwrap_or_default()
    )]
    Elsewhere {
        /// Which.
        id: SessionId,
        /// The other server's process, if it is known.
        process: Option<u32>,
        /// Why it does not give it up.
        reason: String,
    },
    /// All sessions that may be awake at a time are running code, and as many as may wait do.
    #[error("SessionBusyError: {limit} sessions are running code (set by {MAX_LIVE_SESSIONS}); try again later.")]
    TooManyLive {
        /// How many may be awake.
        limit: usize,
    },
    /// All sessions that may be awake are, and none of them can be put to sleep.
    #[error(
        "SessionLimitError: {limit} sessions are awake (set by {MAX_LIVE_SESSIONS}) and cannot be put to sleep; clear one \
         that is not needed. The last one says: {reason}"
    )]
    NoneSleeps {
        /// How many.
        limit: usize,
        /// Why one of them does not sleep.
        reason: String,
    },
    /// The server runs as much code as it may, and as many calls as may wait do.
    #[error(
        "SessionBusyError: {running} runs are under way and {waiting} are waiting (set by --max-concurrent or BRUMATE_MAX_CONCURRENT); try again later."
    )]
    TooManyRuns {
        /// Under way.
        running: usize,
        /// Waiting.
        waiting: usize,
    },
    /// There are as many sessions as there may be.
    #[error("SessionLimitError: there are {limit} sessions (set by {MAX_SESSIONS}); clear one that is not needed.")]
    TooMany {
        /// How many.
        limit: usize,
    },
    /// Sessions take as much disk space as they may, or would with this one.
    #[error(
        "SessionLimitError: sessions may take {} of the disk (set by {SESSIONS_DISK}), and there is not enough left; keep less \
         data, or clear a session that is not needed.",
        format_size(*limit)
    )]
    DiskFull {
        /// Bytes.
        limit: u64,
    },
    /// The disk is full, or would be if all sessions were put to sleep.
    #[error(
        "SessionLimitError: the disk of this server has {} left, and sessions would need more; keep less data, or clear a session \
         that is not needed.",
        format_size(*free)
    )]
    NoSpace {
        /// Bytes that are left.
        free: u64,
    },
    /// It holds something that cannot be written to a file.
    #[error("SessionStorageError: the session cannot be stored: {reason}")]
    Unkeepable {
        /// What.
        reason: String,
    },
    /// The principal has used what it may.
    #[error("{}: {_0}.", _0.kind())]
    OverLimit(OverLimit),
    /// A file name that leaves the session's directory, or is none.
    #[error("`{name}` is no name of a file in a session: names are relative, with `/` between parts, without `..`")]
    FileName {
        /// As the caller wrote it, shortened when it is long.
        name: String,
    },
    /// A file cannot be read or written.
    #[error("{name}: {}", explain::file(error))]
    File {
        /// Which.
        name: String,
        /// Why.
        error: FileError,
    },
    /// A file cannot be taken from an input directory.
    #[error("from {name}: {}", explain::file(error))]
    Input {
        /// As the caller wrote it, shortened when it is long.
        name: String,
        /// Why.
        error: FileError,
    },
    /// A file that is larger than what is read at once.
    #[error("{name} has {}; at most {} are read at once", format_size(*size), format_size(*limit))]
    TooLarge {
        /// Which.
        name: String,
        /// Its bytes.
        size: u64,
        /// Bytes that are allowed.
        limit: u64,
    },
    /// The caller may not read so much now.
    #[error("{0}")]
    Refused(String),
    /// Packages that a session begins with, or has, cannot be had.
    #[error("PackageError: {0}")]
    Packages(String),
    /// The call was cancelled before it had an effect.
    #[error("the call was cancelled")]
    Cancelled,
    /// The server is ending.
    #[error("the server is shutting down")]
    ShuttingDown,
    /// The principal's access was taken away.
    #[error("AccessRevokedError: the access to this server was revoked")]
    Revoked,
    /// The registry or the disk failed.
    #[error("SessionStorageError: the session could not be stored: {0}")]
    Storage(String),
    /// The engine failed.
    #[error("the sandbox failed: {0}")]
    Engine(EngineError),
}

/// The sentence about expiry: to the letter for the default of 30 minutes.
pub(crate) fn expiry(timeout: Option<Duration>) -> String {
    match timeout {
        Some(timeout) => format!("Sessions expire after {} of inactivity.", spoken(timeout)),
        None => "Sessions do not expire in this server.".to_owned(),
    }
}

/// A duration in words: `30 minutes`, `1 hour`, `90 s`.
pub(crate) fn spoken(duration: Duration) -> String {
    let plural = |number: u64, unit: &str| format!("{number} {unit}{}", if number == 1 { "" } else { "s" });
    match duration.as_secs() {
        seconds if duration.subsec_nanos() == 0 && seconds >= 7200 && seconds.is_multiple_of(3600) => {
            plural(seconds / 3600, "hour")
        }
        seconds if duration.subsec_nanos() == 0 && seconds >= 60 && seconds.is_multiple_of(60) => {
            plural(seconds / 60, "minute")
        }
        _ => format_duration(duration),
    }
}

impl From<EngineError> for SessionError {
    fn from(error: EngineError) -> Self {
        SessionError::Engine(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_about_expired_sessions_is_the_contracts() {
        let error = SessionError::NotFound { id: "X".to_owned(), timeout: Some(Duration::from_secs(1800)) };
        assert_eq!(
            error.to_string(),
            "SessionExpiredError: Session X not found or has expired. Sessions expire after 30 minutes of \
             inactivity. Please create a new session (use session_id=\"\" or session_id=\"0\") and re-execute your \
             setup code."
        );
        let error = SessionError::NotFound { id: "X".to_owned(), timeout: None };
        assert!(error.to_string().contains("Sessions do not expire"), "{error}");
    }

    #[test]
    fn durations_are_spoken() {
        for (seconds, text) in
            [(1800, "30 minutes"), (60, "1 minute"), (3600, "60 minutes"), (7200, "2 hours"), (90, "90 s")]
        {
            assert_eq!(spoken(Duration::from_secs(seconds)), text);
        }
    }
}
