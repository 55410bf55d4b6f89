//! A connection after its handshake: it passes messages to a service, and writes the messages of its queue.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::Parts;
use crate::budget::{Budget, Share};
use crate::command::Command;
use crate::error::{ConnectionError, ProtocolError};
use crate::frame::{Decoded, put_part_head};
use crate::incoming::Incoming;
use crate::limits::{CHUNK_BYTES, IGNORED, LINGER, SMALL_MESSAGE_BYTES};
use crate::outbox::Outgoing;
use crate::peer::Peer;

/// A message that has arrived.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) parts: Parts,
    /// Given back when the message is taken.
    pub(crate) share: Share,
}

/// Whether a message or a command had a meaning for the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// It had.
    Some,
    /// It had none. A connection may have a bounded number of these.
    None,
}

/// Receiver of the messages and subscriptions of a socket.
pub(crate) trait Service: Send + Sync + 'static {
    /// Takes a message. The connection reads no more until this returns.
    fn receive(&self, peer: &Peer, message: Message) -> impl Future<Output = Result<Meaning, ConnectionError>> + Send;

    /// Takes SUBSCRIBE, or CANCEL when `is_wanted` is false.
    fn subscribe(&self, _peer: &Peer, _topic: Bytes, _is_wanted: bool) -> Result<Meaning, ProtocolError> {
        Ok(Meaning::None)
    }
}

/// A connection whose handshake is done.
pub(crate) struct Connection<'a, S> {
    pub(crate) incoming: Incoming,
    pub(crate) writer: Box<dyn AsyncWrite + Send + Sync + Unpin>,
    pub(crate) outgoing: mpsc::Receiver<Outgoing>,
    pub(crate) peer: &'a Peer,
    pub(crate) service: &'a S,
    pub(crate) budget: &'a Budget,
    pub(crate) write_timeout: Duration,
    pub(crate) message_timeout: Duration,
    /// Cancelled to end the connection when its queue is written.
    pub(crate) closing: &'a CancellationToken,
}

impl<S: Service> Connection<'_, S> {
    /// Runs it to its end: `Ok` when this side has closed it and all is written.
    pub(crate) async fn run(mut self) -> Result<(), ConnectionError> {
        let mut reading = Reading {
            incoming: self.incoming,
            peer: self.peer,
            service: self.service,
            budget: self.budget,
            message_timeout: self.message_timeout,
        };
        let mut writing = Writing {
            writer: &mut self.writer,
            outgoing: self.outgoing,
            peer: self.peer,
            timeout: self.write_timeout,
            closing: self.closing,
        };
        // Neither side is first: each would use up the time of the task when it has enough to do.
        let written = tokio::select! {
            written = writing.run() => written,
            ended = reading.run() => ended,
            () = self.peer.outbox.too_slow() => Err(ConnectionError::TimedOut("read")),
        };
        if written.is_ok() {
            let _ = timeout(LINGER, reading.incoming.discard()).await;
        }
        written
    }
}

struct Reading<'a, S> {
    incoming: Incoming,
    peer: &'a Peer,
    service: &'a S,
    budget: &'a Budget,
    message_timeout: Duration,
}

impl<S: Service> Reading<'_, S> {
    /// Reads until the connection ends.
    async fn run(&mut self) -> Result<(), ConnectionError> {
        let mut ignored = 0;
        let mut share = Share::default();
        let mut deadline = None;
        loop {
            let meaning = match self.incoming.decode()? {
                Some(Decoded::Message(parts)) => {
                    let mut share = std::mem::take(&mut share);
                    self.budget.complete(&mut share);
                    deadline = None;
                    self.service.receive(self.peer, Message { parts, share }).await?
                }
                Some(Decoded::Command(body)) => self.command(body)?,
                None => {
                    self.read(&mut share, &mut deadline).await?;
                    Meaning::Some
                }
            };
            if meaning == Meaning::None {
                ignored += 1;
                if ignored > IGNORED {
                    return Err(ProtocolError::Ignored.into());
                }
            }
        }
    }

    /// Waits for room for the bytes that have arrived, then reads a piece.
    async fn read(&mut self, share: &mut Share, deadline: &mut Option<Instant>) -> Result<(), ConnectionError> {
        let held = self.incoming.held_bytes();
        if held <= SMALL_MESSAGE_BYTES {
            return self.incoming.read().await;
        }
        let until = deadline.unwrap_or_else(|| Instant::now() + self.message_timeout);
        let waited = Instant::now();
        self.budget.grow(share, held).await?;
        let until = *deadline.insert(until + waited.elapsed());
        let late = Err(ConnectionError::TimedOut("finish its message"));
        timeout_at(until, self.incoming.read()).await.unwrap_or(late)
    }

    fn command(&self, body: Bytes) -> Result<Meaning, ConnectionError> {
        match Command::parse(body)? {
            Command::Ping(context) => {
                self.peer.outbox.pong(context);
                Ok(Meaning::Some)
            }
            Command::Subscribe(topic) => Ok(self.service.subscribe(self.peer, topic, true)?),
            Command::Cancel(topic) => Ok(self.service.subscribe(self.peer, topic, false)?),
            Command::Error(reason) => Err(ConnectionError::Refused(reason)),
            Command::Ready(_) | Command::Other => Ok(Meaning::None),
        }
    }
}

struct Writing<'a> {
    writer: &'a mut (dyn AsyncWrite + Send + Sync + Unpin),
    outgoing: mpsc::Receiver<Outgoing>,
    peer: &'a Peer,
    timeout: Duration,
    closing: &'a CancellationToken,
}

impl Writing<'_> {
    /// Writes the messages of the queue until the socket is closing and the queue is empty.
    async fn run(&mut self) -> Result<(), ConnectionError> {
        let mut gathered = BytesMut::new();
        loop {
            let next = tokio::select! {
                biased;
                () = self.closing.cancelled(), if !self.outgoing.is_closed() => {
                    self.outgoing.close();
                    continue;
                }
                next = self.outgoing.recv() => next,
            };
            match next {
                Some(Outgoing::Message(parts, share)) => {
                    self.write_message(&parts, &mut gathered).await?;
                    drop(share);
                }
                Some(Outgoing::Pong(context)) => self.write(&self.peer.outbox.take_pong(&context)).await?,
                None => return self.shutdown().await,
            }
        }
    }

    /// Writes a message. Heads and short parts are gathered for as few writes as possible; long parts are not copied.
    async fn write_message(&mut self, parts: &Parts, gathered: &mut BytesMut) -> Result<(), ConnectionError> {
        for (index, part) in parts.iter().enumerate() {
            put_part_head(gathered, part.len(), index + 1 == parts.len());
            if gathered.len() + part.len() <= CHUNK_BYTES {
                gathered.extend_from_slice(part);
                continue;
            }
            self.write(gathered).await?;
            gathered.clear();
            self.write(part).await?;
        }
        self.write(gathered).await?;
        gathered.clear();
        Ok(())
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), ConnectionError> {
        for chunk in bytes.chunks(CHUNK_BYTES) {
            timeout(self.timeout, self.writer.write_all(chunk))
                .await
                .map_err(|_| ConnectionError::TimedOut("read"))??;
        }
        Ok(())
    }

    async fn shutdown(&mut self) -> Result<(), ConnectionError> {
        Ok(timeout(self.timeout, self.writer.shutdown()).await.map_err(|_| ConnectionError::TimedOut("read"))??)
    }
}
