//! Responses of the HTTP transports, and refusals in plain text.

use axum::body::Body;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use std::sync::Arc;

/// A response of the HTTP transports.
pub(crate) type Response = http::Response<Body>;

/// The text of a refusal, in the extensions of its response.
#[derive(Clone, Debug)]
struct RefusalText(Arc<str>);

/// Makes the body of a refusal of its status and text. Returns the type of the content, too.
pub(crate) type RefusalFormat = fn(StatusCode, &str) -> (HeaderValue, String);

/// Makes a response with a status and a text. 503 has `Retry-After: 5` (RFC 9110).
pub(crate) fn refusal(status: StatusCode, text: impl Into<String>) -> Response {
    let text = text.into();
    let note = RefusalText(text.as_str().into());
    let mut response = Response::new(Body::from(text));
    response.extensions_mut().insert(note);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
    }
    response
}

/// Gives a refusal the body of a format. Other responses stay as they are.
pub(crate) fn with_refusal_format(mut response: Response, format: Option<RefusalFormat>) -> Response {
    let Some((format, RefusalText(text))) = format.zip(response.extensions().get::<RefusalText>().cloned()) else {
        return response;
    };
    let (kind, body) = format(response.status(), &text);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    *response.body_mut() = body.into();
    response
}
