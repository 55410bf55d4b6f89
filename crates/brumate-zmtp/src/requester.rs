//! REQ: a request, then its reply.

use bytes::Bytes;

use crate::Parts;
use crate::endpoint::Endpoint;
use crate::error::{ConnectError, ConnectionError};
use crate::limits::Limits;
use crate::link::Link;
use crate::socket_type::SocketType;
use crate::stream::Stream;

/// A connected REQ socket: sends a request and waits for its reply. It does not reconnect, and closes when it is dropped.
#[derive(Debug)]
pub struct Requester {
    link: Link,
    /// Replies to requests that were given up.
    owed: usize,
}

impl Requester {
    /// Connects to a socket.
    pub async fn connect(endpoint: &Endpoint, limits: Limits) -> Result<Self, ConnectError> {
        let link = Link::connect(endpoint, SocketType::Req, Bytes::new(), limits).await?;
        Ok(Self { link, owed: 0 })
    }

    /// Uses a stream that is connected.
    pub async fn from_stream(stream: impl Into<Stream>, limits: Limits) -> Result<Self, ConnectError> {
        let link = Link::from_stream(stream.into(), SocketType::Req, Bytes::new(), limits).await?;
        Ok(Self { link, owed: 0 })
    }

    /// Sends a request and waits for its reply. Replies come in the order of the requests. Replies to cancelled
    /// requests are skipped.
    pub async fn request(&mut self, parts: Parts) -> Result<Parts, ConnectionError> {
        let enveloped = std::iter::once(Bytes::new()).chain(parts).collect();
        if self.link.send(enveloped).await.is_err() {
            // The reason is what ended the connection.
            return Err(self.drain().await);
        }
        self.owed += 1;
        loop {
            let mut reply = self.link.recv().await?;
            // A message without an empty part in front is no reply.
            if reply.first().is_none_or(|delimiter| !delimiter.is_empty()) {
                continue;
            }
            self.owed -= 1;
            if self.owed == 0 {
                reply.remove(0);
                return Ok(reply);
            }
        }
    }

    async fn drain(&self) -> ConnectionError {
        loop {
            if let Err(error) = self.link.recv().await {
                return error;
            }
        }
    }
}
