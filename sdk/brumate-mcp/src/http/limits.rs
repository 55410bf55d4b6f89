//! Limits of sessions over HTTP.

use std::time::Duration;

/// Number of sessions of one principal; clients without a principal count as one. Once a principal has this many, each
/// new session ends the session that has been idle longest. That session must have been idle for at least
/// [`IDLE_SESSION_KEPT_FOR`].
pub(crate) const MAX_IDLE_SESSIONS: usize = 512;

/// Minimum idle time of a session that a new session may end (see [`MAX_IDLE_SESSIONS`]).
pub(crate) const IDLE_SESSION_KEPT_FOR: Duration = Duration::from_secs(60);

/// Limits of the sessions of one endpoint.
#[derive(Clone, Debug)]
pub(crate) struct SessionLimits {
    pub(crate) sessions: usize,
    pub(crate) sessions_per_principal: usize,
    /// Number of sessions of one principal. Once a principal has this many, each new session ends the session that has
    /// been idle longest.
    pub(crate) idle_sessions: usize,
    /// Minimum idle time of a session that a new session may end.
    pub(crate) kept_for: Duration,
    pub(crate) idle: Duration,
    pub(crate) retry: Duration,
    pub(crate) resumption: ResumptionLimits,
}

/// Limits of the messages that a session keeps in memory. A client that reconnects with `Last-Event-ID` gets them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ResumptionLimits {
    /// The most messages of one stream; 256 by default.
    pub max_events: usize,
    /// The most bytes of one stream, and of all ended streams together; 4 MiB by default.
    pub max_bytes: usize,
    /// The most ended streams; 32 by default.
    pub max_streams: usize,
    /// How long an ended stream is kept; 5 minutes by default.
    pub retention: Duration,
}

impl Default for ResumptionLimits {
    fn default() -> Self {
        Self { max_events: 256, max_bytes: 4 * 1024 * 1024, max_streams: 32, retention: Duration::from_secs(5 * 60) }
    }
}
