//! The code interpreter: tools and resources over sessions.

mod calls;
mod pictures;
mod resources;
pub(crate) mod results;
pub(crate) mod schemas;
mod uri;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use brumate_session::sessions::{LOCAL_PRINCIPAL, Sessions};
use rmcp::RoleServer;
use rmcp::service::{Peer, SubscriptionSink};

pub(crate) use calls::InterpreterCall;

/// Most sessions whose files one connection lists.
const MAX_REMEMBERED: usize = 256;
/// Most subscriptions of one connection.
const MAX_SINKS: usize = 16;
/// Most subscriptions of one principal, for requests without a connection.
const MAX_SHARED_SINKS: usize = 1024;

/// The interpreter as one connection sees it.
#[derive(Debug, Clone)]
pub(crate) struct Interpreter {
    sessions: Sessions,
    principal: Arc<str>,
    connection: Arc<ConnectionState>,
    /// Replaces `connection` for requests without a connection: those over HTTP since protocol 2026-07-28.
    shared: Option<Arc<ConnectionState>>,
}

/// State of a connection that outlives its calls.
#[derive(Debug)]
pub(crate) struct ConnectionState {
    /// Whether used sessions are listed. False when clients that do not know each other share this state.
    lists_sessions: bool,
    max_sinks: usize,
    /// Ids of the sessions that this connection has used, newest last.
    used: Mutex<VecDeque<String>>,
    /// Subscribers to changes of the list of resources, since protocol 2026-07-28.
    sinks: Mutex<Vec<SubscriptionSink>>,
    /// Whether the list of resources has changed since the last notification.
    changed: AtomicBool,
}

impl ConnectionState {
    fn new(lists_sessions: bool, max_sinks: usize) -> Arc<Self> {
        let (used, sinks, changed) = Default::default();
        Arc::new(Self { lists_sessions, max_sinks, used, sinks, changed })
    }

    /// Makes the state for all requests of one principal.
    pub(crate) fn shared(lists_sessions: bool) -> Arc<Self> {
        Self::new(lists_sessions, MAX_SHARED_SINKS)
    }
}

impl Interpreter {
    /// Makes the interpreter for a connection without authentication.
    pub(crate) fn new(sessions: Sessions) -> Self {
        let connection = ConnectionState::new(true, MAX_SINKS);
        Self { sessions, principal: LOCAL_PRINCIPAL.into(), connection, shared: None }
    }

    /// Returns the interpreter for a connection of `principal`.
    pub(crate) fn for_connection(&self, principal: Arc<str>, shared: Arc<ConnectionState>) -> Self {
        let connection = ConnectionState::new(true, MAX_SINKS);
        Self { sessions: self.sessions.clone(), principal, connection, shared: Some(shared) }
    }

    /// Returns the interpreter for a request. `stateless`: the request is of protocol 2026-07-28 or later, and may have no connection.
    pub(crate) fn for_request(&self, stateless: bool) -> Self {
        let mut this = self.clone();
        if let Some(shared) = this.shared.take().filter(|_| stateless) {
            this.connection = shared;
        }
        this
    }

    /// Returns the sessions.
    pub(crate) fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// Returns the principal that the sessions belong to.
    fn principal(&self) -> &str {
        &self.principal
    }

    /// Lists the session's files in `resources/list` from now on.
    fn add_to_list(&self, id: &str) {
        if !self.connection.lists_sessions {
            return;
        }
        let mut used = self.connection.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.retain(|known| known != id);
        if used.len() >= MAX_REMEMBERED {
            used.pop_front();
        }
        used.push_back(id.to_owned());
    }

    /// Stops listing the session's files.
    fn remove_from_list(&self, id: &str) {
        self.connection.used.lock().unwrap_or_else(PoisonError::into_inner).retain(|known| known != id);
        self.set_changed();
    }

    fn used(&self) -> Vec<String> {
        self.connection.used.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    fn set_changed(&self) {
        self.connection.changed.store(true, Ordering::Relaxed);
    }

    /// Notifies the client if the list of resources has changed. Before protocol 2026-07-28 every client is notified, since then
    /// only subscribers.
    pub(crate) async fn notify_changes(&self, peer: &Peer<RoleServer>, stateless: bool) {
        if !self.connection.changed.swap(false, Ordering::Relaxed) {
            return;
        }
        if !stateless {
            // The client may be gone.
            let _ = peer.notify_resource_list_changed().await;
        }
        let sinks = self.connection.sinks.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut closed = Vec::new();
        for sink in sinks {
            if sink.notify_resource_list_changed().await.is_err() {
                closed.push(sink.id().clone());
            }
        }
        if !closed.is_empty() {
            let mut sinks = self.connection.sinks.lock().unwrap_or_else(PoisonError::into_inner);
            sinks.retain(|sink| !closed.contains(sink.id()));
        }
    }

    /// Adds a subscriber. Returns false when there are too many.
    pub(crate) fn subscribe(&self, sink: &SubscriptionSink) -> bool {
        let mut sinks = self.connection.sinks.lock().unwrap_or_else(PoisonError::into_inner);
        let room = sinks.len() < self.connection.max_sinks;
        if room {
            sinks.push(sink.clone());
        }
        room
    }

    /// Removes a subscriber.
    pub(crate) fn unsubscribe(&self, sink: &SubscriptionSink) {
        let mut sinks = self.connection.sinks.lock().unwrap_or_else(PoisonError::into_inner);
        sinks.retain(|known| known.id() != sink.id());
    }
}
