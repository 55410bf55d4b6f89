//! Bodies of answers over HTTP: media types, and events of bounded size.

use super::answers::{failure, readable, too_long};
use ::http::header::CONTENT_TYPE;
use brumate_json::Envelopes;
use bytes::{Bytes, BytesMut};
use futures::stream::BoxStream;
use futures::{Stream, StreamExt as _};
use reqwest::Response;
use rmcp::transport::streamable_http_client::SseError;
use sse_stream::{Sse, SseStream};
use std::borrow::Cow;
use std::io;

/// The largest message, in bytes, and the largest event.
pub(super) const MAX_MESSAGE: usize = 16 << 20;

/// Returns an answer's media type, without its parameters.
pub(super) fn media_type(response: &Response) -> Option<String> {
    let value = response.headers().get(CONTENT_TYPE)?.to_str().ok()?;
    Some(value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
}

/// Returns the events of an answer. Their messages are as rmcp can parse them.
pub(super) fn events(response: Response) -> BoxStream<'static, Result<Sse, SseError>> {
    let events = SseStream::from_bytes_stream(bounded(response.bytes_stream(), MAX_MESSAGE));
    let prepare = |mut event: Sse| {
        if let Some(data) = event.data.as_mut().filter(|data| data.trim_ascii_start().starts_with('{'))
            && let Cow::Owned(mended) = readable(data)
        {
            *data = mended;
        }
        event
    };
    events.map(move |event| event.map(prepare)).boxed()
}

/// Passes on events of at most `limit` bytes. A longer event is skipped. In its place come errors for the calls that it answers.
fn bounded<E: std::error::Error + Send + Sync + 'static>(
    bytes: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    limit: usize,
) -> impl Stream<Item = Result<Bytes, io::Error>> + Send + 'static {
    let end = futures::stream::once(std::future::ready(None));
    let filter = EventFilter { limit, held: BytesMut::new(), line: LineState::Start, skipped: None };
    bytes
        .map(Some)
        .chain(end)
        .scan(filter, |filter, part| {
            let passed: Vec<io::Result<Bytes>> = match part {
                Some(Ok(part)) => filter.feed(&part).into_iter().map(Ok).collect(),
                // An event that is cut off answers nothing. Its calls fail all the same.
                Some(Err(error)) => {
                    let rest = filter.end_event().into_iter().map(Ok);
                    rest.chain([Err(io::Error::other(error))]).collect()
                }
                None => filter.end_event().into_iter().map(Ok).collect(),
            };
            std::future::ready(Some(futures::stream::iter(passed)))
        })
        .flatten()
}

/// Holds the bytes of an event back until its end, so that an event that is too long can be replaced.
struct EventFilter {
    limit: usize,
    /// One buffer: a server may send an event byte by byte.
    held: BytesMut,
    line: LineState,
    /// The messages of an event that is too long, while its rest is skipped.
    skipped: Option<SkippedEvent>,
}

/// The place in a line. Lines end with CR, LF or both.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineState {
    Start,
    /// At the start of a line, after a CR that may have an LF.
    AfterCr,
    /// After the CR of an empty line: the event ends here, or after the LF.
    AfterEmptyCr,
    Within,
}

impl EventFilter {
    /// Takes bytes. Returns the bytes of the events that have ended.
    fn feed(&mut self, part: &Bytes) -> Vec<Bytes> {
        let mut passed = Vec::new();
        let mut begin = 0;
        for (index, byte) in part.iter().enumerate() {
            let end = match (self.line, byte) {
                (LineState::AfterEmptyCr, b'\n') => Some(index + 1),
                (LineState::AfterEmptyCr, _) => Some(index),
                (LineState::Start, b'\n') => Some(index + 1),
                _ => None,
            };
            let at_start = end == Some(index) || matches!(self.line, LineState::Start | LineState::AfterCr);
            self.line = match byte {
                b'\n' => LineState::Start,
                b'\r' if at_start => LineState::AfterEmptyCr,
                b'\r' => LineState::AfterCr,
                _ => LineState::Within,
            };
            if let Some(end) = end {
                self.take(&part[begin..end]);
                passed.extend(self.end_event());
                begin = end;
            }
        }
        self.take(&part[begin..]);
        if self.line == LineState::AfterEmptyCr {
            // The LF may never come. If it comes later, it is no line of its own.
            self.line = LineState::AfterCr;
            passed.extend(self.end_event());
        }
        passed
    }

    fn take(&mut self, bytes: &[u8]) {
        if self.skipped.is_none() && self.held.len() + bytes.len() > self.limit {
            let mut skipped = SkippedEvent::default();
            skipped.feed(&std::mem::take(&mut self.held));
            self.skipped = Some(skipped);
        }
        match &mut self.skipped {
            Some(skipped) => skipped.feed(bytes),
            None => self.held.extend_from_slice(bytes),
        }
    }

    /// Returns the bytes of the event that ends, or of the errors in its place.
    fn end_event(&mut self) -> Vec<Bytes> {
        let Some(skipped) = self.skipped.take() else {
            let held = std::mem::take(&mut self.held).freeze();
            return if held.is_empty() { Vec::new() } else { vec![held] };
        };
        let reason = too_long(self.limit);
        let failures = skipped.envelopes.finish().into_iter().filter_map(|envelope| failure(envelope, &reason));
        failures.map(|failure| format!("data: {failure}\n\n").into()).collect()
    }
}

/// The messages of an event that is too long.
#[derive(Default)]
struct SkippedEvent {
    envelopes: Envelopes,
    /// The first bytes of the line, as many as [`SkippedEvent::DATA`] has.
    field: Vec<u8>,
}

impl SkippedEvent {
    /// The field whose value is a message.
    const DATA: &[u8] = b"data:";

    fn feed(&mut self, mut part: &[u8]) {
        while let Some((first, rest)) = part.split_first() {
            if matches!(first, b'\n' | b'\r') {
                self.field.clear();
                part = rest;
            } else if self.field.len() < Self::DATA.len() {
                self.field.push(*first);
                part = rest;
            } else {
                let end = part.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(part.len());
                if self.field == Self::DATA {
                    self.envelopes.feed(&part[..end]);
                }
                part = &part[end..];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Passes a stream through a filter of 64 bytes, in parts of `length` bytes. Returns the output as one text.
    async fn passed(stream: &str, length: usize) -> String {
        let parts: Vec<_> =
            stream.as_bytes().chunks(length).map(|part| Ok::<_, io::Error>(Bytes::copy_from_slice(part))).collect();
        let parts: Vec<_> = bounded(futures::stream::iter(parts), 64).collect().await;
        parts.into_iter().map(|part| String::from_utf8(part.expect("no error").to_vec()).expect("UTF-8")).collect()
    }

    #[tokio::test]
    async fn events_are_bounded_and_streams_are_not() {
        for ends in ["\n\n", "\r\n\r\n", "\r\r"] {
            let stream = format!("data: a{ends}: comment{ends}id: 1\ndata: {}{ends}", "b".repeat(40)).repeat(10);
            for length in [1, 7, 1000] {
                assert_eq!(passed(&stream, length).await, stream, "{ends:?} {length}");
            }
        }
        // An event that has ended does not wait for the next one.
        let endless = futures::stream::iter([Ok::<_, io::Error>(Bytes::from_static(b"data: a\r\n\r"))]);
        let mut events = Box::pin(bounded(endless.chain(futures::stream::pending()), 64));
        assert_eq!(events.next().await.expect("an event").expect("no error"), &b"data: a\r\n\r"[..]);
    }

    #[tokio::test]
    async fn an_event_that_is_too_long_fails_its_call() {
        let long = "x".repeat(100);
        let error = |id: &str| format!(r#"data: {{"jsonrpc":"2.0","id":{id},"error":{{"code":-32700,"message":"#);
        for (message, ids) in [
            (format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"id":1,"x":"{long}"}}}}"#), &["7"][..]),
            (format!(r#"{{"result":{{"x":"{long}"}},"jsonrpc":"2.0","id":"seven"}}"#), &["\"seven\""]),
            (format!(r#"[{{"id":1,"result":"{long}"}},{{"id":2,"result":0}}]"#), &["1", "2"]),
            (format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"x":"{long}"}}}}"#), &[]),
        ] {
            // Over several lines of data, which belong together.
            let (one, two) = message.split_at(30);
            for event in [format!("id: 3-1\ndata: {message}"), format!("event: message\r\ndata: {one}\r\ndata: {two}")]
            {
                for (ends, after) in [("\n\n", "data: next\n\n"), ("", "")] {
                    let stream = format!("{event}{ends}{after}");
                    for length in [3, 1000] {
                        let read = passed(&stream, length).await;
                        let (errors, rest) = read.split_at(read.len() - after.len());
                        assert_eq!(rest, after, "{stream}");
                        let errors: Vec<&str> = errors.split_terminator("\n\n").collect();
                        assert_eq!(errors.len(), ids.len(), "{errors:?}");
                        for (found, id) in errors.iter().zip(ids) {
                            assert!(found.starts_with(&error(id)) && found.contains("64 bytes"), "{found}");
                        }
                    }
                }
            }
        }
    }
}
