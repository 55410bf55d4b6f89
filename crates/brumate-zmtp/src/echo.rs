//! REP that sends each message back.

use std::sync::Arc;
use std::time::Duration;

use crate::connection::{Meaning, Message, Service};
use crate::endpoint::Endpoint;
use crate::error::{BindError, ConnectionError};
use crate::limits::Limits;
use crate::peer::Peer;
use crate::server::{BoundService, Server};
use crate::socket_type::SocketType;

/// A bound REP socket that sends each message back as it came: the heartbeat of a Jupyter kernel.
///
/// It runs on tasks of its own, and closes when it is dropped.
#[derive(Debug)]
pub struct Echo {
    server: Server,
}

impl Echo {
    /// Binds a socket, which serves its peers from now on.
    pub async fn bind(endpoint: Endpoint, limits: Limits) -> Result<Self, BindError> {
        Ok(Self { server: Server::bind(endpoint, limits, Arc::new(Back)).await? })
    }

    /// Returns where it listens, with the port that was taken.
    pub fn local_endpoint(&self) -> &Endpoint {
        self.server.endpoint()
    }

    /// Closes the socket. Returns whether all that was queued was written within `timeout`; the rest is lost.
    pub async fn close(&self, timeout: Duration) -> bool {
        self.server.close(timeout).await
    }
}

#[derive(Debug)]
struct Back;

impl Service for Back {
    async fn receive(&self, peer: &Peer, message: Message) -> Result<Meaning, ConnectionError> {
        // The share of what has arrived is given back after the queue has taken the message.
        let Message { parts, share: _share } = message;
        // When it fails, the connection ends anyway.
        peer.outbox.send(Arc::new(parts)).await.map_err(|_| ConnectionError::Closed)?;
        Ok(Meaning::Some)
    }
}

impl BoundService for Back {
    const SOCKET_TYPE: SocketType = SocketType::Rep;
}
