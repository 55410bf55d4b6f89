//! DEALER: messages in both directions.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::Parts;
use crate::endpoint::Endpoint;
use crate::error::{ConnectError, ConnectionError, SendError};
use crate::limits::Limits;
use crate::link::Link;
use crate::socket_type::SocketType;
use crate::stream::Stream;

/// A connected DEALER socket: sends and receives messages. It does not reconnect.
///
/// Clones are the same socket. It closes when the last one is dropped, or with [`close`](Self::close).
#[derive(Debug, Clone)]
pub struct Dealer {
    link: Arc<Link>,
}

impl Dealer {
    /// Connects to a socket. With an empty identity the other side chooses a name.
    pub async fn connect(endpoint: &Endpoint, identity: Bytes, limits: Limits) -> Result<Self, ConnectError> {
        let link = Link::connect(endpoint, SocketType::Dealer, identity, limits).await?;
        Ok(Self { link: Arc::new(link) })
    }

    /// Uses a stream that is connected.
    pub async fn from_stream(stream: impl Into<Stream>, identity: Bytes, limits: Limits) -> Result<Self, ConnectError> {
        let link = Link::from_stream(stream.into(), SocketType::Dealer, identity, limits).await?;
        Ok(Self { link: Arc::new(link) })
    }

    /// Waits for the next message. Safe to cancel.
    ///
    /// # Errors
    ///
    /// The reason for the end of the connection, after all messages that arrived are taken.
    pub async fn recv(&self) -> Result<Parts, ConnectionError> {
        self.link.recv().await
    }

    /// Queues a message. Waits for room in the queue, up to [`Limits::write_timeout`]. Then the connection ends.
    pub async fn send(&self, parts: Parts) -> Result<(), SendError> {
        self.link.send(parts).await
    }

    /// Ends the connection when its queue is written. Returns whether that was within `timeout`; the rest is lost.
    pub async fn close(&self, timeout: Duration) -> bool {
        self.link.close(timeout).await
    }
}
