//! Errors of clients.

use super::call_result::CallToolResult;
use crate::error::causes;
use serde_json::Value;
use std::fmt;
use std::time::Duration;

/// The reason why a client could not connect, or why a request failed.
///
/// `Debug` writes the same sentence as `Display`, with the causes: a `main` that returns the error prints it.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The connection could not be set up.
    #[error("{server}: the connection could not be set up: {reason}")]
    Connect {
        /// The server: a command or a URL.
        server: String,
        /// The reason.
        reason: String,
    },
    /// The server wants credentials, or other ones than it was given.
    #[error(
        "the server wants credentials, or others than it was given (`.auth(OAuth::new(…))` gets some): {challenge}"
    )]
    Unauthorized {
        /// The `WWW-Authenticate` header of its answer (RFC 9110).
        challenge: String,
    },
    /// The client could not get credentials that the server accepts.
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
    /// The tool failed; see [`CallToolResult::ok`].
    #[error("the tool failed: {}", .0.text())]
    Tool(Box<CallToolResult>),
    /// There was no answer in time. The server has been told that the request is cancelled.
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    /// The request was cancelled, here or by the server.
    #[error("the request was cancelled{}", .0.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default())]
    Cancelled(Option<String>),
    /// The server requested input for which the client has no callback, or the callback failed.
    #[error("the server's input request was not answered: {0}")]
    InputRequest(String),
    /// The connection is closed.
    #[error("the connection is closed")]
    Closed,
    /// The request could not be sent, or its answer was lost on the way.
    #[error("the connection failed: {0}")]
    Connection(String),
    /// The answer does not match the protocol or the tool's schema.
    #[error("the server's answer cannot be used: {0}")]
    InvalidResult(String),
}

impl fmt::Debug for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&causes(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_main_that_returns_an_error_prints_a_sentence() {
        let connect = ClientError::Connect { server: "./server".to_owned(), reason: "no such file".to_owned() };
        assert_eq!(format!("{connect:?}"), "./server: the connection could not be set up: no such file");
        // Parts that belong to the answer, and not to the sentence, are not printed.
        let data = Some(serde_json::json!({"token": "secret"}));
        let protocol = ClientError::Protocol { code: -32000, message: "not now".to_owned(), data };
        assert_eq!(format!("{protocol:#?}"), "the server answered with error -32000: not now");
    }
}
