//! What the server keeps for each principal over HTTP, where a client's requests need not share a connection.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use brumate_mcp::Principal;
use brumate_session::sessions::LOCAL_PRINCIPAL;

use crate::interpreter::Connection;
use crate::questions::Parked;

/// One principal, or everybody where nobody says who they are.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    /// Whose sessions it uses.
    pub(crate) name: Arc<str>,
    /// Its calls that wait for input.
    pub(crate) parked: Parked,
    /// What its requests share.
    pub(crate) connection: Arc<Connection>,
}

/// The most principals that are remembered at once.
const MAX_CLIENTS: usize = 10_000;

impl Client {
    fn is_in_use(&self) -> bool {
        self.parked.is_in_use() || Arc::strong_count(&self.connection) > 1
    }
}

/// The principals of a server. Those that have nothing under way are forgotten where there are many: whoever has an access token
/// is a principal.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    known: Mutex<HashMap<Option<Principal>, Client>>,
}

impl Clients {
    pub(crate) fn of(&self, principal: Option<&Principal>) -> Client {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_CLIENTS && !known.contains_key(&principal.cloned()) {
            known.retain(|_, client| client.is_in_use());
        }
        let client = known.entry(principal.cloned()).or_insert_with(|| Client {
            name: principal.map_or(LOCAL_PRINCIPAL, Principal::name).into(),
            parked: Parked::default(),
            // Clients nobody knows may be strangers to each other: they are not told of each other's sessions.
            connection: Connection::shared(principal.is_some()),
        });
        client.clone()
    }
}
