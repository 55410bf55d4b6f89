//! Leases: which server owns a session.
//!
//! Servers that share a data directory coordinate by leases. A server needs a session's lease to run or change it, and
//! keeps the lease while the session is live. A server that needs a session of another server asks that server to
//! hibernate it. The end of a server, however it comes, ends its leases.
//!
//! Servers that ask for one session take turns: its owner reserves the lease for the server that has waited longest.
//!
//! [`Leases`] is the interface that sessions use. [`LocalLeases`] implements it for the servers of one machine. An
//! implementation for several machines would use leases that expire.

mod local;
mod socket;
mod wait;

use std::io;

use async_trait::async_trait;
use tokio::time::Instant;

use super::id::SessionId;

pub(crate) use local::{FrozenElsewhere, LocalLeases, freeze};
pub(crate) use socket::LeaseListener;
pub(crate) use wait::{OwnerWait, RETRY_INTERVAL, SILENCE_LIMIT};

/// Right of one server to run and change a session. Dropping it releases the session.
pub(crate) struct Lease(Box<dyn LeaseHold>);

impl Lease {
    /// Reserves the session for a server, which gets the lease when this value is dropped.
    pub(crate) fn reserve(&mut self, server: String) {
        self.0.reserve(server);
    }
}

/// Implementation of a [`Lease`].
pub(crate) trait LeaseHold: Send + Sync {
    /// See [`Lease::reserve`].
    fn reserve(&mut self, server: String);
}

/// Time at which a server releases a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Urgency {
    /// After the calls that wait already.
    InTurn,
    /// At once: a running cell is killed.
    AtOnce,
}

/// Request of another server for a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeaseClaim {
    /// When the session is released.
    pub(crate) urgency: Urgency,
    /// Name of the server that asks; `None` for one of a version that takes no turns.
    pub(crate) server: Option<String>,
    /// When its call began to wait.
    pub(crate) since: Instant,
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
#[async_trait]
pub(crate) trait Leases: Send + Sync {
    /// Takes the lease of a session. `None` if another server has it, or is the next to get it.
    ///
    /// # Errors
    ///
    /// An I/O error.
    fn try_acquire(&self, id: &SessionId) -> io::Result<Option<Lease>>;

    /// Returns whether any server has the lease of a session, this one included.
    fn is_held(&self, id: &SessionId) -> bool;

    /// Asks the owner of a session to hibernate it and to return its lease. Returns when that is done, or when no
    /// server owns the session. `wait` bounds the silence of owners.
    async fn request(&self, id: &SessionId, urgency: Urgency, wait: &mut OwnerWait) -> Result<(), LeaseRequestError>;

    /// Asks the owner of a session to interrupt its running cell; false if none runs.
    async fn interrupt(&self, id: &SessionId) -> Result<bool, LeaseRequestError>;
}

/// Session that its server neither changes nor releases until this is dropped.
pub(crate) type Frozen = Box<dyn Send>;

/// Handler of the requests of other servers. Requests for sessions that this server does not own have no effect.
#[async_trait]
pub(crate) trait LeaseRequestHandler: Send + Sync {
    /// Hibernates a session and returns its lease. The error is a reason for the user.
    async fn release(&self, id: &SessionId, claim: LeaseClaim) -> Result<(), String>;

    /// Interrupts the running cell of a session; false if none runs.
    fn interrupt(&self, id: &SessionId) -> bool;

    /// Waits for a session's turn, and writes it if it is live. `None` if this server does not own it. The error is a
    /// reason for the user.
    async fn freeze(&self, id: &SessionId) -> Result<Option<Frozen>, String>;
}
