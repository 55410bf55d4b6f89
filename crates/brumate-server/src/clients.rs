//! State of each principal over HTTP: since protocol 2026-07-28 a client's requests need not share a connection.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use brumate_mcp::Principal;
use brumate_session::sessions::LOCAL_PRINCIPAL;

use crate::elicitation::PendingCalls;
use crate::interpreter::ConnectionState;

/// State of one principal. Without authentication all clients are one principal.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    /// The principal's name, which its sessions belong to.
    pub(crate) name: Arc<str>,
    /// Calls that wait for input.
    pub(crate) pending: PendingCalls,
    /// Sessions and subscriptions of its requests.
    pub(crate) connection: Arc<ConnectionState>,
}

/// Most principals in memory. Beyond it, principals without pending calls and connections are removed.
const MAX_CLIENTS: usize = 10_000;

impl Client {
    fn is_in_use(&self) -> bool {
        self.pending.is_in_use() || Arc::strong_count(&self.connection) > 1
    }
}

/// The principals of a server. Every subject of an access token is a principal, so their number is bounded by [`MAX_CLIENTS`].
#[derive(Debug, Default)]
pub(crate) struct Clients {
    known: Mutex<HashMap<Option<Principal>, Client>>,
}

impl Clients {
    /// Returns the state of a principal.
    pub(crate) fn of(&self, principal: Option<&Principal>) -> Client {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_CLIENTS && !known.contains_key(&principal.cloned()) {
            known.retain(|_, client| client.is_in_use());
        }
        let client = known.entry(principal.cloned()).or_insert_with(|| Client {
            name: principal.map_or(LOCAL_PRINCIPAL, Principal::name).into(),
            pending: PendingCalls::default(),
            // Clients without authentication do not see each other's sessions.
            connection: ConnectionState::shared(principal.is_some()),
        });
        client.clone()
    }
}
