//! Answers of the host's own.

use axum::body::Body;
use axum::response::Response;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, StatusCode};

/// Seconds after which a client may try again.
const RETRY_SECONDS: &str = "5";

/// Returns a response with a text. 503 has `Retry-After`.
pub(super) fn refusal(status: StatusCode, text: &str) -> Response {
    let mut response = Response::new(Body::from(text.to_owned()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static(RETRY_SECONDS));
    }
    response
}

/// Returns the answer to a request of a session that is not known, as a JSON-RPC error.
pub(super) fn unknown_session() -> Response {
    let error = serde_json::json!({
        "jsonrpc": "2.0",
        "id": null,
        "error": {"code": SESSION_NOT_FOUND, "message": "Session not found"},
    });
    let mut response = Response::new(Body::from(error.to_string()));
    *response.status_mut() = StatusCode::NOT_FOUND;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The code of JSON-RPC with which servers of MCP say that a session is not known.
const SESSION_NOT_FOUND: i32 = -32001;
