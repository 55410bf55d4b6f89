//! The code interpreter: tools and resources over sessions.

pub(crate) mod answer;
mod calls;
mod pictures;
mod resources;
pub(crate) mod schemas;
mod uri;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use brumate_session::sessions::{LOCAL_PRINCIPAL, Sessions};
use rmcp::RoleServer;
use rmcp::service::{Peer, SubscriptionSink};

pub(crate) use calls::Call;

/// Sessions whose files one connection lists.
const MAX_REMEMBERED: usize = 256;
/// Subscriptions of one connection.
const MAX_SINKS: usize = 16;
/// Subscriptions of one principal, whose requests have no connection.
const MAX_SHARED_SINKS: usize = 1024;

/// The interpreter as one connection sees it.
#[derive(Debug, Clone)]
pub(crate) struct Interpreter {
    sessions: Sessions,
    principal: Arc<str>,
    connection: Arc<Connection>,
    /// In the place of `connection` for requests that belong to none: those over HTTP since 2026-07-28.
    shared: Option<Arc<Connection>>,
}

/// What is remembered from call to call.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Sessions are remembered, and so listed. Not where strangers to each other share this.
    remembers: bool,
    max_sinks: usize,
    /// Ids of the sessions that this connection has used; the last is the newest.
    used: Mutex<VecDeque<String>>,
    /// Who wants to hear about changes, since 2026-07-28.
    sinks: Mutex<Vec<SubscriptionSink>>,
    /// The list of resources has changed since it was last said so.
    changed: AtomicBool,
}

impl Connection {
    fn new(remembers: bool, max_sinks: usize) -> Arc<Self> {
        let (used, sinks, changed) = Default::default();
        Arc::new(Self { remembers, max_sinks, used, sinks, changed })
    }

    /// For all requests of one principal, or of everybody.
    pub(crate) fn shared(remembers: bool) -> Arc<Self> {
        Self::new(remembers, MAX_SHARED_SINKS)
    }
}

impl Interpreter {
    pub(crate) fn new(sessions: Sessions) -> Self {
        let connection = Connection::new(true, MAX_SINKS);
        Self { sessions, principal: LOCAL_PRINCIPAL.into(), connection, shared: None }
    }

    /// The same for another connection, of `principal`.
    pub(crate) fn for_connection(&self, principal: Arc<str>, shared: Arc<Connection>) -> Self {
        let connection = Connection::new(true, MAX_SINKS);
        Self { sessions: self.sessions.clone(), principal, connection, shared: Some(shared) }
    }

    /// As a request sees it that belongs to its connection, or, since 2026-07-28, perhaps to none.
    pub(crate) fn of_request(&self, modern: bool) -> Self {
        let mut this = self.clone();
        if let Some(shared) = this.shared.take().filter(|_| modern) {
            this.connection = shared;
        }
        this
    }

    pub(crate) fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// Whose sessions these are.
    fn principal(&self) -> &str {
        &self.principal
    }

    /// From now on this connection lists the session's files.
    fn remember(&self, id: &str) {
        if !self.connection.remembers {
            return;
        }
        let mut used = self.connection.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.retain(|known| known != id);
        if used.len() >= MAX_REMEMBERED {
            used.pop_front();
        }
        used.push_back(id.to_owned());
    }

    fn forget(&self, id: &str) {
        self.connection.used.lock().unwrap_or_else(PoisonError::into_inner).retain(|known| known != id);
        self.set_changed();
    }

    fn used(&self) -> Vec<String> {
        self.connection.used.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    fn set_changed(&self) {
        self.connection.changed.store(true, Ordering::Relaxed);
    }

    /// Tells the client that its list of resources has changed, if it has. Protocols before 2026-07-28 tell everybody, later
    /// ones those who asked.
    pub(crate) async fn tell_changes(&self, peer: &Peer<RoleServer>, modern: bool) {
        if !self.connection.changed.swap(false, Ordering::Relaxed) {
            return;
        }
        if !modern {
            // A client that is gone needs no news; the same below.
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

    /// Begins to tell a subscriber; false when there are too many.
    pub(crate) fn subscribe(&self, sink: &SubscriptionSink) -> bool {
        let mut sinks = self.connection.sinks.lock().unwrap_or_else(PoisonError::into_inner);
        let room = sinks.len() < self.connection.max_sinks;
        if room {
            sinks.push(sink.clone());
        }
        room
    }

    pub(crate) fn unsubscribe(&self, sink: &SubscriptionSink) {
        let mut sinks = self.connection.sinks.lock().unwrap_or_else(PoisonError::into_inner);
        sinks.retain(|known| known.id() != sink.id());
    }
}
