//! Errors of the API, in Jupyter's JSON.

use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use brumate_session::sessions::SessionError;
use serde_json::json;

/// An error of the API.
#[derive(Debug)]
pub(super) struct ApiError {
    status: StatusCode,
    message: String,
}

impl ApiError {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    /// Returns the status.
    #[cfg(test)]
    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    /// Says that there is no such thing, or that it is another principal's.
    pub(super) fn not_found(what: &str, id: &str) -> Self {
        let id: String = id.chars().take(64).collect();
        Self::new(StatusCode::NOT_FOUND, format!("there is no {what} `{id}`"))
    }
}

impl From<SessionError> for ApiError {
    fn from(error: SessionError) -> Self {
        let status = match error {
            SessionError::Revoked => StatusCode::FORBIDDEN,
            SessionError::TooMany { .. } | SessionError::OverLimit(_) => StatusCode::TOO_MANY_REQUESTS,
            SessionError::DiskFull { .. } | SessionError::NoSpace { .. } => StatusCode::INSUFFICIENT_STORAGE,
            SessionError::TooManyLive { .. }
            | SessionError::TooManyRuns { .. }
            | SessionError::NoneCanHibernate { .. }
            | SessionError::Busy { .. }
            | SessionError::ShuttingDown => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, format!("the kernel did not start: {error}"))
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (kind, body) = refusal_body(self.status, &self.message);
        (self.status, [(CONTENT_TYPE, kind)], body).into_response()
    }
}

/// Returns the content type and the body of a refusal, as Jupyter's clients read them.
pub fn refusal_body(status: StatusCode, message: &str) -> (HeaderValue, String) {
    let body = json!({"message": message, "reason": status.canonical_reason()});
    (HeaderValue::from_static("application/json"), body.to_string())
}
