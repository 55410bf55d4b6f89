//! The handshake: greetings, then READY.

use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::time::timeout;

use crate::command::{self, Command, Ready, SHORT_BYTES};
use crate::error::{ConnectionError, ProtocolError};
use crate::incoming::Incoming;
use crate::limits::{LINGER, Limits};
use crate::socket_type::SocketType;
use crate::stream::Stream;

/// A connection in its handshake. It keeps the last bytes of the peer only.
pub(crate) struct Handshake {
    pub(crate) incoming: Incoming,
    pub(crate) writer: Box<dyn AsyncWrite + Send + Sync + Unpin>,
    socket_type: SocketType,
}

impl Handshake {
    pub(crate) fn new(stream: Stream, socket_type: SocketType, limits: &Limits) -> Self {
        Self { incoming: Incoming::new(stream.reader, limits), writer: stream.writer, socket_type }
    }

    /// Exchanges greetings. This side's is written in one piece: others wait for the version before they go on.
    pub(crate) async fn greet(&mut self) -> Result<(), ConnectionError> {
        self.writer.write_all(&crate::greeting::greeting()).await?;
        self.incoming.greeting().await
    }

    /// Sends READY.
    pub(crate) async fn send_ready(&mut self, identity: &[u8]) -> Result<(), ConnectionError> {
        Ok(self.writer.write_all(&command::ready(self.socket_type, identity)).await?)
    }

    /// Waits for READY, and returns the identity in it. A peer that does not go with this socket gets ERROR.
    pub(crate) async fn receive_ready(&mut self) -> Result<Bytes, ConnectionError> {
        let command = Command::parse(self.incoming.command().await?)?;
        let checked = match command {
            Command::Ready(ready) => self.check(ready),
            Command::Error(reason) => return Err(ConnectionError::Refused(reason)),
            _ => Err(ProtocolError::NotReady),
        };
        match checked {
            Ok(identity) => {
                self.incoming.take_messages();
                Ok(identity)
            }
            Err(error) => {
                self.refuse(&error).await;
                Err(error.into())
            }
        }
    }

    fn check(&self, ready: Ready) -> Result<Bytes, ProtocolError> {
        if !ready.socket_type.is_some_and(|other| self.socket_type.goes_with(other)) {
            return Err(ProtocolError::SocketType(self.socket_type.name()));
        }
        if ready.identity.len() > SHORT_BYTES || ready.identity.first() == Some(&0) {
            return Err(ProtocolError::Identity);
        }
        Ok(ready.identity)
    }

    /// Sends the reason to the peer, if it listens.
    async fn refuse(&mut self, error: &ProtocolError) {
        let refused = async {
            self.writer.write_all(&command::error(&error.to_string())).await?;
            self.writer.shutdown().await?;
            self.incoming.discard().await;
            Ok::<(), std::io::Error>(())
        };
        let _ = timeout(LINGER, refused).await;
    }
}

/// Limits how long a handshake takes.
pub(crate) async fn in_time<T>(
    limit: Duration,
    handshake: impl Future<Output = Result<T, ConnectionError>>,
) -> Result<T, ConnectionError> {
    timeout(limit, handshake).await.unwrap_or(Err(ConnectionError::TimedOut("finish the handshake")))
}
