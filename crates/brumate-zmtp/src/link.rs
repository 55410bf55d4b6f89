//! The connection of a client.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Mutex, mpsc};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::Parts;
use crate::budget::Budget;
use crate::connection::{Connection, Meaning, Message, Service};
use crate::endpoint::Endpoint;
use crate::error::{ConnectError, ConnectionError, SendError};
use crate::handshake::{Handshake, in_time};
use crate::limits::{INBOX_MESSAGES, Limits};
use crate::outbox::{Outbox, Outgoing};
use crate::peer::{Peer, PeerId};
use crate::socket_type::SocketType;
use crate::stream::{self, Stream};

/// A connected socket with one peer. The connection ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Link {
    peer: Arc<Peer>,
    received: Mutex<mpsc::Receiver<Message>>,
    /// Reason for the end of the connection.
    end: Arc<OnceLock<ConnectionError>>,
    closing: CancellationToken,
    running: parking_lot::Mutex<Option<AbortOnDropHandle<bool>>>,
}

impl Link {
    pub(crate) async fn connect(
        endpoint: &Endpoint,
        socket_type: SocketType,
        identity: Bytes,
        limits: Limits,
    ) -> Result<Self, ConnectError> {
        let failed = |source| ConnectError::Io { endpoint: endpoint.clone(), source };
        let late = |_| failed(std::io::ErrorKind::TimedOut.into());
        let stream = timeout(limits.handshake_timeout, stream::connect(endpoint)).await.map_err(late)?;
        Self::from_stream(stream.map_err(failed)?, socket_type, identity, limits).await
    }

    pub(crate) async fn from_stream(
        stream: Stream,
        socket_type: SocketType,
        identity: Bytes,
        limits: Limits,
    ) -> Result<Self, ConnectError> {
        let mut handshake = Handshake::new(stream, socket_type, &limits);
        let greeted = async {
            handshake.greet().await?;
            handshake.send_ready(&identity).await?;
            handshake.receive_ready().await
        };
        let name = in_time(limits.handshake_timeout, greeted).await?;
        Ok(Self::run(handshake, name, limits))
    }

    fn run(handshake: Handshake, name: Bytes, limits: Limits) -> Self {
        let (outbox, outgoing) = Outbox::new(&limits);
        let (sender, received) = mpsc::channel(INBOX_MESSAGES);
        let running = Running {
            handshake,
            outgoing,
            inbox: Inbox { sender },
            peer: Arc::new(Peer { id: PeerId::new(name), outbox }),
            limits,
            closing: CancellationToken::new(),
            end: Arc::default(),
        };
        Self {
            peer: Arc::clone(&running.peer),
            received: Mutex::new(received),
            end: Arc::clone(&running.end),
            closing: running.closing.clone(),
            running: Some(AbortOnDropHandle::new(tokio::spawn(running.run()))).into(),
        }
    }

    /// Waits for the next message. Safe to cancel.
    pub(crate) async fn recv(&self) -> Result<Parts, ConnectionError> {
        match self.received.lock().await.recv().await {
            Some(message) => Ok(message.parts),
            None => Err(self.end.get().cloned().unwrap_or(ConnectionError::Closed)),
        }
    }

    /// Queues a message. Waits for room.
    pub(crate) async fn send(&self, parts: Parts) -> Result<(), SendError> {
        if parts.is_empty() {
            return Err(SendError::NoParts);
        }
        self.peer.outbox.send(Arc::new(parts)).await
    }

    /// Ends the connection when its queue is written. Returns whether that was within `within`.
    pub(crate) async fn close(&self, within: Duration) -> bool {
        let running = self.running.lock().take();
        self.closing.cancel();
        match running {
            Some(running) => matches!(timeout(within, running).await, Ok(Ok(true))),
            None => true,
        }
    }
}

/// State of the task of a connection.
struct Running {
    handshake: Handshake,
    outgoing: mpsc::Receiver<Outgoing>,
    inbox: Inbox,
    peer: Arc<Peer>,
    limits: Limits,
    closing: CancellationToken,
    end: Arc<OnceLock<ConnectionError>>,
}

impl Running {
    /// Runs the connection. Returns whether its queue is written.
    async fn run(self) -> bool {
        let Self { handshake, outgoing, inbox, peer, limits, closing, end } = self;
        let connection = Connection {
            incoming: handshake.incoming,
            writer: handshake.writer,
            outgoing,
            peer: &peer,
            service: &inbox,
            budget: &Budget::new(&limits),
            write_timeout: limits.write_timeout,
            message_timeout: limits.message_timeout,
            closing: &closing,
        };
        let ended = connection.run().await;
        let is_flushed = ended.is_ok();
        let _ = end.set(ended.err().unwrap_or(ConnectionError::Closed));
        peer.outbox.close();
        // Calls that receive see the end after this.
        drop(inbox);
        is_flushed
    }
}

#[derive(Debug)]
struct Inbox {
    sender: mpsc::Sender<Message>,
}

impl Service for Inbox {
    async fn receive(&self, _peer: &Peer, message: Message) -> Result<Meaning, ConnectionError> {
        self.sender.send(message).await.map_err(|_| ConnectionError::Closed)?;
        Ok(Meaning::Some)
    }
}
