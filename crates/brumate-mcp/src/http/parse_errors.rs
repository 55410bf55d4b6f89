//! JSON-RPC errors for bodies that are no JSON-RPC message. They belong to no request.

use super::response::Response;
use axum::body::Body;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, StatusCode};
use rmcp::model::ErrorCode;
use serde::de::IgnoredAny;
use serde_json::json;

/// Returns whether a body is declared as JSON. Others are refused for that.
pub(crate) fn says_json(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"))
}

/// Returns the answer to a body that is not JSON; `None` if it is JSON.
pub(crate) fn not_json(body: &[u8]) -> Option<Response> {
    let error = serde_json::from_slice::<IgnoredAny>(body).err()?;
    Some(answer(ErrorCode::PARSE_ERROR, &format!("Parse error: {error}")))
}

/// Returns the answer to JSON that is no message.
pub(crate) fn no_message() -> Response {
    answer(ErrorCode::INVALID_REQUEST, "Invalid request: not a JSON-RPC 2.0 message")
}

fn answer(code: ErrorCode, message: &str) -> Response {
    let error = json!({"jsonrpc": "2.0", "error": {"code": code.0, "message": message}});
    let mut response = Response::new(Body::from(error.to_string()));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
