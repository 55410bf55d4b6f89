//! Bodies as rmcp can parse them, and JSON-RPC errors for bodies that are no JSON-RPC message.

use super::response::Response;
use crate::exact_arguments::ExactArguments;
use crate::incoming::{InvalidMessage, PreparedMessage, parse_error, prepare, unreadable};
use axum::body::Body;
use brumate_json::Envelopes;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode};
use serde::de::IgnoredAny;
use std::borrow::Cow;

/// Returns whether a body is declared as JSON. Others are refused for that.
pub(crate) fn says_json(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"))
}

/// Returns a body as rmcp can parse it. What differs is noted in the request's extensions.
///
/// # Errors
///
/// Returns the answer to a body that is not JSON, or that has no message which can be parsed.
pub(crate) fn prepared(head: &mut Parts, body: Bytes) -> Result<Bytes, InvalidMessage> {
    head.extensions.remove::<ExactArguments>();
    let text = String::from_utf8_lossy(&body);
    let prepared = match serde_json::from_str::<IgnoredAny>(&text) {
        Ok(IgnoredAny) => prepare(&text),
        Err(error) => unreadable(&text, error),
    };
    let refused = |answer: Option<InvalidMessage>| answer.unwrap_or_else(|| parse_error("no message", None));
    let PreparedMessage { text: mended, exact } = prepared.map_err(refused)?;
    if let Some(exact) = exact {
        head.extensions.insert(exact);
    }
    let mended = match mended {
        Cow::Owned(mended) => mended.into(),
        // Bad UTF-8 was mended.
        Cow::Borrowed(_) => match text {
            Cow::Owned(text) => text.into(),
            Cow::Borrowed(_) => body,
        },
    };
    Ok(mended)
}

/// Returns the error of JSON that is no message.
pub(crate) fn no_message(body: &[u8]) -> InvalidMessage {
    let id = Envelopes::read(body).pop().and_then(|envelope| envelope.id);
    InvalidMessage::new("not a JSON-RPC 2.0 message", id)
}

/// Returns the answer to a body that is refused.
pub(crate) fn answer(refused: &InvalidMessage) -> Response {
    let mut response = Response::new(Body::from(refused.to_json()));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
