//! A bound socket: it accepts connections, and keeps its peers.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing::debug;

use crate::Parts;
use crate::budget::Budget;
use crate::connection::{Connection, Service};
use crate::endpoint::Endpoint;
use crate::error::{BindError, ConnectionError, SendError};
use crate::handshake::{Handshake, in_time};
use crate::limits::Limits;
use crate::listener::{Listener, SocketFile};
use crate::outbox::Outbox;
use crate::peer::{Membership, Peer, PeerId, Peers};
use crate::socket_type::SocketType;
use crate::stream::Stream;

/// Pause after a connection that the system could not accept, when it is out of descriptors for instance.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A service of a bound socket.
pub(crate) trait BoundService: Service {
    /// Type of the socket.
    const SOCKET_TYPE: SocketType;
    /// Whether peers are named by their identity. Otherwise all names are generated.
    const NAMES_BY_IDENTITY: bool = false;

    /// Notes a peer. This call comes before its first message.
    fn joined(&self, _peer: &Arc<Peer>) {}

    /// Notes that a peer is gone.
    fn left(&self, _peer: &Peer) {}
}

/// A bound socket. It closes when it is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    endpoint: Endpoint,
    peers: Arc<Peers>,
    closing: CancellationToken,
    /// Task that accepts connections and owns them. `None` once the socket is closed.
    accepting: Mutex<Option<AbortOnDropHandle<bool>>>,
    file: Mutex<Option<SocketFile>>,
}

impl Server {
    /// Binds it. The service is dropped when the socket is closed and all its connections have ended.
    pub(crate) async fn bind<S: BoundService>(
        endpoint: Endpoint,
        limits: Limits,
        service: Arc<S>,
    ) -> Result<Self, BindError> {
        let (listener, endpoint, file) = Listener::bind(endpoint).await?;
        let (peers, closing) = (Arc::new(Peers::default()), CancellationToken::new());
        let shared = Arc::new(Shared {
            service,
            peers: Arc::clone(&peers),
            closing: closing.clone(),
            budget: Budget::new(&limits),
            limits,
        });
        let accepting = AbortOnDropHandle::new(tokio::spawn(accept(listener, shared)));
        Ok(Self { endpoint, peers, closing, accepting: Some(accepting).into(), file: file.into() })
    }

    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    pub(crate) async fn send(&self, id: &PeerId, parts: Parts) -> Result<(), SendError> {
        if parts.is_empty() {
            return Err(SendError::NoParts);
        }
        let peer = self.peers.get(id).ok_or(SendError::UnknownPeer)?;
        peer.outbox.send(Arc::new(parts)).await
    }

    pub(crate) async fn flush(&self, within: Duration) -> bool {
        let deadline = Instant::now() + within;
        let mut is_flushed = true;
        for peer in self.peers.all() {
            is_flushed &= peer.outbox.flush(deadline).await;
        }
        is_flushed
    }

    pub(crate) async fn close(&self, within: Duration) -> bool {
        let accepting = self.accepting.lock().take();
        self.closing.cancel();
        let is_flushed = match accepting {
            Some(accepting) => matches!(timeout(within, accepting).await, Ok(Ok(true))),
            None => true,
        };
        self.file.lock().take();
        is_flushed
    }
}

/// State that the connections of a socket share.
struct Shared<S> {
    service: Arc<S>,
    peers: Arc<Peers>,
    closing: CancellationToken,
    budget: Budget,
    limits: Limits,
}

/// Accepts connections until the socket closes, then waits for their ends. Returns whether all queues are written.
async fn accept<S: BoundService>(listener: Listener, shared: Arc<Shared<S>>) -> bool {
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            () = shared.closing.cancelled() => break,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        // Connections that have ended do not count.
        while connections.try_join_next().is_some() {}
        match accepted {
            Ok(stream) if connections.len() < shared.limits.peers => {
                let shared = Arc::clone(&shared);
                connections.spawn(async move { shared.serve(stream).await });
            }
            Ok(_) => debug!("a connection is closed: there are {} already", connections.len()),
            Err(error) => {
                debug!("a connection is not accepted: {error}");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    let mut is_flushed = true;
    while let Some(ended) = connections.join_next().await {
        is_flushed &= matches!(ended, Ok(true));
    }
    is_flushed
}

impl<S: BoundService> Shared<S> {
    /// Serves a connection. Returns whether its queue is written.
    async fn serve(&self, stream: Stream) -> bool {
        let mut handshake = Handshake::new(stream, S::SOCKET_TYPE, &self.limits);
        let (outbox, outgoing) = Outbox::new(&self.limits);
        let joined = tokio::select! {
            () = self.closing.cancelled() => return true,
            joined = in_time(self.limits.handshake_timeout, self.join(&mut handshake, outbox)) => joined,
        };
        let member = match joined {
            Ok(member) => member,
            Err(error) => {
                debug!("a connection ends in its handshake: {error}");
                return true;
            }
        };
        let peer = &member.membership.peer;
        let connection = Connection {
            incoming: handshake.incoming,
            writer: handshake.writer,
            outgoing,
            peer,
            service: &*self.service,
            budget: &self.budget,
            write_timeout: self.limits.write_timeout,
            message_timeout: self.limits.message_timeout,
            closing: &self.closing,
        };
        match connection.run().await {
            Ok(()) => true,
            Err(error) => {
                debug!("the connection of {:?} ends: {error}", peer.id);
                error == ConnectionError::Closed
            }
        }
    }

    async fn join(&self, handshake: &mut Handshake, outbox: Outbox) -> Result<Member<'_, S>, ConnectionError> {
        handshake.greet().await?;
        let identity = handshake.receive_ready().await?;
        let identity = if S::NAMES_BY_IDENTITY { identity } else { Default::default() };
        let membership = self.peers.join(identity, outbox).await;
        self.service.joined(&membership.peer);
        let member = Member { membership, service: &*self.service };
        handshake.send_ready(&[]).await?;
        Ok(member)
    }
}

/// A peer that the service knows of.
struct Member<'a, S: BoundService> {
    membership: Membership,
    service: &'a S,
}

impl<S: BoundService> Drop for Member<'_, S> {
    fn drop(&mut self) {
        self.service.left(&self.membership.peer);
    }
}
