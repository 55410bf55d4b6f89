//! The event streams of one session: messages, for as long as a client may come back for them.
//!
//! A stream is a queue that one reader follows. Writing never waits, so a reader that is slow or gone holds up nobody.
//! Beyond the limits the oldest messages are dropped. An answer ends its stream, so it is the newest message and stays.
//! An answer that is larger than the limit goes to the reader that is there, and is not kept.

mod restore;
mod stream;

use super::budget::{Account, Charge};
use super::charged_message::ChargedMessage;
use super::limits::ResumptionLimits;
use super::response_body::ResponseReservation;
use super::rpc_errors::not_kept;
use super::session_store::SessionJournal;
use rmcp::model::{ProgressToken, RequestId};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;
pub(crate) use stream::StreamEvent;
use stream::{EventStream, answer_to};
use tokio::sync::Notify;

/// The stream of messages that belong to no request.
pub(crate) const STANDALONE: u64 = 0;
/// The most bytes of the message that replaces an answer that is not kept.
const NOT_KEPT_BYTES: usize = 512;
/// The next event of a reader.
#[derive(Debug)]
pub(crate) enum NextEvent {
    /// The next message.
    Event(StreamEvent),
    /// No message yet.
    Wait(Arc<Notify>),
    /// No further message, or none for this reader.
    End,
}

/// All streams of a session.
#[derive(Debug)]
pub(crate) struct SessionStreams {
    limits: ResumptionLimits,
    streams: BTreeMap<u64, EventStream>,
    next_stream: u64,
    next_reader: u64,
    requests: HashMap<RequestId, u64>,
    tokens: HashMap<ProgressToken, u64>,
    /// The event store, if there is one.
    journal: Option<SessionJournal>,
    account: Account,
}

impl SessionStreams {
    pub(crate) fn new(limits: ResumptionLimits, journal: Option<SessionJournal>, account: Account) -> Self {
        let streams = BTreeMap::from([(STANDALONE, EventStream::new(None))]);
        let (requests, tokens) = Default::default();
        Self { limits, streams, next_stream: 1, next_reader: 1, requests, tokens, journal, account }
    }

    /// Opens the stream of a request. `None` if an unanswered request has the same id.
    pub(crate) fn open(
        &mut self,
        request: RequestId,
        token: Option<ProgressToken>,
        reservation: Option<ResponseReservation>,
    ) -> Option<u64> {
        if self.requests.contains_key(&request) {
            return None;
        }
        self.forget_expired();
        let id = self.next_stream;
        self.next_stream += 1;
        self.streams.insert(id, EventStream::new(reservation));
        if let Some(journal) = &self.journal {
            journal.open(id, &request);
        }
        self.requests.insert(request, id);
        if let Some(token) = token {
            self.tokens.insert(token, id);
        }
        Some(id)
    }

    /// Returns the stream of a request that is not answered yet.
    pub(crate) fn of_request(&self, request: &RequestId) -> Option<u64> {
        self.requests.get(request).copied()
    }

    /// Returns the stream of the request with this progress token.
    pub(crate) fn of_token(&self, token: &ProgressToken) -> Option<u64> {
        self.tokens.get(token).copied()
    }

    /// Takes the room that was reserved for the answer on a stream.
    pub(crate) fn reserved(&self, id: u64) -> Option<Charge> {
        self.streams.get(&id)?.reservation.as_ref()?.take()
    }

    /// Returns the number of unanswered requests.
    pub(crate) fn running(&self) -> usize {
        self.requests.len()
    }

    /// Returns the bytes of all messages of the session.
    pub(crate) fn bytes(&self) -> usize {
        self.streams.values().map(|stream| stream.bytes).sum()
    }

    /// Returns whether any stream has a reader.
    pub(crate) fn is_read(&self) -> bool {
        self.streams.values().any(|stream| stream.reader.is_some())
    }

    /// Appends a message to a stream, or to the standalone one if the stream is gone. An answer that is too large to be
    /// kept goes to the reader; without a reader, the client is told to send the request again. Other messages of that
    /// size are dropped.
    pub(crate) fn push(&mut self, id: u64, outgoing: ChargedMessage) {
        let id = if self.streams.contains_key(&id) { id } else { STANDALONE };
        let account = self.account.clone();
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let large = outgoing.text.len() > self.limits.max_bytes;
        let substitute = match answer_to(&outgoing.message).filter(|_| large) {
            Some(request) => Some(ChargedMessage::small(not_kept(&request, outgoing.text.len()), &account)),
            None if large => return,
            None => None,
        };
        let number = stream.next;
        stream.next += 1;
        if let Some(journal) = &self.journal {
            journal.append(id, number, substitute.as_ref().map_or(&outgoing.text, |substitute| &substitute.text));
        }
        let outgoing = match substitute {
            Some(substitute) if stream.reader.is_none() => substitute,
            _ => outgoing,
        };
        let ChargedMessage { message, text, charge } = outgoing;
        stream.bytes += text.len();
        let (message, charge) = (Arc::new(message), Arc::new(charge));
        stream.events.push_back(StreamEvent { number, message, bytes: text.len(), _charge: charge });
        // A message that is too large to be kept does not displace others.
        let newest = stream.events.back().map_or(0, |newest| newest.bytes);
        let too_large = if newest > self.limits.max_bytes { newest } else { 0 };
        while stream.events.len() > 1
            && (stream.events.len() > self.limits.max_events || stream.bytes - too_large > self.limits.max_bytes)
        {
            if let Some(oldest) = stream.events.pop_front() {
                stream.bytes -= oldest.bytes;
                if let Some(journal) = &self.journal {
                    journal.forget(id, Some(oldest.number));
                }
            }
        }
        stream.changed.notify_waiters();
    }

    /// Ends a request: its stream gets nothing more. Returns the stream.
    pub(crate) fn end(&mut self, request: &RequestId) -> Option<u64> {
        let id = self.requests.remove(request)?;
        self.tokens.retain(|_, of| *of != id);
        if let Some(journal) = &self.journal {
            journal.end(id);
        }
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.ended = Some(Instant::now());
            stream.reservation = None;
            stream.changed.notify_waiters();
        }
        self.forget_expired();
        Some(id)
    }

    /// Drops ended streams whose time is over, and the oldest ones if there are too many or they are too large.
    pub(crate) fn forget_expired(&mut self) {
        let keep = self.limits.retention;
        let journal = self.journal.clone();
        let forget = |id: u64| {
            if let Some(journal) = &journal {
                journal.forget(id, None);
            }
        };
        self.streams.retain(|id, stream| {
            let over = stream.is_over(keep);
            if over {
                forget(*id);
            }
            !over
        });
        loop {
            let ended = |stream: &&EventStream| stream.ended.is_some();
            let count = self.streams.values().filter(ended).count();
            let unread = self.streams.values().filter(ended).filter(|stream| stream.reader.is_none());
            let bytes: usize = unread.map(|stream| stream.bytes).sum();
            if count <= self.limits.max_streams && bytes <= self.limits.max_bytes {
                return;
            }
            // A stream with a reader ends by itself.
            let oldest = self.streams.iter().find(|(_, stream)| stream.ended.is_some() && stream.reader.is_none());
            let Some(oldest) = oldest.map(|(id, _)| *id) else { return };
            self.streams.remove(&oldest);
            forget(oldest);
        }
    }

    /// Drops an answered stream, unless a client reads it.
    pub(crate) fn forget(&mut self, id: u64) {
        if self.streams.get(&id).is_some_and(|stream| stream.ended.is_some() && stream.reader.is_none()) {
            self.streams.remove(&id);
            if let Some(journal) = &self.journal {
                journal.forget(id, None);
            }
        }
    }

    /// Attaches a reader to a stream: it replaces the current reader, or waits for it.
    pub(crate) fn attach(&mut self, id: u64, replace: bool) -> Option<u64> {
        let stream = self.streams.get_mut(&id)?;
        let reader = self.next_reader;
        self.next_reader += 1;
        if replace || stream.reader.is_none() {
            stream.reader = Some(reader);
            stream.changed.notify_waiters();
        }
        Some(reader)
    }

    /// Detaches the reader of a stream. A message that is too large to be kept goes with it.
    pub(crate) fn detach(&mut self, id: u64, reader: Option<u64>) {
        if let Some(stream) = self.streams.get_mut(&id)
            && (reader.is_none() || stream.reader == reader)
        {
            stream.reader = None;
            for index in 0..stream.events.len() {
                stream.shrink(index, self.limits.max_bytes, &self.account);
            }
            stream.changed.notify_waiters();
        }
    }

    /// Returns the first message after `after` for a reader. `waits` says whether a reader that was replaced waits for
    /// the other one to leave.
    pub(crate) fn next(&mut self, id: u64, reader: u64, after: u64, waits: bool) -> NextEvent {
        let Some(stream) = self.streams.get_mut(&id) else { return NextEvent::End };
        match stream.reader {
            Some(current) if current == reader => {}
            None if waits => stream.reader = Some(reader),
            _ if waits => return NextEvent::Wait(stream.changed.clone()),
            _ => return NextEvent::End,
        }
        // Numbers grow by one, but the oldest may be forgotten.
        let first = stream.events.front().map_or(stream.next, |event| event.number);
        let index = usize::try_from((after + 1).saturating_sub(first)).unwrap_or(usize::MAX);
        match stream.events.get(index).cloned() {
            Some(event) => {
                stream.shrink(index, self.limits.max_bytes, &self.account);
                NextEvent::Event(event)
            }
            None if stream.ended.is_some() => {
                stream.read = Some(Instant::now());
                NextEvent::End
            }
            None => NextEvent::Wait(stream.changed.clone()),
        }
    }

    /// Checks that the counted bytes are the held ones, and that streams without a reader are within the limits.
    ///
    /// # Panics
    ///
    /// Panics if they are not.
    pub(crate) fn check(&self) {
        for (id, stream) in &self.streams {
            let held: usize = stream.events.iter().map(|event| event.bytes).sum();
            assert_eq!(stream.bytes, held, "stream {id}");
            assert!(stream.events.len() <= self.limits.max_events.max(1), "stream {id}");
            if stream.reader.is_none() {
                // The message that replaces a large answer comes on top.
                assert!(held <= self.limits.max_bytes + NOT_KEPT_BYTES, "stream {id}: {held} bytes");
            }
            let numbers = stream.events.iter().map(|event| event.number);
            assert!(numbers.clone().zip(numbers.skip(1)).all(|(one, next)| next == one + 1), "stream {id}");
        }
    }

    /// Returns the number of the newest message of a stream.
    pub(crate) fn newest(&self, id: u64) -> Option<u64> {
        self.streams.get(&id).map(|stream| stream.next - 1)
    }
}

#[cfg(test)]
mod tests;
