//! A connection that follows a stream of a session.

use super::super::streams::{Next, STANDALONE};
use super::Session;
use crate::sync::lock;
use futures::Stream;
use rmcp::transport::common::server_side_http::ServerSseMessage;
use std::sync::Arc;

/// Standalone streams that may wait behind the one that is read.
const MAX_WAITING_READERS: usize = 4;

/// The first protocol version whose clients expect a stream to begin with an empty event (SEP-1699).
const PRIMED_SINCE: &str = "2025-11-25";

impl Session {
    /// A stream of messages after `after`, with an empty first one where clients expect it.
    pub(super) fn read(self: &Arc<Self>, stream: u64, after: u64, replace: bool) -> Option<Reader> {
        let waits = !replace && stream == STANDALONE;
        if waits {
            let mut waiting = lock(&self.waiting);
            if *waiting > MAX_WAITING_READERS {
                return None;
            }
            *waiting += 1;
        }
        let attached = lock(&self.streams).attach(stream, replace);
        let reader = Reader {
            session: self.clone(),
            stream,
            reader: attached.unwrap_or_default(),
            after,
            waits,
            primed: lock(&self.version).as_str() < PRIMED_SINCE,
        };
        attached.map(|_| reader)
    }
}

/// Follows a stream until it ends or another follows it.
pub(super) struct Reader {
    session: Arc<Session>,
    stream: u64,
    reader: u64,
    after: u64,
    waits: bool,
    primed: bool,
}

impl Drop for Reader {
    fn drop(&mut self) {
        if self.waits {
            *lock(&self.session.waiting) -= 1;
        }
        self.session.touch();
        let mut streams = lock(&self.session.streams);
        streams.detach(self.stream, Some(self.reader));
        streams.forget_expired();
    }
}

impl Reader {
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
                    Next::Event(event) => {
                        drop(streams);
                        self.after = event.number;
                        let mut message = ServerSseMessage::default();
                        message.event_id = Some(id(&self));
                        message.message = Some(event.message);
                        return Some((message, self));
                    }
                    Next::End => return None,
                    // Made before the lock is given back: it sees every change after that.
                    Next::Wait(changed) => changed.notified_owned(),
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
