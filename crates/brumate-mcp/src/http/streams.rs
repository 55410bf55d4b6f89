//! The event streams of one session: what was sent, for as long as a client may come back for it.
//!
//! A stream is a queue that a reader follows; writing to it never waits, so a reader that is slow or gone holds up
//! nobody. What exceeds the bounds is forgotten from the oldest on, except for answers, which end their stream and are
//! therefore newest. An answer that is larger than what is kept goes to the reader that is there, and is not kept.

use super::Resumption;
use super::budget::{Account, Charge};
use super::outgoing::Outgoing;
use super::output::Reservation;
use super::store::{Journal, StoredStream};
use super::unanswerable::not_kept;
use rmcp::ErrorData;
use rmcp::model::{
    CustomNotification, CustomRequest, CustomResult, ErrorCode, JsonRpcMessage, ProgressToken, RequestId,
    ServerJsonRpcMessage, ServerNotification, ServerRequest, ServerResult,
};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The stream of messages that belong to no request.
pub(crate) const STANDALONE: u64 = 0;
/// Bytes of the message that stands for an answer that is not kept, at most.
const NOT_KEPT_BYTES: usize = 512;
/// How long an answered stream is kept after its reader has taken all of it: the connection may have broken before the client
/// had it.
const KEEP_READ: Duration = Duration::from_secs(10);

/// A message and its size as JSON, on the account of the session's principal.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) number: u64,
    pub(crate) message: Arc<ServerJsonRpcMessage>,
    bytes: usize,
    _charge: Arc<Charge>,
}

#[derive(Debug)]
struct Stream {
    events: VecDeque<Event>,
    bytes: usize,
    next: u64,
    /// Who reads, if anyone: readers are numbered.
    reader: Option<u64>,
    ended: Option<Instant>,
    /// The time at which a reader had taken all of it, after its end.
    read: Option<Instant>,
    changed: Arc<Notify>,
    reservation: Option<Reservation>,
}

impl Stream {
    fn new(reservation: Option<Reservation>) -> Self {
        let (events, changed) = Default::default();
        Self { events, bytes: 0, next: 1, reader: None, ended: None, read: None, changed, reservation }
    }

    fn is_over(&self, keep: Duration) -> bool {
        let read = self.read.is_some_and(|read| read.elapsed() >= KEEP_READ.min(keep));
        self.reader.is_none() && (read || self.ended.is_some_and(|ended| ended.elapsed() >= keep))
    }
}

/// What a reader finds.
#[derive(Debug)]
pub(crate) enum Next {
    /// The next message.
    Event(Event),
    /// None yet.
    Wait(Arc<Notify>),
    /// None ever again, or not for this reader.
    End,
}

/// All streams of a session.
#[derive(Debug)]
pub(crate) struct Streams {
    bounds: Resumption,
    streams: BTreeMap<u64, Stream>,
    next_stream: u64,
    next_reader: u64,
    requests: HashMap<RequestId, u64>,
    tokens: HashMap<ProgressToken, u64>,
    /// Where all of it is kept beside, if it is.
    journal: Option<Journal>,
    account: Account,
}

impl Streams {
    pub(crate) fn new(bounds: Resumption, journal: Option<Journal>, account: Account) -> Self {
        let streams = BTreeMap::from([(STANDALONE, Stream::new(None))]);
        let (requests, tokens) = Default::default();
        Self { bounds, streams, next_stream: 1, next_reader: 1, requests, tokens, journal, account }
    }

    /// As an earlier process has left them. Requests that it was working on are answered: they have failed.
    pub(crate) fn restore(bounds: Resumption, journal: Journal, stored: Vec<StoredStream>, account: Account) -> Self {
        let mut this = Self::new(bounds, None, account);
        let mut lost = Vec::new();
        for StoredStream { id, request, next, events } in stored {
            let mut stream = Stream::new(None);
            for (number, text) in events {
                let Some(message) = read(&text) else { continue };
                stream.bytes += text.len();
                let charge = Arc::new(this.account.charge(text.len()));
                let message = Arc::new(message);
                stream.events.push_back(Event { number, message, bytes: text.len(), _charge: charge });
            }
            stream.next = next;
            let request = request.map(|request| serde_json::from_str::<RequestId>(&request));
            match request {
                Some(Ok(request)) => {
                    this.requests.insert(request.clone(), id);
                    lost.push((id, request));
                }
                _ if id != STANDALONE => stream.ended = Some(Instant::now()),
                _ => {}
            }
            this.next_stream = this.next_stream.max(id + 1);
            this.streams.insert(id, stream);
        }
        this.journal = Some(journal);
        for (id, request) in lost {
            let text = "the server ended while it worked on this request, which may have been done in part";
            let error = ErrorData::new(ErrorCode::INTERNAL_ERROR, text, None);
            let message = JsonRpcMessage::error(error, Some(request.clone()));
            let message = Outgoing::small(message, &this.account);
            this.push(id, message);
            this.end(&request);
        }
        this.forget_expired();
        this
    }

    /// Opens the stream of a request. `None` when an earlier request with this id is not answered yet.
    pub(crate) fn open(
        &mut self,
        request: RequestId,
        token: Option<ProgressToken>,
        reservation: Option<Reservation>,
    ) -> Option<u64> {
        if self.requests.contains_key(&request) {
            return None;
        }
        self.forget_expired();
        let id = self.next_stream;
        self.next_stream += 1;
        self.streams.insert(id, Stream::new(reservation));
        if let Some(journal) = &self.journal {
            journal.open(id, &request);
        }
        self.requests.insert(request, id);
        if let Some(token) = token {
            self.tokens.insert(token, id);
        }
        Some(id)
    }

    /// The stream of a request that is not answered yet.
    pub(crate) fn of_request(&self, request: &RequestId) -> Option<u64> {
        self.requests.get(request).copied()
    }

    /// The stream of the request that chose this token.
    pub(crate) fn of_token(&self, token: &ProgressToken) -> Option<u64> {
        self.tokens.get(token).copied()
    }

    /// Takes the room that was reserved for the answer on a stream.
    pub(crate) fn reserved(&self, id: u64) -> Option<Charge> {
        self.streams.get(&id)?.reservation.as_ref()?.take()
    }

    /// How many requests are not answered yet.
    pub(crate) fn running(&self) -> usize {
        self.requests.len()
    }

    /// Bytes of all messages of the session.
    pub(crate) fn bytes(&self) -> usize {
        self.streams.values().map(|stream| stream.bytes).sum()
    }

    /// Whether anyone reads any stream.
    pub(crate) fn is_read(&self) -> bool {
        self.streams.values().any(|stream| stream.reader.is_some())
    }

    /// Appends a message to a stream, or to the standalone one if there is no such stream any more. An answer that is larger than
    /// what is kept goes to whoever reads; if nobody does, the client is told to ask again. Other messages of that size are
    /// dropped.
    pub(crate) fn push(&mut self, id: u64, outgoing: Outgoing) {
        let id = if self.streams.contains_key(&id) { id } else { STANDALONE };
        let account = self.account.clone();
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let large = outgoing.text.len() > self.bounds.bytes;
        let substitute = match answer_to(&outgoing.message).filter(|_| large) {
            Some(request) => Some(Outgoing::small(not_kept(&request, outgoing.text.len()), &account)),
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
        let Outgoing { message, text, charge } = outgoing;
        stream.bytes += text.len();
        let (message, charge) = (Arc::new(message), Arc::new(charge));
        stream.events.push_back(Event { number, message, bytes: text.len(), _charge: charge });
        // What is too large to be kept leaves the others where they are.
        let newest = stream.events.back().map_or(0, |newest| newest.bytes);
        let too_large = if newest > self.bounds.bytes { newest } else { 0 };
        while stream.events.len() > 1
            && (stream.events.len() > self.bounds.events || stream.bytes - too_large > self.bounds.bytes)
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

    /// Ends a request: its stream brings what it has and no more. Returns the stream.
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

    /// Forgets ended streams for which nobody comes back any more, and the oldest if there are too many or they are
    /// too large.
    pub(crate) fn forget_expired(&mut self) {
        let keep = self.bounds.keep;
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
            let ended = |stream: &&Stream| stream.ended.is_some();
            let count = self.streams.values().filter(ended).count();
            let unread = self.streams.values().filter(ended).filter(|stream| stream.reader.is_none());
            let bytes: usize = unread.map(|stream| stream.bytes).sum();
            if count <= self.bounds.streams && bytes <= self.bounds.bytes {
                return;
            }
            // One with a reader is on its way out by itself.
            let oldest = self.streams.iter().find(|(_, stream)| stream.ended.is_some() && stream.reader.is_none());
            let Some(oldest) = oldest.map(|(id, _)| *id) else { return };
            self.streams.remove(&oldest);
            forget(oldest);
        }
    }

    /// Forgets a stream that was answered, unless somebody reads it.
    pub(crate) fn forget(&mut self, id: u64) {
        if self.streams.get(&id).is_some_and(|stream| stream.ended.is_some() && stream.reader.is_none()) {
            self.streams.remove(&id);
            if let Some(journal) = &self.journal {
                journal.forget(id, None);
            }
        }
    }

    /// A reader for a stream: in the place of the one it has, or after it.
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

    /// Takes the reader off a stream, which goes on without one, and without a message that is too large to be kept.
    pub(crate) fn detach(&mut self, id: u64, reader: Option<u64>) {
        if let Some(stream) = self.streams.get_mut(&id)
            && (reader.is_none() || stream.reader == reader)
        {
            stream.reader = None;
            for index in 0..stream.events.len() {
                stream.shrink(index, self.bounds.bytes, &self.account);
            }
            stream.changed.notify_waiters();
        }
    }

    /// The first message after `after` for a reader. `waits` says whether a reader whose place another has taken waits
    /// for it to leave.
    pub(crate) fn next(&mut self, id: u64, reader: u64, after: u64, waits: bool) -> Next {
        let Some(stream) = self.streams.get_mut(&id) else { return Next::End };
        match stream.reader {
            Some(current) if current == reader => {}
            None if waits => stream.reader = Some(reader),
            _ if waits => return Next::Wait(stream.changed.clone()),
            _ => return Next::End,
        }
        // Numbers grow by one, but the oldest may be forgotten.
        let first = stream.events.front().map_or(stream.next, |event| event.number);
        let index = usize::try_from((after + 1).saturating_sub(first)).unwrap_or(usize::MAX);
        match stream.events.get(index).cloned() {
            Some(event) => {
                stream.shrink(index, self.bounds.bytes, &self.account);
                Next::Event(event)
            }
            None if stream.ended.is_some() => {
                stream.read = Some(Instant::now());
                Next::End
            }
            None => Next::Wait(stream.changed.clone()),
        }
    }

    /// Checks that what is counted is what is held, and that nothing without a reader is beyond the bounds.
    ///
    /// # Panics
    ///
    /// When it is not.
    pub(crate) fn check(&self) {
        for (id, stream) in &self.streams {
            let held: usize = stream.events.iter().map(|event| event.bytes).sum();
            assert_eq!(stream.bytes, held, "stream {id}");
            assert!(stream.events.len() <= self.bounds.events.max(1), "stream {id}");
            if stream.reader.is_none() {
                // What stands for an answer that was too large comes on top.
                assert!(held <= self.bounds.bytes + NOT_KEPT_BYTES, "stream {id}: {held} bytes");
            }
            let numbers = stream.events.iter().map(|event| event.number);
            assert!(numbers.clone().zip(numbers.skip(1)).all(|(one, next)| next == one + 1), "stream {id}");
        }
    }

    /// The number of the newest message of a stream.
    pub(crate) fn newest(&self, id: u64) -> Option<u64> {
        self.streams.get(&id).map(|stream| stream.next - 1)
    }
}

impl Stream {
    /// Puts a small message in the place of one that is larger than `limit`, which nobody gets from here any more.
    fn shrink(&mut self, index: usize, limit: usize, account: &Account) {
        let Some(event) = self.events.get_mut(index).filter(|event| event.bytes > limit) else { return };
        let Some(request) = answer_to(&event.message) else { return };
        let Outgoing { message, text, charge } = Outgoing::small(not_kept(&request, event.bytes), account);
        self.bytes = self.bytes - event.bytes + text.len();
        let (message, charge) = (Arc::new(message), Arc::new(charge));
        *event = Event { number: event.number, message, bytes: text.len(), _charge: charge };
    }
}

/// The request that a message answers.
fn answer_to(message: &ServerJsonRpcMessage) -> Option<RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(response.id.clone()),
        JsonRpcMessage::Error(error) => error.id.clone(),
        _ => None,
    }
}

/// A message as it was sent, to the letter: what it means is not asked any more.
fn read(text: &str) -> Option<ServerJsonRpcMessage> {
    let Ok(Value::Object(mut message)) = serde_json::from_str(text) else { return None };
    let id = message.get("id").cloned().and_then(|id| serde_json::from_value::<RequestId>(id).ok());
    if let Some(result) = message.remove("result") {
        return Some(JsonRpcMessage::response(ServerResult::CustomResult(CustomResult::new(result)), id?));
    }
    if let Some(error) = message.remove("error") {
        return Some(JsonRpcMessage::error(serde_json::from_value(error).ok()?, id));
    }
    let method = message.get("method")?.as_str()?.to_owned();
    let params = message.remove("params");
    Some(match id {
        Some(id) => JsonRpcMessage::request(ServerRequest::CustomRequest(CustomRequest::new(method, params)), id),
        None => {
            let notification = CustomNotification::new(method, params);
            JsonRpcMessage::notification(ServerNotification::CustomNotification(notification))
        }
    })
}

#[cfg(test)]
mod tests;
