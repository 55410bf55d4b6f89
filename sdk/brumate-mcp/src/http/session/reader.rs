//! Readers: connections that follow a stream of a session.

use super::super::streams::{NextEvent, STANDALONE};
use super::Session;
use crate::sync::lock;
use futures::Stream;
use rmcp::transport::common::server_side_http::ServerSseMessage;
use std::sync::Arc;

/// The most standalone streams that wait behind the one that is read.
const MAX_WAITING_READERS: usize = 4;

/// The first protocol version whose clients expect a stream to begin with an empty event (SEP-1699).
const PRIMED_SINCE: &str = "2025-11-25";

impl Session {
    /// Returns a reader for the messages after `after`. It begins with an empty event for clients that expect one.
    pub(super) fn read(self: &Arc<Self>, stream: u64, after: u64, replace: bool) -> Option<StreamReader> {
        let waits = !replace && stream == STANDALONE;
        if waits {
            let mut client = lock(&self.client);
            if client.readers > MAX_WAITING_READERS {
                return None;
            }
            client.readers += 1;
        }
        let attached = lock(&self.streams).attach(stream, replace);
        let reader = StreamReader {
            session: self.clone(),
            stream,
            reader: attached.unwrap_or_default(),
            after,
            waits,
            primed: lock(&self.client).version.as_str() < PRIMED_SINCE,
        };
        attached.map(|_| reader)
    }
}

/// Reads a stream until it ends or another reader takes it over.
pub(super) struct StreamReader {
    session: Arc<Session>,
    stream: u64,
    reader: u64,
    after: u64,
    waits: bool,
    primed: bool,
}

impl Drop for StreamReader {
    fn drop(&mut self) {
        if self.waits {
            lock(&self.session.client).readers -= 1;
        }
        self.session.touch();
        let mut streams = lock(&self.session.streams);
        streams.detach(self.stream, Some(self.reader));
        streams.forget_expired();
    }
}

impl StreamReader {
    async fn next(mut self) -> Option<(ServerSseMessage, Self)> {
        let id = |reader: &Self| format!("{}-{}", reader.stream, reader.after);
        if !self.primed {
            self.primed = true;
            return Some((ServerSseMessage::priming(id(&self), self.session.retry), self));
        }
        let ended = self.session.ended.clone();
        loop {
            let changed = {
                let mut streams = lock(&self.session.streams);
                match streams.next(self.stream, self.reader, self.after, self.waits) {
                    NextEvent::Event(event) => {
                        drop(streams);
                        self.after = event.number;
                        let mut message = ServerSseMessage::default();
                        message.event_id = Some(id(&self));
                        message.message = Some(event.message);
                        return Some((message, self));
                    }
                    NextEvent::End => return None,
                    // Made under the lock, so that it sees every later change.
                    NextEvent::Wait(changed) => changed.notified_owned(),
                }
            };
            tokio::select! {
                () = changed => {}
                () = ended.cancelled() => return None,
            }
        }
    }

    pub(super) fn into_stream(self) -> impl Stream<Item = ServerSseMessage> + Send + Sync + 'static {
        futures::stream::unfold(self, Self::next)
    }
}
