//! Peers: their names, and the table of connected peers.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::{BufMut as _, Bytes, BytesMut};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::outbox::Outbox;

/// Name of a peer: the identity that it announced, or five bytes of which the first is 0.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PeerId(Bytes);

impl PeerId {
    /// Makes the name of a peer that is known from elsewhere.
    pub fn new(identity: impl Into<Bytes>) -> Self {
        Self(identity.into())
    }

    /// Returns its bytes.
    pub fn as_bytes(&self) -> &Bytes {
        &self.0
    }
}

/// A peer whose handshake is done.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) id: PeerId,
    pub(crate) outbox: Outbox,
}

/// The peers of a bound socket.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    connected: Mutex<HashMap<PeerId, Arc<Peer>>>,
    left: Notify,
    generated: AtomicU32,
}

impl Peers {
    pub(crate) fn get(&self, id: &PeerId) -> Option<Arc<Peer>> {
        self.connected.lock().get(id).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<Peer>> {
        self.connected.lock().values().cloned().collect()
    }

    /// Adds a peer. It leaves when the returned [`Membership`] is dropped.
    ///
    /// While another peer has the same identity, this waits: the other may be an old connection of the same peer, whose end is not
    /// yet seen.
    pub(crate) async fn join(self: &Arc<Self>, identity: Bytes, outbox: Outbox) -> Membership {
        let mut outbox = Some(outbox);
        loop {
            let left = self.left.notified();
            tokio::pin!(left);
            left.as_mut().enable();
            if let Some(peer) = self.try_join(&identity, &mut outbox) {
                return Membership { peers: Arc::clone(self), peer };
            }
            left.await;
        }
    }

    fn try_join(&self, identity: &Bytes, outbox: &mut Option<Outbox>) -> Option<Arc<Peer>> {
        let mut connected = self.connected.lock();
        let id = if identity.is_empty() { self.generate(&connected) } else { PeerId(identity.clone()) };
        if connected.contains_key(&id) {
            return None;
        }
        let peer = Arc::new(Peer { id: id.clone(), outbox: outbox.take()? });
        connected.insert(id, Arc::clone(&peer));
        Some(peer)
    }

    /// Returns a name that no peer has. There are far fewer peers than names.
    fn generate(&self, connected: &HashMap<PeerId, Arc<Peer>>) -> PeerId {
        loop {
            let mut name = BytesMut::with_capacity(5);
            name.put_u8(0);
            name.put_u32(self.generated.fetch_add(1, Ordering::Relaxed));
            let id = PeerId(name.freeze());
            if !connected.contains_key(&id) {
                return id;
            }
        }
    }
}

/// Keeps a peer among the connected ones.
#[derive(Debug)]
pub(crate) struct Membership {
    peers: Arc<Peers>,
    pub(crate) peer: Arc<Peer>,
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.peer.outbox.close();
        self.peers.connected.lock().remove(&self.peer.id);
        self.peers.left.notify_waiters();
    }
}
