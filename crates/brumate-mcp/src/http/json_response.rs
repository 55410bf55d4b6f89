//! Plain JSON responses instead of event streams that have only an answer.

use super::response::Response;
use axum::body::Body;
use futures::StreamExt as _;
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use http_body_util::{BodyStream, StreamBody};
use serde_json::Value;

/// Turns an event stream whose first message is the answer into a JSON response. Other responses stay as they are.
pub(crate) async fn from_event_stream(response: Response) -> Response {
    let is_stream = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes() == b"text/event-stream");
    if response.status() != StatusCode::OK || !is_stream {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let mut frames = BodyStream::new(body);
    let mut read = Vec::new();
    let mut text = Vec::new();
    while let Some(frame) = frames.next().await {
        let Ok(frame) = frame else { break };
        if let Some(data) = frame.data_ref() {
            text.extend_from_slice(data);
        }
        read.push(frame);
        match first_message(&text) {
            None => {}
            Some(message) if is_answer(&message) => {
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

/// Returns the data of the first event that has data.
fn first_message(text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(text).ok()?;
    let complete = text.rfind("\n\n")?;
    text[..complete].split("\n\n").find_map(|event| {
        let lines = event.lines().filter_map(|line| line.strip_prefix("data:"));
        let data: Vec<&str> = lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
        let data = data.join("\n");
        (!data.is_empty()).then_some(data)
    })
}

fn is_answer(message: &str) -> bool {
    let message: Value = serde_json::from_str(message).unwrap_or_default();
    message.get("method").is_none() && (message.get("result").is_some() || message.get("error").is_some())
}
