//! Errors of sessions. Models read the texts and decide by them what to do next.

use std::time::Duration;

use brumate_engine_api::{EngineError, FileError};
use brumate_setting::Setting;
use thiserror::Error;

use super::id::SessionId;
use crate::allowance::OverLimit;
use crate::explain;
use crate::units::{format_duration, format_size};

/// Error of a call on a session.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The session does not exist, has expired, or belongs to another principal. Callers do not learn which.
    #[error(
        "SessionExpiredError: Session {id} not found or has expired. {} Please create a new session \
         (use session_id=\"\" or session_id=\"0\") and re-execute your setup code.",
        expiry_sentence(*timeout)
    )]
    NotFound {
        /// Id as the caller wrote it, shortened.
        id: String,
        /// Time without use after which sessions expire.
        timeout: Option<Duration>,
    },
    /// The session's state is lost.
    #[error(
        "SessionLostError: Session {id} is lost: {reason}. Please create a new session \
         (use session_id=\"\" or session_id=\"0\") and re-execute your setup code."
    )]
    Lost {
        /// The session.
        id: SessionId,
        /// Reason, for the user.
        reason: String,
    },
    /// The session cannot be resumed. Its file is kept.
    #[error("SessionAsleepError: Session {id} cannot be resumed: {reason}. Other sessions are not affected.")]
    NotResumable {
        /// The session.
        id: SessionId,
        /// Reason, for the user.
        reason: String,
    },
    /// The session was hibernated by another version of Brumate and cannot be resumed by this one. Its files can be
    /// read.
    #[error(
        "SessionAsleepError: Session {id} cannot be resumed: {reason}. Its files are kept and can be read as before; for a new session \
         with these files, and without its variables, call fork_session on it."
    )]
    Outdated {
        /// The session.
        id: SessionId,
        /// The other version, and what is missing.
        reason: String,
    },
    /// Too many calls wait for this session.
    #[error("SessionBusyError: {waiting} calls are waiting for session {id} already; try again later.")]
    Busy {
        /// The session.
        id: SessionId,
        /// Number of waiting calls.
        waiting: usize,
    },
    /// Another server owns the session and does not release it.
    #[error(
        "SessionBusyError: Session {id} is in use by another Brumate{}, and cannot be used here: {reason}. Use it there, or create a \
         new session (use session_id=\"\" or session_id=\"0\").",
        process.map(|pid| format!(" (process {pid})")).unwrap_or_default()
    )]
    OwnedElsewhere {
        /// The session.
        id: SessionId,
        /// Process id of the other server, if known.
        process: Option<u32>,
        /// Reason, for the user.
        reason: String,
    },
    /// All sessions that may be live are running code, and the queue is full.
    #[error(
        "SessionBusyError: {limit} sessions are running code (set by {}); try again later.",
        Setting::MaxLiveSessions
    )]
    TooManyLive {
        /// Most live sessions.
        limit: usize,
    },
    /// All sessions that may be live are, and none of them can be hibernated.
    #[error(
        "SessionLimitError: {limit} sessions are live (set by {}) and cannot be hibernated; clear one \
         that is not needed. The last one says: {reason}",
        Setting::MaxLiveSessions
    )]
    NoneCanHibernate {
        /// Number of live sessions.
        limit: usize,
        /// Why one of them cannot be hibernated.
        reason: String,
    },
    /// Too many runs are under way, and the queue is full.
    #[error(
        "SessionBusyError: {running} runs are under way and {waiting} are waiting (set by {}); try again later.",
        Setting::MaxConcurrent
    )]
    TooManyRuns {
        /// Runs under way.
        running: usize,
        /// Waiting calls.
        waiting: usize,
    },
    /// There are as many sessions as allowed.
    #[error(
        "SessionLimitError: there are {limit} sessions (set by {}); clear one that is not needed.",
        Setting::MaxSessions
    )]
    TooMany {
        /// Most sessions.
        limit: usize,
    },
    /// Sessions use as much disk space as allowed, or would with this change.
    #[error(
        "SessionLimitError: sessions may take {} of the disk (set by {}), and there is not enough left; keep less \
         data, or clear a session that is not needed.",
        format_size(*limit),
        Setting::SessionsDisk
    )]
    DiskFull {
        /// Most bytes on disk.
        limit: u64,
    },
    /// The disk is full, or would be if all sessions were hibernated.
    #[error(
        "SessionLimitError: the disk of this server has {} left, and sessions would need more; keep less data, or clear a session \
         that is not needed.",
        format_size(*free)
    )]
    NoSpace {
        /// Free bytes.
        free: u64,
    },
    /// The session holds something that cannot be written to a file.
    #[error("SessionStorageError: the session cannot be stored: {reason}")]
    NotStorable {
        /// What cannot be written.
        reason: String,
    },
    /// The principal's allowance is used up.
    #[error("{}: {_0}.", _0.kind())]
    OverLimit(OverLimit),
    /// A file name is invalid or leads out of the session's directory.
    #[error("`{name}` is no name of a file in a session: names are relative, with `/` between parts, without `..`")]
    FileName {
        /// Name as the caller wrote it, shortened.
        name: String,
    },
    /// A file of the session cannot be read or written.
    #[error("{name}: {}", explain::file(error))]
    File {
        /// The file's name.
        name: String,
        /// Reason.
        error: FileError,
    },
    /// A file cannot be read from an input directory.
    #[error("from {name}: {}", explain::file(error))]
    Input {
        /// Name as the caller wrote it, shortened.
        name: String,
        /// Reason.
        error: FileError,
    },
    /// The file is larger than what may be read at once.
    #[error("{name} has {}; at most {} are read at once", format_size(*size), format_size(*limit))]
    TooLarge {
        /// The file's name.
        name: String,
        /// Its size in bytes.
        size: u64,
        /// Most bytes.
        limit: u64,
    },
    /// The caller may not read that much now.
    #[error("{0}")]
    Refused(String),
    /// Packages that the session starts with, or has, cannot be installed.
    #[error("PackageError: {0}")]
    Packages(String),
    /// The call was cancelled before it had an effect.
    #[error("the call was cancelled")]
    Cancelled,
    /// The cell was interrupted before it began to run.
    #[error("KeyboardInterrupt: the cell was interrupted before it began to run; the session is as it was before")]
    Interrupted,
    /// The server is shutting down.
    #[error("the server is shutting down")]
    ShuttingDown,
    /// The principal's access was revoked.
    #[error("AccessRevokedError: the access to this server was revoked")]
    Revoked,
    /// The registry or the disk failed.
    #[error("SessionStorageError: the session could not be stored: {0}")]
    Storage(String),
    /// The engine failed.
    #[error("the sandbox failed: {0}")]
    Engine(EngineError),
}

/// Returns the sentence about expiry. For the default of 30 minutes its wording is a contract.
pub(crate) fn expiry_sentence(timeout: Option<Duration>) -> String {
    match timeout {
        Some(timeout) => format!("Sessions expire after {} of inactivity.", duration_in_words(timeout)),
        None => "Sessions do not expire in this server.".to_owned(),
    }
}

/// Formats a duration in words: `30 minutes`, `1 hour`, `90 s`.
pub(crate) fn duration_in_words(duration: Duration) -> String {
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

impl From<getrandom::Error> for SessionError {
    fn from(error: getrandom::Error) -> Self {
        SessionError::Storage(format!("no random numbers: {error}"))
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
            assert_eq!(duration_in_words(Duration::from_secs(seconds)), text);
        }
    }
}
