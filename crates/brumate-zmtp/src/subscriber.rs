//! SUB: the messages of some topics.

use std::sync::Arc;

use bytes::{BufMut as _, Bytes, BytesMut};

use crate::Parts;
use crate::endpoint::Endpoint;
use crate::error::{ConnectError, ConnectionError, SendError};
use crate::limits::Limits;
use crate::link::Link;
use crate::socket_type::SocketType;
use crate::stream::Stream;

/// A connected SUB socket: receives the messages whose first part begins with one of its topics. It does not reconnect.
///
/// The other side chooses what it sends: a hostile one sends other messages, too. Clones are the same socket. It closes when the
/// last one is dropped.
#[derive(Debug, Clone)]
pub struct Subscriber {
    link: Arc<Link>,
}

impl Subscriber {
    /// Connects to a socket, and subscribes to topics; an empty one stands for all.
    pub async fn connect(endpoint: &Endpoint, topics: &[Bytes], limits: Limits) -> Result<Self, ConnectError> {
        Self::new(Link::connect(endpoint, SocketType::Sub, Bytes::new(), limits).await?, topics).await
    }

    /// Uses a stream that is connected.
    pub async fn from_stream(
        stream: impl Into<Stream>,
        topics: &[Bytes],
        limits: Limits,
    ) -> Result<Self, ConnectError> {
        Self::new(Link::from_stream(stream.into(), SocketType::Sub, Bytes::new(), limits).await?, topics).await
    }

    async fn new(link: Link, topics: &[Bytes]) -> Result<Self, ConnectError> {
        let subscriber = Self { link: Arc::new(link) };
        for topic in topics {
            subscriber.subscribe(topic).await.map_err(|_| ConnectionError::Closed)?;
        }
        Ok(subscriber)
    }

    /// Waits for the next message. Safe to cancel.
    ///
    /// # Errors
    ///
    /// The reason for the end of the connection, after all messages that arrived are taken.
    pub async fn recv(&self) -> Result<Parts, ConnectionError> {
        self.link.recv().await
    }

    /// Subscribes to a further topic.
    pub async fn subscribe(&self, topic: &[u8]) -> Result<(), SendError> {
        self.send(1, topic).await
    }

    /// Cancels a subscription to a topic.
    pub async fn cancel(&self, topic: &[u8]) -> Result<(), SendError> {
        self.send(0, topic).await
    }

    async fn send(&self, kind: u8, topic: &[u8]) -> Result<(), SendError> {
        let mut message = BytesMut::with_capacity(1 + topic.len());
        message.put_u8(kind);
        message.put_slice(topic);
        self.link.send(vec![message.freeze()]).await
    }
}
