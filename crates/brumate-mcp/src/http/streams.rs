//! The event streams of one session: what was sent, for as long as a client may come back for it.
//!
//! A stream is a queue that a reader follows; writing to it never waits, so a reader that is slow or gone holds up
//! nobody. What exceeds the bounds is forgotten from the oldest on, except for answers, which end their stream and are
//! therefore newest.

use super::Resumption;
use super::store::{Journal, StoredStream};
use rmcp::ErrorData;
use rmcp::model::{
    CustomNotification, CustomRequest, CustomResult, ErrorCode, JsonRpcMessage, ProgressToken, RequestId,
    ServerJsonRpcMessage, ServerNotification, ServerRequest, ServerResult,
};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Notify;

/// The stream of messages that belong to no request.
pub(crate) const STANDALONE: u64 = 0;

/// One message, counted.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) number: u64,
    pub(crate) message: Arc<ServerJsonRpcMessage>,
    bytes: usize,
}

#[derive(Debug)]
struct Stream {
    events: VecDeque<Event>,
    bytes: usize,
    next: u64,
    /// Who reads, if anyone: readers are numbered.
    reader: Option<u64>,
    ended: Option<Instant>,
    changed: Arc<Notify>,
}

impl Stream {
    fn new() -> Self {
        Self { events: VecDeque::new(), bytes: 0, next: 1, reader: None, ended: None, changed: Arc::default() }
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
}

impl Streams {
    pub(crate) fn new(bounds: Resumption, journal: Option<Journal>) -> Self {
        let streams = BTreeMap::from([(STANDALONE, Stream::new())]);
        let (requests, tokens) = Default::default();
        Self { bounds, streams, next_stream: 1, next_reader: 1, requests, tokens, journal }
    }

    /// As an earlier process has left them. Requests that it was working on are answered: they have failed.
    pub(crate) fn restore(bounds: Resumption, journal: Journal, stored: Vec<StoredStream>) -> Self {
        let mut this = Self::new(bounds, None);
        let mut lost = Vec::new();
        for StoredStream { id, request, next, events } in stored {
            let mut stream = Stream::new();
            for (number, text) in events {
                let Some(message) = read(&text) else { continue };
                stream.bytes += text.len();
                stream.events.push_back(Event { number, message: Arc::new(message), bytes: text.len() });
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
            this.push(id, JsonRpcMessage::error(error, Some(request.clone())));
            this.end(&request);
        }
        this.forget_expired();
        this
    }

    /// Opens the stream of a request.
    pub(crate) fn open(&mut self, request: RequestId, token: Option<ProgressToken>) -> u64 {
        // Whoever uses an id again before its answer has given up the first request: that one's reader waits no longer.
        self.end(&request);
        self.forget_expired();
        let id = self.next_stream;
        self.next_stream += 1;
        self.streams.insert(id, Stream::new());
        if let Some(journal) = &self.journal {
            journal.open(id, &request);
        }
        self.requests.insert(request, id);
        if let Some(token) = token {
            self.tokens.insert(token, id);
        }
        id
    }

    /// The stream of a request that is not answered yet.
    pub(crate) fn of_request(&self, request: &RequestId) -> Option<u64> {
        self.requests.get(request).copied()
    }

    /// The stream of the request that chose this token.
    pub(crate) fn of_token(&self, token: &ProgressToken) -> Option<u64> {
        self.tokens.get(token).copied()
    }

    /// How many requests are not answered yet.
    pub(crate) fn running(&self) -> usize {
        self.requests.len()
    }

    /// Whether anyone reads any stream.
    pub(crate) fn is_read(&self) -> bool {
        self.streams.values().any(|stream| stream.reader.is_some())
    }

    /// Appends a message to a stream, or to the standalone one if there is no such stream any more.
    pub(crate) fn push(&mut self, id: u64, message: ServerJsonRpcMessage) {
        let text = serde_json::to_vec(&message).unwrap_or_default();
        let bytes = text.len();
        let id = if self.streams.contains_key(&id) { id } else { STANDALONE };
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let number = stream.next;
        stream.next += 1;
        stream.bytes += bytes;
        if let Some(journal) = &self.journal {
            journal.append(id, number, &text);
        }
        stream.events.push_back(Event { number, message: Arc::new(message), bytes });
        while stream.events.len() > 1 && (stream.events.len() > self.bounds.events || stream.bytes > self.bounds.bytes)
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

    /// Ends a request: its stream brings what it has and no more.
    pub(crate) fn end(&mut self, request: &RequestId) {
        let Some(id) = self.requests.remove(request) else { return };
        self.tokens.retain(|_, of| *of != id);
        if let Some(journal) = &self.journal {
            journal.end(id);
        }
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.ended = Some(Instant::now());
            stream.changed.notify_waiters();
        }
        self.forget_expired();
    }

    /// Forgets ended streams for which nobody comes back any more, and the oldest if there are too many or they are
    /// too large.
    pub(crate) fn forget_expired(&mut self) {
        let keep = self.bounds.keep;
        let over_time =
            |stream: &Stream| stream.reader.is_none() && stream.ended.is_some_and(|ended| ended.elapsed() >= keep);
        let journal = self.journal.clone();
        let forget = |id: u64| {
            if let Some(journal) = &journal {
                journal.forget(id, None);
            }
        };
        self.streams.retain(|id, stream| {
            let over = over_time(stream);
            if over {
                forget(*id);
            }
            !over
        });
        loop {
            let ended = |stream: &&Stream| stream.ended.is_some();
            let count = self.streams.values().filter(ended).count();
            let bytes: usize = self.streams.values().filter(ended).map(|stream| stream.bytes).sum();
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

    /// Takes the reader off a stream, which goes on without one.
    pub(crate) fn detach(&mut self, id: u64, reader: Option<u64>) {
        if let Some(stream) = self.streams.get_mut(&id)
            && (reader.is_none() || stream.reader == reader)
        {
            stream.reader = None;
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
        match stream.events.get(index) {
            Some(event) => Next::Event(event.clone()),
            None if stream.ended.is_some() => Next::End,
            None => Next::Wait(stream.changed.clone()),
        }
    }

    /// The number of the newest message of a stream.
    pub(crate) fn newest(&self, id: u64) -> Option<u64> {
        self.streams.get(&id).map(|stream| stream.next - 1)
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
mod tests {
    use super::*;
    use rmcp::model::{NumberOrString, ServerResult};
    use std::time::Duration;

    fn message(id: u32) -> ServerJsonRpcMessage {
        ServerJsonRpcMessage::response(ServerResult::empty(()), NumberOrString::Number(id.into()))
    }

    fn bounds(events: usize, bytes: usize, streams: usize) -> Resumption {
        Resumption { events, bytes, streams, keep: Duration::from_secs(60) }
    }

    fn request(id: u32) -> RequestId {
        NumberOrString::Number(id.into())
    }

    fn read(streams: &mut Streams, id: u64, reader: u64, mut after: u64) -> Vec<u64> {
        let mut numbers = Vec::new();
        while let Next::Event(event) = streams.next(id, reader, after, false) {
            after = event.number;
            numbers.push(event.number);
        }
        numbers
    }

    #[test]
    fn a_stream_keeps_its_newest_messages() {
        let mut streams = Streams::new(bounds(3, usize::MAX, 8), None);
        let id = streams.open(request(1), None);
        for number in 0..5 {
            streams.push(id, message(number));
        }
        let reader = streams.attach(id, true).expect("a stream");
        assert_eq!(read(&mut streams, id, reader, 0), [3, 4, 5]);
        assert_eq!(read(&mut streams, id, reader, 4), [5]);
    }

    #[test]
    fn one_message_is_kept_whatever_its_size() {
        let mut streams = Streams::new(bounds(8, 1, 8), None);
        let id = streams.open(request(1), None);
        streams.push(id, message(1));
        streams.push(id, message(2));
        let reader = streams.attach(id, true).expect("a stream");
        assert_eq!(read(&mut streams, id, reader, 0), [2]);
    }

    #[test]
    fn ended_streams_are_bounded_and_running_ones_stay() {
        let mut streams = Streams::new(bounds(8, usize::MAX, 2), None);
        let ids: Vec<_> = (1..=5).map(|number| streams.open(request(number), None)).collect();
        for number in [1, 2, 4, 5] {
            streams.end(&request(number));
        }
        let left: Vec<bool> = ids.iter().map(|id| streams.attach(*id, true).is_some()).collect();
        assert_eq!(left, [false, false, true, true, true]);
        assert_eq!(streams.running(), 1);
    }

    #[test]
    fn an_id_that_is_used_again_leaves_nobody_waiting() {
        let mut streams = Streams::new(bounds(8, usize::MAX, 8), None);
        let first = streams.open(request(1), None);
        let reader = streams.attach(first, true).expect("a stream");
        let second = streams.open(request(1), None);
        assert!(matches!(streams.next(first, reader, 0, false), Next::End));
        assert_eq!((streams.of_request(&request(1)), streams.running()), (Some(second), 1));
    }

    #[test]
    fn a_resumed_stream_has_one_reader() {
        let mut streams = Streams::new(bounds(8, usize::MAX, 8), None);
        let id = streams.open(request(1), None);
        let first = streams.attach(id, true).expect("a stream");
        streams.push(id, message(1));
        let second = streams.attach(id, true).expect("a stream");
        assert!(matches!(streams.next(id, first, 0, false), Next::End));
        assert!(matches!(streams.next(id, second, 0, false), Next::Event(_)));
    }

    #[test]
    fn a_second_standalone_reader_waits_for_the_first_to_leave() {
        let mut streams = Streams::new(bounds(8, usize::MAX, 8), None);
        let first = streams.attach(STANDALONE, false).expect("a stream");
        let second = streams.attach(STANDALONE, false).expect("a stream");
        streams.push(STANDALONE, message(1));
        assert!(matches!(streams.next(STANDALONE, second, 0, true), Next::Wait(_)));
        streams.detach(STANDALONE, Some(first));
        assert!(matches!(streams.next(STANDALONE, second, 0, true), Next::Event(_)));
    }
}
