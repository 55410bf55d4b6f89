//! Which server has a session.
//!
//! Servers that share a data directory agree by leases: a server that runs or changes a session has its lease, and keeps it
//! while the session is awake. Whoever needs a session that another server has asks that one to put it to sleep. A
//! server that ends, however it does, has no leases any more.
//!
//! [`Leases`] is what sessions need of this. [`LocalLeases`] does it for the servers of one machine; one for several machines
//! would do it with leases that expire.

mod local;
mod socket;

use std::io;

use futures::future::BoxFuture;

use super::id::SessionId;

pub(crate) use local::LocalLeases;
pub(crate) use socket::flush_all;

/// The right of one server to run and change a session. Dropping it gives the right back.
pub(crate) struct Lease(#[expect(dead_code, reason = "dropping it counts")] Box<dyn Send + Sync>);

/// The time at which a server gives up a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Urgency {
    /// After the calls that wait already.
    InTurn,
    /// At once: the cell that runs is killed.
    AtOnce,
}

/// Why a server does not give up a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HolderError {
    /// It cannot, and says why.
    Refused {
        /// The server's process.
        process: Option<u32>,
        /// Why.
        reason: String,
    },
    /// It does not answer: it has just begun or ended, or hangs.
    Silent {
        /// The server's process, if it is known.
        process: Option<u32>,
    },
}

/// Leases of sessions, and the servers that have them.
pub(crate) trait Leases: Send + Sync {
    /// Takes the lease of a session. `None` when another server has it.
    ///
    /// # Errors
    ///
    /// When the system refuses.
    fn try_acquire(&self, id: &SessionId) -> io::Result<Option<Lease>>;

    /// Whether a server has the lease of a session, this one or another.
    fn is_held(&self, id: &SessionId) -> bool;

    /// Asks the server that has a session to put it to sleep and to give its lease back. Returns when it has, or when
    /// nobody has the session.
    fn request<'a>(&'a self, id: &'a SessionId, urgency: Urgency) -> BoxFuture<'a, Result<(), HolderError>>;

    /// Asks the server that has a session to stop the cell that runs in it; false when none does.
    fn interrupt<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<bool, HolderError>>;
}

/// Does what other servers ask of this one. A session that this server does not have is left alone.
pub(crate) trait Holder: Send + Sync {
    /// Puts a session to sleep and gives its lease back. An error says why it cannot.
    fn release<'a>(&'a self, id: &'a SessionId, urgency: Urgency) -> BoxFuture<'a, Result<(), String>>;

    /// Stops the cell that runs in a session; false when none does.
    fn interrupt(&self, id: &SessionId) -> bool;

    /// Writes the sessions that are awake and idle.
    fn flush(&self) -> BoxFuture<'_, ()>;
}
