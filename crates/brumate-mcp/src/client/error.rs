//! Errors of clients.

use super::call::CallResult;
use crate::error::causes;
use rmcp::service::{ClientInitializeError, ServiceError};
use serde_json::Value;
use std::fmt;
use std::time::Duration;

/// The reason why a client could not connect, or why a request failed.
///
/// `Debug` writes the same sentence as `Display`, with the causes: it is what a `main` prints that returns the error.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The connection could not be set up.
    #[error("{server}: the connection could not be set up: {reason}")]
    Connect {
        /// The server: a command or an address.
        server: String,
        /// The reason.
        reason: String,
    },
    /// The server wants credentials, or others than those it was given.
    #[error(
        "the server wants credentials, or others than it was given (`.auth(OAuth::new(…))` gets some): {challenge}"
    )]
    Unauthorized {
        /// The `WWW-Authenticate` header of its answer (RFC 9110).
        challenge: String,
    },
    /// The client could not get credentials that the server takes.
    #[error("authorization: {0}")]
    Authorization(String),
    /// The server answered with a JSON-RPC error.
    #[error("the server answered with error {code}: {message}")]
    Protocol {
        /// The error's code.
        code: i32,
        /// The error's message.
        message: String,
        /// The error's data.
        data: Option<Value>,
    },
    /// No server of the group has a tool of this name.
    #[error("no server of the group has a tool `{0}`")]
    UnknownTool(String),
    /// The tool failed; see [`CallResult::ok`].
    #[error("the tool failed: {}", .0.text())]
    Tool(Box<CallResult>),
    /// There was no answer in time. The server has been told that nobody waits for it any more.
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    /// The request was cancelled, here or by the server.
    #[error("the request was cancelled{}", .0.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default())]
    Cancelled(Option<String>),
    /// The server asks something that the client has no callback for, or the callback failed.
    #[error("the server's question was not answered: {0}")]
    Question(String),
    /// The connection is closed.
    #[error("the connection is closed")]
    Closed,
    /// The request could not be sent, or its answer was lost on the way.
    #[error("the connection failed: {0}")]
    Connection(String),
    /// The answer is not what the protocol, or the tool's schema, says.
    #[error("the server's answer cannot be used: {0}")]
    InvalidResult(String),
}

impl fmt::Debug for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&causes(self))
    }
}

impl ClientError {
    pub(super) fn of_service(error: ServiceError) -> Self {
        match error {
            ServiceError::McpError(error) => {
                Self::Protocol { code: error.code.0, message: error.message.into_owned(), data: error.data }
            }
            ServiceError::TransportClosed => Self::Closed,
            ServiceError::Cancelled { reason } => Self::Cancelled(reason),
            ServiceError::UnexpectedResponse => {
                Self::InvalidResult("it has another form than the request's".to_owned())
            }
            ServiceError::Timeout { timeout } => Self::Timeout(timeout),
            ServiceError::TransportSend(error) => {
                of_credentials(error.error.as_ref()).unwrap_or_else(|| Self::Connection(causes(error.error.as_ref())))
            }
            other => Self::Connection(other.to_string()),
        }
    }

    pub(super) fn of_start(server: &str, error: &ClientInitializeError) -> Self {
        if let Some(error) = of_credentials(error) {
            return error;
        }
        Self::Connect { server: server.to_owned(), reason: causes(error) }
    }
}

/// Finds a failure of credentials among an error's causes.
pub(super) fn of_credentials(error: &(dyn std::error::Error + 'static)) -> Option<ClientError> {
    #[cfg(feature = "client-http")]
    {
        use rmcp::transport::streamable_http_client::{AuthRequiredError, InsufficientScopeError};
        let mut source = Some(error);
        while let Some(error) = source {
            #[cfg(feature = "auth")]
            {
                use super::http::BackendError;
                use rmcp::transport::streamable_http_client::StreamableHttpError;
                // rmcp's error does not name what it wraps as its source.
                let backend = match error.downcast_ref::<StreamableHttpError<BackendError>>() {
                    Some(StreamableHttpError::Client(error)) => Some(error),
                    _ => error.downcast_ref::<BackendError>(),
                };
                if let Some(BackendError::Authorization(error)) = backend {
                    return Some(ClientError::Authorization(error.to_string()));
                }
            }
            if let Some(required) = error.downcast_ref::<AuthRequiredError>() {
                return Some(ClientError::Unauthorized { challenge: required.www_authenticate_header.clone() });
            }
            if let Some(scope) = error.downcast_ref::<InsufficientScopeError>() {
                return Some(ClientError::Unauthorized { challenge: scope.www_authenticate_header.clone() });
            }
            // An error of rmcp's that wraps one of another transport's does not name it as its source.
            source = match error.downcast_ref::<rmcp::service::ClientInitializeError>() {
                Some(rmcp::service::ClientInitializeError::TransportError { error, .. }) => Some(error.error.as_ref()),
                Some(rmcp::service::ClientInitializeError::LegacyFallbackFailed { fallback, .. }) => {
                    Some(fallback.as_ref())
                }
                _ => match error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
                    Some(inner) => Some(inner),
                    None => error.source(),
                },
            };
        }
    }
    let _ = error;
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_main_that_returns_an_error_prints_a_sentence() {
        let connect = ClientError::Connect { server: "./server".to_owned(), reason: "no such file".to_owned() };
        assert_eq!(format!("{connect:?}"), "./server: the connection could not be set up: no such file");
        // What belongs to the answer, and not to the sentence, is not printed.
        let data = Some(serde_json::json!({"token": "secret"}));
        let protocol = ClientError::Protocol { code: -32000, message: "not now".to_owned(), data };
        assert_eq!(format!("{protocol:#?}"), "the server answered with error -32000: not now");
    }
}
