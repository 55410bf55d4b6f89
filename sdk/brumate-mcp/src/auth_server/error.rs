//! Errors of OAuth, as its clients read them.

use http::StatusCode;
use serde_json::{Value, json};
use std::error::Error as StdError;
use std::fmt;

/// An error of OAuth: one of the codes of RFC 6749, 7591 or 8707, and a description.
///
/// Every [`std::error::Error`] becomes `server_error` with `?`. Its text goes to the log, not to the client.
#[derive(Clone, Debug, PartialEq)]
pub struct OAuthError {
    code: &'static str,
    description: String,
    /// The text for the log.
    internal: Option<String>,
}

impl OAuthError {
    pub(crate) fn new(code: &'static str, description: impl Into<String>) -> Self {
        Self { code, description: description.into(), internal: None }
    }

    /// Makes the error `access_denied`: the person or the server refuses.
    pub fn access_denied(description: impl Into<String>) -> Self {
        Self::new("access_denied", description)
    }

    /// Makes the error `invalid_grant`: a code or a token is unknown, used or expired.
    pub fn invalid_grant(description: impl Into<String>) -> Self {
        Self::new("invalid_grant", description)
    }

    /// Makes the error `invalid_scope`.
    pub fn invalid_scope(description: impl Into<String>) -> Self {
        Self::new("invalid_scope", description)
    }

    /// Makes the error `invalid_request`.
    pub fn invalid_request(description: impl Into<String>) -> Self {
        Self::new("invalid_request", description)
    }

    /// Makes the error `invalid_client_metadata`, for registrations.
    pub fn invalid_client_metadata(description: impl Into<String>) -> Self {
        Self::new("invalid_client_metadata", description)
    }

    /// Makes the error `unsupported_grant_type`.
    pub fn unsupported_grant_type(description: impl Into<String>) -> Self {
        Self::new("unsupported_grant_type", description)
    }

    /// Makes the error `temporarily_unavailable`.
    pub fn temporarily_unavailable(description: impl Into<String>) -> Self {
        Self::new("temporarily_unavailable", description)
    }

    pub(crate) fn invalid_client() -> Self {
        Self::new(
            "invalid_client",
            "the client is unknown, or its secret is wrong or was sent in another way than registered",
        )
    }

    /// Returns the code.
    pub fn code(&self) -> &str {
        self.code
    }

    /// Returns the description for the client.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Returns the answer's status.
    pub(crate) fn status(&self) -> StatusCode {
        match self.code {
            "invalid_client" => StatusCode::UNAUTHORIZED,
            "server_error" => StatusCode::INTERNAL_SERVER_ERROR,
            "temporarily_unavailable" => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::BAD_REQUEST,
        }
    }

    /// Returns the body of the answer, and logs the text that the client does not see.
    pub(crate) fn body(&self) -> Value {
        self.log();
        json!({"error": self.code, "error_description": self.description})
    }

    pub(crate) fn log(&self) {
        if let Some(internal) = &self.internal {
            tracing::error!(error = internal, "the authorization server failed");
        }
    }
}

impl fmt::Display for OAuthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.description)
    }
}

// No `std::error::Error`, so that the conversion below covers every other error.
impl<E: Into<Box<dyn StdError + Send + Sync>>> From<E> for OAuthError {
    fn from(error: E) -> Self {
        let internal = Some(error.into().to_string());
        Self { code: "server_error", description: "the authorization server failed".to_owned(), internal }
    }
}
