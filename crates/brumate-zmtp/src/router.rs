//! ROUTER: many peers, each with a name.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, mpsc};

use crate::Parts;
use crate::connection::{Meaning, Message, Service};
use crate::endpoint::Endpoint;
use crate::error::{BindError, ConnectionError, SendError};
use crate::limits::{INBOX_MESSAGES, Limits};
use crate::peer::{Peer, PeerId};
use crate::server::{BoundService, Server};
use crate::socket_type::SocketType;

/// A message of a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// The sender.
    pub peer: PeerId,
    /// Its parts, without the name of the peer. There is an empty part in front if the peer is a REQ socket.
    pub parts: Parts,
}

/// A bound ROUTER socket: receives messages of many peers, and sends to each by its name.
///
/// A peer is named by the identity that it announces. A second peer with the same identity waits for the first one's end, up to
/// [`Limits::handshake_timeout`], and is then turned away: a client that comes back is taken as soon as its old connection is
/// seen to be closed. A peer without an identity gets a name.
///
/// Clones are the same socket. It closes when the last one is dropped, or with [`close`](Self::close).
#[derive(Debug, Clone)]
pub struct Router {
    server: Arc<Server>,
    received: Arc<Mutex<mpsc::Receiver<(PeerId, Message)>>>,
}

impl Router {
    /// Binds a socket, which serves its peers from now on.
    pub async fn bind(endpoint: Endpoint, limits: Limits) -> Result<Self, BindError> {
        let (sender, received) = mpsc::channel(INBOX_MESSAGES);
        let server = Server::bind(endpoint, limits, Arc::new(Inbox { sender })).await?;
        Ok(Self { server: Arc::new(server), received: Arc::new(Mutex::new(received)) })
    }

    /// Returns the address, with the port that was taken.
    pub fn local_endpoint(&self) -> &Endpoint {
        self.server.endpoint()
    }

    /// Waits for the next message. `None` once the socket is closed and all that arrived is taken. Safe to cancel.
    pub async fn recv(&self) -> Option<Received> {
        let (peer, message) = self.received.lock().await.recv().await?;
        Some(Received { peer, parts: message.parts })
    }

    /// Queues a message for a peer. Waits for room in its queue.
    ///
    /// # Errors
    ///
    /// [`SendError::UnknownPeer`] when no such peer is connected, and [`SendError::TimedOut`] when it did not read within
    /// [`Limits::write_timeout`]; then its connection ends. The socket goes on in each case.
    pub async fn send(&self, peer: &PeerId, parts: Parts) -> Result<(), SendError> {
        self.server.send(peer, parts).await
    }

    /// Waits until all that is queued is written, and returns whether that was within `timeout`. Others who send wait meanwhile.
    pub async fn flush(&self, timeout: Duration) -> bool {
        self.server.flush(timeout).await
    }

    /// Closes the socket: no more connections, and each one ends when what is queued for it is written. Returns whether all of it
    /// was written within `timeout`; the rest is lost. Messages that have arrived can still be received.
    pub async fn close(&self, timeout: Duration) -> bool {
        self.server.close(timeout).await
    }
}

/// Passes messages to `recv`. While nobody calls it, connections are not read.
#[derive(Debug)]
struct Inbox {
    sender: mpsc::Sender<(PeerId, Message)>,
}

impl Service for Inbox {
    async fn receive(&self, peer: &Peer, message: Message) -> Result<Meaning, ConnectionError> {
        self.sender.send((peer.id.clone(), message)).await.map_err(|_| ConnectionError::Closed)?;
        Ok(Meaning::Some)
    }
}

impl BoundService for Inbox {
    const SOCKET_TYPE: SocketType = SocketType::Router;
    const NAMES_BY_IDENTITY: bool = true;
}
