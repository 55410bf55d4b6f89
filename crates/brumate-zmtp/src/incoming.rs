//! Messages and commands of a peer, read from its stream.

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::error::{ConnectionError, ProtocolError};
use crate::frame::{Decoded, Decoder};
use crate::greeting::{self, GREETING_BYTES};
use crate::limits::{CHUNK_BYTES, Limits};

/// The reading side of a connection.
pub(crate) struct Incoming {
    reader: Box<dyn AsyncRead + Send + Sync + Unpin>,
    received: BytesMut,
    decoder: Decoder,
}

impl Incoming {
    /// Makes one that expects a greeting, and commands after it.
    pub(crate) fn new(reader: Box<dyn AsyncRead + Send + Sync + Unpin>, limits: &Limits) -> Self {
        Self { reader, received: BytesMut::new(), decoder: Decoder::new(limits) }
    }

    /// Reads the greeting.
    pub(crate) async fn greeting(&mut self) -> Result<(), ConnectionError> {
        loop {
            greeting::check(&self.received[..self.received.len().min(GREETING_BYTES)])?;
            if self.received.len() >= GREETING_BYTES {
                drop(self.received.split_to(GREETING_BYTES));
                return Ok(());
            }
            self.read().await?;
        }
    }

    /// Reads a command. A message is an error.
    pub(crate) async fn command(&mut self) -> Result<bytes::Bytes, ConnectionError> {
        loop {
            match self.decode()? {
                Some(Decoded::Command(body)) => return Ok(body),
                Some(Decoded::Message(_)) => return Err(ProtocolError::NotReady.into()),
                None => self.read().await?,
            }
        }
    }

    /// Takes messages from now on.
    pub(crate) fn take_messages(&mut self) {
        self.decoder.take_messages();
    }

    /// Returns the next message or command that has arrived in full.
    pub(crate) fn decode(&mut self) -> Result<Option<Decoded>, ProtocolError> {
        self.decoder.decode(&mut self.received)
    }

    /// Returns the bytes that a message which has not ended holds.
    pub(crate) fn held_bytes(&self) -> usize {
        self.decoder.held_bytes()
    }

    /// Reads more, which [`decode`](Self::decode) then looks at.
    pub(crate) async fn read(&mut self) -> Result<(), ConnectionError> {
        // A greeting or a head may be there in part. The buffer never grows.
        self.received.reserve(CHUNK_BYTES - self.received.len().min(CHUNK_BYTES / 2));
        match self.reader.read_buf(&mut self.received).await? {
            0 => Err(ConnectionError::Closed),
            _ => Ok(()),
        }
    }

    /// Reads until the peer closes its side, and keeps nothing. A connection that is closed with something unread may lose what is
    /// on its way to the peer.
    pub(crate) async fn discard(&mut self) {
        loop {
            self.received.clear();
            if self.read().await.is_err() {
                return;
            }
        }
    }
}
