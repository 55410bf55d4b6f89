//! XPUB: messages for the subscribers of their topics.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::Parts;
use crate::connection::{Meaning, Message, Service};
use crate::endpoint::Endpoint;
use crate::error::{BindError, ConnectionError, ProtocolError, SendError};
use crate::limits::Limits;
use crate::peer::{Peer, PeerId};
use crate::server::{BoundService, Server};
use crate::socket_type::SocketType;

/// A new topic of a subscriber.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// The subscriber.
    pub peer: PeerId,
    /// The beginning of the topics that it wants; empty for all.
    pub topic: Bytes,
}

/// A bound XPUB socket: sends each message to the peers that subscribed to its topic, which is its first part.
///
/// Clones are the same socket. It closes when the last one is dropped, or with [`close`](Self::close).
#[derive(Debug, Clone)]
pub struct Publisher {
    server: Arc<Server>,
    subscribers: Arc<Subscribers>,
}

impl Publisher {
    /// Binds a socket, which serves its peers from now on.
    pub async fn bind(endpoint: Endpoint, limits: Limits) -> Result<Self, BindError> {
        let subscribers = Arc::new(Subscribers::new(&limits));
        // Peers send subscriptions only: one byte and a topic.
        let longest = limits.topic_bytes.saturating_add(1);
        let limits = Limits { frame_bytes: longest, message_bytes: longest, ..limits };
        let server = Server::bind(endpoint, limits, Arc::clone(&subscribers)).await?;
        Ok(Self { server: Arc::new(server), subscribers })
    }

    /// Returns the address, with the port that was taken.
    pub fn local_endpoint(&self) -> &Endpoint {
        self.server.endpoint()
    }

    /// Queues a message for all that subscribed to its topic. Waits for room in their queues, up to
    /// [`Limits::write_timeout`]. A peer that has no room then loses its connection.
    ///
    /// # Errors
    ///
    /// [`SendError::NoParts`] only.
    pub async fn publish(&self, parts: Parts) -> Result<(), SendError> {
        let topic = parts.first().ok_or(SendError::NoParts)?;
        let mut peers = self.subscribers.to(topic);
        let parts = Arc::new(parts);
        // A peer without room does not hold up the others.
        peers.retain(|peer| !peer.outbox.try_send(&parts));
        let Some(deadline) = peers.first().map(|peer| peer.outbox.deadline()) else { return Ok(()) };
        for peer in peers {
            // A peer whose connection has ended gets nothing.
            let _ = peer.outbox.send_until(Arc::clone(&parts), deadline).await;
        }
        Ok(())
    }

    /// Queues a message for one peer, whatever its topics are. Waits for room in its queue.
    ///
    /// # Errors
    ///
    /// As [`Router::send`](crate::Router::send).
    pub async fn send_to(&self, peer: &PeerId, parts: Parts) -> Result<(), SendError> {
        self.server.send(peer, parts).await
    }

    /// Waits for the next subscription of a peer to a topic that it had not. `None` once the socket is closed. Safe to cancel.
    ///
    /// Nobody needs to wait for subscriptions. A subscription that its peer cancels before it is taken here is never told.
    pub async fn next_subscription(&self) -> Option<Subscription> {
        self.subscribers.next_subscription().await
    }

    /// Waits until all that is queued is written, and returns whether that was within `timeout`. Others who send wait meanwhile.
    pub async fn flush(&self, timeout: Duration) -> bool {
        self.server.flush(timeout).await
    }

    /// Closes the socket: no more connections, and each one ends when what is queued for it is written. Returns whether all of it
    /// was written within `timeout`; the rest is lost.
    pub async fn close(&self, timeout: Duration) -> bool {
        self.subscribers.close();
        self.server.close(timeout).await
    }
}

/// Topics of the subscribers.
#[derive(Debug)]
struct Subscribers {
    max_topics: usize,
    topic_bytes: usize,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    peers: HashMap<PeerId, Subscriber>,
    /// Peers with new topics, each once, in the order in which they are told.
    with_new: VecDeque<PeerId>,
    is_closed: bool,
}

#[derive(Debug)]
struct Subscriber {
    peer: Arc<Peer>,
    /// Topics, with how many times each is subscribed to.
    topics: HashMap<Bytes, usize>,
    /// Topics that are not yet told; each is one of `topics`.
    new: VecDeque<Bytes>,
}

impl Subscribers {
    fn new(limits: &Limits) -> Self {
        Self {
            max_topics: limits.subscriptions,
            topic_bytes: limits.topic_bytes,
            state: Mutex::default(),
            changed: Notify::new(),
        }
    }

    /// Returns the peers that want a topic.
    fn to(&self, topic: &[u8]) -> Vec<Arc<Peer>> {
        let state = self.state.lock();
        let wanted = |subscriber: &&Subscriber| subscriber.topics.keys().any(|beginning| topic.starts_with(beginning));
        state.peers.values().filter(wanted).map(|subscriber| Arc::clone(&subscriber.peer)).collect()
    }

    async fn next_subscription(&self) -> Option<Subscription> {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            {
                let mut state = self.state.lock();
                if let Some(subscription) = state.take_new() {
                    return Some(subscription);
                }
                if state.is_closed {
                    return None;
                }
            }
            changed.await;
        }
    }

    fn close(&self) {
        self.state.lock().is_closed = true;
        self.changed.notify_waiters();
    }
}

impl State {
    /// Takes a new topic of the peer whose turn it is.
    fn take_new(&mut self) -> Option<Subscription> {
        loop {
            let id = self.with_new.pop_front()?;
            let Some(subscriber) = self.peers.get_mut(&id) else { continue };
            let Some(topic) = subscriber.new.pop_front() else { continue };
            if !subscriber.new.is_empty() {
                self.with_new.push_back(id.clone());
            }
            return Some(Subscription { peer: id, topic });
        }
    }
}

impl Service for Subscribers {
    /// Takes subscriptions of version 3.0: 1 and a topic, or 0 and a topic.
    async fn receive(&self, peer: &Peer, message: Message) -> Result<Meaning, ConnectionError> {
        let [subscription] = &message.parts[..] else { return Ok(Meaning::None) };
        match subscription.first() {
            Some(kind @ (0 | 1)) => Ok(self.subscribe(peer, subscription.slice(1..), *kind == 1)?),
            _ => Ok(Meaning::None),
        }
    }

    fn subscribe(&self, peer: &Peer, topic: Bytes, is_wanted: bool) -> Result<Meaning, ProtocolError> {
        if topic.len() > self.topic_bytes {
            return Err(ProtocolError::Topic(self.topic_bytes));
        }
        let mut state = self.state.lock();
        let State { peers, with_new, .. } = &mut *state;
        let Some(subscriber) = peers.get_mut(&peer.id) else { return Ok(Meaning::None) };
        if !is_wanted {
            match subscriber.topics.get_mut(&topic) {
                Some(count) if *count > 1 => *count -= 1,
                Some(_) => {
                    subscriber.topics.remove(&topic);
                    subscriber.new.retain(|new| *new != topic);
                }
                None => return Ok(Meaning::None),
            }
            return Ok(Meaning::Some);
        }
        if let Some(count) = subscriber.topics.get_mut(&topic) {
            *count = count.saturating_add(1);
            return Ok(Meaning::Some);
        }
        if subscriber.topics.len() >= self.max_topics {
            return Err(ProtocolError::Subscriptions(self.max_topics));
        }
        subscriber.topics.insert(topic.clone(), 1);
        subscriber.new.push_back(topic);
        if !with_new.contains(&peer.id) {
            with_new.push_back(peer.id.clone());
        }
        drop(state);
        self.changed.notify_waiters();
        Ok(Meaning::Some)
    }
}

impl BoundService for Subscribers {
    const SOCKET_TYPE: SocketType = SocketType::XPub;

    fn joined(&self, peer: &Arc<Peer>) {
        let subscriber = Subscriber { peer: Arc::clone(peer), topics: HashMap::new(), new: VecDeque::new() };
        self.state.lock().peers.insert(peer.id.clone(), subscriber);
    }

    fn left(&self, peer: &Peer) {
        let mut state = self.state.lock();
        state.peers.remove(&peer.id);
        state.with_new.retain(|id| *id != peer.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outbox::Outbox;
    use crate::peer::Peers;

    #[tokio::test]
    async fn topics_are_counted_bounded_and_told_once() {
        let limits = Limits { subscriptions: 2, topic_bytes: 4, ..Limits::default() };
        let (subscribers, peers) = (Subscribers::new(&limits), Arc::new(Peers::default()));
        let (first, second) = tokio::join!(
            peers.join(Bytes::new(), Outbox::new(&limits).0),
            peers.join(Bytes::new(), Outbox::new(&limits).0)
        );
        for member in [&first, &second] {
            subscribers.joined(&member.peer);
        }
        let subscribe = |topic: &'static str| subscribers.subscribe(&first.peer, Bytes::from(topic), true);
        let cancel = |topic: &'static str| subscribers.subscribe(&first.peer, Bytes::from(topic), false);
        let new = || subscribers.state.lock().take_new();

        assert_eq!(cancel("a"), Ok(Meaning::None));
        assert_eq!(subscribe("a"), Ok(Meaning::Some));
        assert_eq!(subscribe("a"), Ok(Meaning::Some));
        assert_eq!(subscribe("b"), Ok(Meaning::Some));
        assert_eq!(subscribe("c"), Err(ProtocolError::Subscriptions(2)));
        assert_eq!(subscribe("abcde"), Err(ProtocolError::Topic(4)));
        subscribers.subscribe(&second.peer, Bytes::new(), true).unwrap();

        // Peers take turns.
        assert_eq!(new().unwrap(), Subscription { peer: first.peer.id.clone(), topic: Bytes::from("a") });
        assert_eq!(new().unwrap().peer, second.peer.id);
        assert_eq!(subscribers.to(b"abc").len(), 2);
        cancel("a").unwrap();
        assert_eq!(subscribers.to(b"abc").len(), 2);
        cancel("a").unwrap();
        assert_eq!(subscribers.to(b"abc").len(), 1);
        // One that is cancelled is not told.
        cancel("b").unwrap();
        assert_eq!(new(), None);
        subscribers.left(&second.peer);
        assert!(subscribers.to(b"").is_empty());
    }
}
