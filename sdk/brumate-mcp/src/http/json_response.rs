//! Plain JSON responses instead of event streams that have only an answer.

use super::response::Response;
use axum::body::Body;
use brumate_json::Envelopes;
use bytes::Bytes;
use futures::StreamExt as _;
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use http_body_util::{BodyStream, StreamBody};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Size of an answer, in bytes, from which it is sent as JSON even to a client that takes events. Clients bound an event: Python's `mcp`
/// 2.x reads at most 1 MiB.
const LARGE_ANSWER: usize = 512 << 10;

/// Time for which the beginning of an event stream is held back, in case a large answer comes.
const HELD_BACK: Duration = Duration::from_secs(1);

/// The answers that become a JSON response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonAnswers {
    /// All answers that come before any other message.
    All,
    /// Answers of at least [`LARGE_ANSWER`] bytes that come before any other message, within [`HELD_BACK`].
    Large,
}

/// Turns an event stream whose first message is the answer into a JSON response. Other responses stay as they are.
pub(crate) async fn from_event_stream(response: Response, answers: JsonAnswers) -> Response {
    let is_stream = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes() == b"text/event-stream");
    if response.status() != StatusCode::OK || !is_stream {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let mut frames = BodyStream::new(body);
    let mut read = Vec::new();
    let until = Instant::now() + HELD_BACK;
    loop {
        let frame = match answers {
            JsonAnswers::All => frames.next().await,
            // The client of a slow call gets the beginning of its stream.
            JsonAnswers::Large => match timeout_at(until, frames.next()).await {
                Ok(frame) => frame,
                Err(_) => break,
            },
        };
        let Some(Ok(frame)) = frame else { break };
        let message = frame.data_ref().and_then(message);
        read.push(frame);
        match message {
            None => {}
            Some(message) if is_wanted(&message, answers) => {
                parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                parts.headers.remove(CACHE_CONTROL);
                parts.headers.remove(CONTENT_LENGTH);
                return Response::from_parts(parts, Body::from(message));
            }
            Some(_) => break,
        }
    }
    let all = futures::stream::iter(read.into_iter().map(Ok)).chain(frames);
    Response::from_parts(parts, Body::new(StreamBody::new(all)))
}

/// Returns the message of an event, if it has one. Each event is a frame, and its message is on one line.
fn message(event: &Bytes) -> Option<Bytes> {
    let mut lines = event.split(|byte| *byte == b'\n');
    let data = lines.find_map(|line| line.strip_prefix(b"data:"))?.trim_ascii();
    (!data.is_empty()).then(|| event.slice_ref(data))
}

fn is_wanted(message: &[u8], answers: JsonAnswers) -> bool {
    (answers == JsonAnswers::All || message.len() >= LARGE_ANSWER)
        && Envelopes::read(message).pop().is_some_and(|found| found.is_answer && !found.has_method)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt as _;

    const PRIMING: &str = "data: \nid: 1-0\nretry: 3000\n\n";
    const PROGRESS: &str =
        "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"result\":1}}\n\n";

    /// Returns the type and the text of the response that an event stream becomes. Each event comes after its time.
    async fn folded(events: Vec<(String, Duration)>, answers: JsonAnswers) -> (String, String) {
        let events = futures::stream::iter(events).then(|(event, time)| async move {
            tokio::time::sleep(time).await;
            Ok::<_, axum::Error>(http_body::Frame::data(Bytes::from(event)))
        });
        let mut response = Response::new(Body::new(StreamBody::new(events)));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        let folded = from_event_stream(response, answers).await;
        let kind = folded.headers()[CONTENT_TYPE].to_str().expect("text").to_owned();
        let text = folded.into_body().collect().await.expect("a body").to_bytes();
        (kind, String::from_utf8(text.to_vec()).expect("UTF-8"))
    }

    #[tokio::test(start_paused = true)]
    async fn answers_that_come_first_are_json() {
        let answer = |bytes: usize| format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"x":"{}"}}}}"#, "x".repeat(bytes));
        let (small, large) = (answer(10), answer(LARGE_ANSWER));
        let event = |answer: &str| (format!("data: {answer}\nid: 1-1\n\n"), Duration::ZERO);
        let first = |event: &str| (event.to_owned(), Duration::ZERO);
        let late = |(event, _): (String, Duration)| (event, HELD_BACK * 2);
        for (events, all, some) in [
            (vec![event(&small)], true, false),
            (vec![event(&large)], true, true),
            (vec![first(PRIMING), first(":\n\n"), event(&large)], true, true),
            (vec![first(PRIMING), event(&small)], true, false),
            (vec![first(PRIMING), late(event(&large))], true, false),
            (vec![first(PROGRESS), event(&large)], false, false),
            (vec![first(PRIMING)], false, false),
        ] {
            for (answers, is_json) in [(JsonAnswers::All, all), (JsonAnswers::Large, some)] {
                let whole: String = events.iter().map(|(event, _)| event.as_str()).collect();
                let (kind, text) = folded(events.clone(), answers).await;
                let wanted = if is_json { "application/json" } else { "text/event-stream" };
                assert_eq!(kind, wanted, "{answers:?} {}", &whole[..whole.len().min(200)]);
                assert!(if is_json { text == small || text == large } else { text == whole });
            }
        }
    }
}
