//! Leases: which server owns a session.
//!
//! Servers that share a data directory coordinate by leases. A server needs a session's lease to run or change it, and
//! keeps the lease while the session is live. A server that needs a session of another server asks that server to
//! hibernate it. The end of a server, however it comes, ends its leases.
//!
//! [`Leases`] is the interface that sessions use. [`LocalLeases`] implements it for the servers of one machine. An
//! implementation for several machines would use leases that expire.

mod local;
mod socket;

use std::io;

use futures::future::BoxFuture;

use super::id::SessionId;

pub(crate) use local::LocalLeases;
pub(crate) use socket::flush_all;

/// Right of one server to run and change a session. Dropping it releases the session.
pub(crate) struct Lease(#[expect(dead_code, reason = "dropping it counts")] Box<dyn Send + Sync>);

/// Time at which a server releases a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Urgency {
    /// After the calls that wait already.
    InTurn,
    /// At once: a running cell is killed.
    AtOnce,
}

/// Reason why a server does not release a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LeaseRequestError {
    /// The server refuses, with a reason.
    Refused {
        /// The server's process id.
        process: Option<u32>,
        /// Reason, for the user.
        reason: String,
    },
    /// The server does not answer: it is starting or ending, or hangs.
    Silent {
        /// The server's process id, if known.
        process: Option<u32>,
    },
}

/// Leases of sessions, and requests to their owners.
pub(crate) trait Leases: Send + Sync {
    /// Takes the lease of a session. `None` if another server has it.
    ///
    /// # Errors
    ///
    /// An I/O error.
    fn try_acquire(&self, id: &SessionId) -> io::Result<Option<Lease>>;

    /// Returns whether any server has the lease of a session, this one included.
    fn is_held(&self, id: &SessionId) -> bool;

    /// Asks the owner of a session to hibernate it and to return its lease. Returns when that is done, or when no
    /// server owns the session.
    fn request<'a>(&'a self, id: &'a SessionId, urgency: Urgency) -> BoxFuture<'a, Result<(), LeaseRequestError>>;

    /// Asks the owner of a session to interrupt its running cell; false if none runs.
    fn interrupt<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<bool, LeaseRequestError>>;
}

/// Handler of the requests of other servers. Requests for sessions that this server does not own have no effect.
pub(crate) trait LeaseRequestHandler: Send + Sync {
    /// Hibernates a session and returns its lease. The error is a reason for the user.
    fn release<'a>(&'a self, id: &'a SessionId, urgency: Urgency) -> BoxFuture<'a, Result<(), String>>;

    /// Interrupts the running cell of a session; false if none runs.
    fn interrupt(&self, id: &SessionId) -> bool;

    /// Writes the sessions that are live and idle.
    fn flush(&self) -> BoxFuture<'_, ()>;
}
