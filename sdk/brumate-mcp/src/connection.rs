//! Connections of clients, and notifications of changes to the clients.

use crate::client_state::{ClientState, PrincipalStates, is_connectionless};
use crate::http::request_extensions::principal;
use crate::log_level::LogLevel;
use crate::sync::lock;
use rmcp::model::{
    PromptListChangedNotification, ResourceListChangedNotification, ResourceUpdatedNotification,
    ResourceUpdatedNotificationParam, ServerNotification, ToolListChangedNotification,
};
use rmcp::service::{RequestContext, SubscriptionSendError, SubscriptionSink};
use rmcp::{Peer, RoleServer};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

/// The most resources that one session may subscribe to.
const MAX_SUBSCRIPTIONS: usize = 1024;

/// The most listeners (`subscriptions/listen`) of one connection.
const MAX_LISTENERS: usize = 16;

/// The most listeners of one principal, for requests without a connection.
const MAX_LISTENERS_OF_PRINCIPAL: usize = 1024;

/// How long a client may take to accept a notification. After that it misses the notification.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(30);

/// One client: a session, or a single request where there are no sessions.
#[derive(Debug)]
pub(crate) struct Connection {
    id: u64,
    level: AtomicU8,
    subscriptions: Mutex<HashSet<String>>,
    peer: Mutex<Option<Peer<RoleServer>>>,
    state: Arc<ClientState>,
    subscribers: Weak<Subscribers>,
}

impl Connection {
    pub(crate) fn level(&self) -> LogLevel {
        const LEVELS: [LogLevel; 8] = [
            LogLevel::Debug,
            LogLevel::Info,
            LogLevel::Notice,
            LogLevel::Warning,
            LogLevel::Error,
            LogLevel::Critical,
            LogLevel::Alert,
            LogLevel::Emergency,
        ];
        LEVELS[usize::from(self.level.load(Ordering::Relaxed)) % LEVELS.len()]
    }

    pub(crate) fn set_level(&self, level: LogLevel) {
        self.level.store(level as u8, Ordering::Relaxed);
    }

    /// Notes that the session has begun. The client gets notifications of changes from now on.
    pub(crate) fn open(&self, peer: Peer<RoleServer>) {
        *lock(&self.peer) = Some(peer);
    }

    /// Returns the state of the client that sends a request.
    pub(crate) fn client(&self, request: &RequestContext<RoleServer>) -> Arc<ClientState> {
        match self.subscribers.upgrade() {
            Some(subscribers) if is_connectionless(request) => subscribers.principals.of(principal(request)),
            _ => self.state.clone(),
        }
    }

    /// Notifies one client of a change. The notification goes to the listeners of `client`. It also goes to `peer`,
    /// which is set for protocols without listeners.
    pub(crate) async fn notify(
        &self,
        client: &Arc<ClientState>,
        peer: Option<Peer<RoleServer>>,
        change: &ChangeNotification,
    ) {
        if let Some(subscribers) = self.subscribers.upgrade() {
            subscribers.notify_client(client, peer, change).await;
        }
    }

    /// Subscribes to a resource. Returns whether the session is subscribed now. It is not if it has too many
    /// subscriptions.
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
        if let Some(subscribers) = self.subscribers.upgrade() {
            lock(&subscribers.connections).remove(&self.id);
        }
    }
}

/// A change that clients may want to know of.
#[derive(Clone, Debug)]
pub(crate) enum ChangeNotification {
    Tools,
    Prompts,
    Resources,
    Resource(String),
}

impl ChangeNotification {
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

/// All clients of a server that get notifications of changes. They are sessions and, in protocol 2026-07-28 and later,
/// streams of `subscriptions/listen`.
#[derive(Debug, Default)]
pub(crate) struct Subscribers {
    next: AtomicU64,
    connections: Mutex<HashMap<u64, Weak<Connection>>>,
    listeners: Mutex<HashMap<u64, Listener>>,
    principals: PrincipalStates,
}

/// A stream of `subscriptions/listen`.
#[derive(Debug)]
struct Listener {
    sink: SubscriptionSink,
    client: Arc<ClientState>,
}

/// Removes a listener when it is dropped.
pub(crate) struct ListenerGuard {
    subscribers: Arc<Subscribers>,
    id: u64,
}

impl Drop for ListenerGuard {
    fn drop(&mut self) {
        lock(&self.subscribers.listeners).remove(&self.id);
    }
}

impl Subscribers {
    /// Makes a connection. `level`: its log level until its client sets one.
    pub(crate) fn connect(self: &Arc<Self>, level: LogLevel) -> Arc<Connection> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let connection = Arc::new(Connection {
            id,
            level: AtomicU8::new(level as u8),
            subscriptions: Mutex::default(),
            peer: Mutex::default(),
            state: Arc::default(),
            subscribers: Arc::downgrade(self),
        });
        lock(&self.connections).insert(id, Arc::downgrade(&connection));
        connection
    }

    /// Adds a listener, unless its client has too many.
    pub(crate) fn listen(
        self: &Arc<Self>,
        sink: SubscriptionSink,
        client: Arc<ClientState>,
        request: &RequestContext<RoleServer>,
    ) -> Option<ListenerGuard> {
        let most = if is_connectionless(request) { MAX_LISTENERS_OF_PRINCIPAL } else { MAX_LISTENERS };
        let mut listeners = lock(&self.listeners);
        if listeners.values().filter(|listener| Arc::ptr_eq(&listener.client, &client)).count() >= most {
            return None;
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        listeners.insert(id, Listener { sink, client });
        Some(ListenerGuard { subscribers: self.clone(), id })
    }

    /// Notifies every client that wants to know of the change. Returns when all have been notified.
    pub(crate) async fn notify(&self, change: ChangeNotification) {
        let peers: Vec<Peer<RoleServer>> = {
            let connections: Vec<_> = lock(&self.connections).values().filter_map(Weak::upgrade).collect();
            let wants = |connection: &Arc<Connection>| match &change {
                ChangeNotification::Resource(uri) => lock(&connection.subscriptions).contains(uri),
                _ => true,
            };
            connections.iter().filter(|c| wants(c)).filter_map(|c| lock(&c.peer).clone()).collect()
        };
        self.send(&peers, |_| true, &change).await;
    }

    /// Notifies one client of a change. The notification goes to the listeners of `client` and, for protocols without
    /// listeners, to `peer`.
    async fn notify_client(
        &self,
        client: &Arc<ClientState>,
        peer: Option<Peer<RoleServer>>,
        change: &ChangeNotification,
    ) {
        self.send(peer.as_slice(), |listener| Arc::ptr_eq(&listener.client, client), change).await;
    }

    /// Sends a notification to peers and to the listeners for which `to` is true. Removes each listener whose stream is
    /// closed, or that does not accept the notification within [`NOTIFY_TIMEOUT`].
    async fn send(&self, peers: &[Peer<RoleServer>], to: impl Fn(&Listener) -> bool, change: &ChangeNotification) {
        let sinks: Vec<(u64, SubscriptionSink)> = {
            let listeners = lock(&self.listeners);
            listeners.iter().filter(|(_, listener)| to(listener)).map(|(id, l)| (*id, l.sink.clone())).collect()
        };
        let told = peers.iter().map(|peer| async move {
            let told = tokio::time::timeout(NOTIFY_TIMEOUT, peer.send_notification(change.notification())).await;
            if !matches!(told, Ok(Ok(()))) {
                tracing::debug!(?change, "a client was not told of a change");
            }
        });
        let heard = sinks.iter().map(|(id, sink)| async move {
            let heard = tokio::time::timeout(NOTIFY_TIMEOUT, sink.send(change.notification())).await;
            // A sink drops notifications that its client did not subscribe to.
            let is_gone = match heard {
                Ok(heard) => {
                    matches!(heard, Err(SubscriptionSendError::SubscriptionClosed | SubscriptionSendError::Service(_)))
                }
                Err(_) => true,
            };
            if is_gone {
                lock(&self.listeners).remove(id);
            }
        });
        futures::future::join(futures::future::join_all(told), futures::future::join_all(heard)).await;
    }
}
