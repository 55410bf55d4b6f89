//! What the server knows of one client: a session, or one request where there are no sessions.

use crate::level::Level;
use crate::sync::lock;
use rmcp::model::{
    PromptListChangedNotification, ResourceListChangedNotification, ResourceUpdatedNotification,
    ResourceUpdatedNotificationParam, ServerNotification, ToolListChangedNotification,
};
use rmcp::service::SubscriptionSink;
use rmcp::{Peer, RoleServer};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

/// The most resources that one session may subscribe to.
const MAX_SUBSCRIPTIONS: usize = 1024;

/// How long a client may take to accept a notification before it is given up on.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(30);

/// One client's session.
#[derive(Debug)]
pub(crate) struct Connection {
    id: u64,
    level: AtomicU8,
    subscriptions: Mutex<HashSet<String>>,
    peer: Mutex<Option<Peer<RoleServer>>>,
    hub: Weak<Hub>,
}

impl Connection {
    pub(crate) fn level(&self) -> Level {
        const LEVELS: [Level; 8] = [
            Level::Debug,
            Level::Info,
            Level::Notice,
            Level::Warning,
            Level::Error,
            Level::Critical,
            Level::Alert,
            Level::Emergency,
        ];
        LEVELS[usize::from(self.level.load(Ordering::Relaxed)) % LEVELS.len()]
    }

    pub(crate) fn set_level(&self, level: Level) {
        self.level.store(level as u8, Ordering::Relaxed);
    }

    /// The session has begun: it hears of changes from now on.
    pub(crate) fn open(&self, peer: Peer<RoleServer>) {
        *lock(&self.peer) = Some(peer);
    }

    /// Whether there was room.
    pub(crate) fn subscribe(&self, uri: String) -> bool {
        let mut subscriptions = lock(&self.subscriptions);
        subscriptions.contains(&uri) || (subscriptions.len() < MAX_SUBSCRIPTIONS && subscriptions.insert(uri))
    }

    pub(crate) fn unsubscribe(&self, uri: &str) {
        lock(&self.subscriptions).remove(uri);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(hub) = self.hub.upgrade() {
            lock(&hub.connections).remove(&self.id);
        }
    }
}

/// Something clients may want to know.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Tools,
    Prompts,
    Resources,
    Resource(String),
}

impl Change {
    fn notification(&self) -> ServerNotification {
        match self {
            Self::Tools => ServerNotification::ToolListChangedNotification(ToolListChangedNotification::default()),
            Self::Prompts => {
                ServerNotification::PromptListChangedNotification(PromptListChangedNotification::default())
            }
            Self::Resources => {
                ServerNotification::ResourceListChangedNotification(ResourceListChangedNotification::default())
            }
            Self::Resource(uri) => ServerNotification::ResourceUpdatedNotification(ResourceUpdatedNotification::new(
                ResourceUpdatedNotificationParam::new(uri.clone()),
            )),
        }
    }
}

/// All clients of a server that hear of changes: sessions, and since 2026-07-28 streams that listen.
#[derive(Debug, Default)]
pub(crate) struct Hub {
    next: AtomicU64,
    connections: Mutex<HashMap<u64, Weak<Connection>>>,
    listeners: Mutex<HashMap<u64, SubscriptionSink>>,
}

/// Takes a listener out of the hub.
pub(crate) struct Listening {
    hub: Arc<Hub>,
    id: u64,
}

impl Drop for Listening {
    fn drop(&mut self) {
        lock(&self.hub.listeners).remove(&self.id);
    }
}

impl Hub {
    pub(crate) fn connect(self: &Arc<Self>) -> Arc<Connection> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let connection = Arc::new(Connection {
            id,
            level: AtomicU8::new(Level::Debug as u8),
            subscriptions: Mutex::default(),
            peer: Mutex::default(),
            hub: Arc::downgrade(self),
        });
        lock(&self.connections).insert(id, Arc::downgrade(&connection));
        connection
    }

    pub(crate) fn listen(self: &Arc<Self>, sink: SubscriptionSink) -> Listening {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        lock(&self.listeners).insert(id, sink);
        Listening { hub: self.clone(), id }
    }

    /// Tells every client that wants to know. Returns when all have been told.
    pub(crate) async fn tell(&self, change: Change) {
        let peers: Vec<Peer<RoleServer>> = {
            let connections: Vec<_> = lock(&self.connections).values().filter_map(Weak::upgrade).collect();
            let wants = |connection: &Arc<Connection>| match &change {
                Change::Resource(uri) => lock(&connection.subscriptions).contains(uri),
                _ => true,
            };
            connections.iter().filter(|c| wants(c)).filter_map(|c| lock(&c.peer).clone()).collect()
        };
        let sinks: Vec<SubscriptionSink> = lock(&self.listeners).values().cloned().collect();
        let change = &change;
        let told = peers.iter().map(|peer| async move {
            let told = tokio::time::timeout(NOTIFY_TIMEOUT, peer.send_notification(change.notification())).await;
            if !matches!(told, Ok(Ok(()))) {
                tracing::debug!(?change, "a client was not told of a change");
            }
        });
        let heard = sinks.iter().map(|sink| async move {
            // A sink refuses what its client did not ask for.
            let _ = tokio::time::timeout(NOTIFY_TIMEOUT, sink.send(change.notification())).await;
        });
        futures::future::join(futures::future::join_all(told), futures::future::join_all(heard)).await;
    }
}
