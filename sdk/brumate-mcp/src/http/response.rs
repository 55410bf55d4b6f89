//! Responses of the HTTP transports, and refusals in plain text.

use axum::body::Body;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, StatusCode};

/// A response of the HTTP transports.
pub(crate) type Response = http::Response<Body>;

/// Makes a response with a status and a text. 503 has `Retry-After: 5` (RFC 9110).
pub(crate) fn refusal(status: StatusCode, text: impl Into<String>) -> Response {
    let mut response = Response::new(Body::from(text.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
    }
    response
}
