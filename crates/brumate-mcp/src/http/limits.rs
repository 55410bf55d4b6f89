//! Limits of sessions over HTTP.

use std::time::Duration;

/// The most sessions of one principal, or of all clients without one. A new one beyond ends the session that is idle longest, if it is
/// idle for [`IDLE_SESSION_KEPT_FOR`] or more.
pub(crate) const MAX_IDLE_SESSIONS: usize = 512;

/// How long a session is kept though its principal has more than [`MAX_IDLE_SESSIONS`].
pub(crate) const IDLE_SESSION_KEPT_FOR: Duration = Duration::from_secs(60);

/// Limits of the sessions of one endpoint.
#[derive(Clone, Debug)]
pub(crate) struct SessionLimits {
    pub(crate) sessions: usize,
    pub(crate) sessions_per_principal: usize,
    /// The sessions of a principal beyond which a new one ends the one that is idle longest.
    pub(crate) idle_sessions: usize,
    /// How long a session must be idle to end for a new one.
    pub(crate) kept_for: Duration,
    pub(crate) idle: Duration,
    pub(crate) retry: Duration,
    pub(crate) resumption: ResumptionLimits,
}

/// Limits of the messages that a session keeps in memory for clients that reconnect with `Last-Event-ID`.
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
