//! What handlers, set-up and serving can fail with.

use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use serde_json::Value;
use std::error::Error as StdError;
use std::fmt;

/// Why a handler failed.
///
/// Everything that is a [`std::error::Error`], a string or an `anyhow::Error` becomes one with `?`. From a tool it
/// reaches the model as the text of a result with `isError`; from a resource or a prompt it reaches the client as a
/// JSON-RPC error. [`Error::protocol`] is a JSON-RPC error wherever it comes from.
#[cfg_attr(
    feature = "server",
    doc = "[`Server::hide_errors`](crate::Server::hide_errors) keeps the messages of converted errors from clients."
)]
///
/// `Debug` writes the same sentence as `Display`: it is what a `main` prints that returns the error.
pub struct Error {
    kind: Kind,
    message: String,
}

#[derive(Debug)]
enum Kind {
    Failed,
    /// Converted from another error.
    Foreign,
    NotFound {
        data: Option<Value>,
    },
    InvalidParams,
    Protocol {
        code: i32,
        data: Option<Value>,
    },
}

/// A handler's outcome.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// A failure to be read by the model.
    pub fn new(message: impl Into<String>) -> Self {
        Self { kind: Kind::Failed, message: message.into() }
    }

    /// There is no such resource, prompt or thing.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self { kind: Kind::NotFound { data: None }, message: message.into() }
    }

    /// There is no resource at `uri`.
    pub(crate) fn no_resource(uri: &str) -> Self {
        let kind = Kind::NotFound { data: Some(serde_json::json!({ "uri": uri })) };
        Self { kind, message: format!("resource `{uri}` not found") }
    }

    /// The request's parameters are unusable; `message` says how to mend them.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self { kind: Kind::InvalidParams, message: message.into() }
    }

    /// A JSON-RPC error with `code`, for what the model cannot do anything about.
    pub fn protocol(code: i32, message: impl Into<String>, data: Option<Value>) -> Self {
        Self { kind: Kind::Protocol { code, data }, message: message.into() }
    }

    /// The message, without its kind.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether it was converted from another error.
    #[cfg(feature = "server")]
    pub(crate) fn is_foreign(&self) -> bool {
        matches!(self.kind, Kind::Foreign)
    }

    /// The JSON-RPC error, if it must be one even from a tool.
    pub(crate) fn as_protocol(&self) -> Option<ErrorData> {
        match &self.kind {
            Kind::Protocol { code, data } => Some(ErrorData::new(ErrorCode(*code), self.message.clone(), data.clone())),
            _ => None,
        }
    }

    pub(crate) fn into_rmcp(self) -> ErrorData {
        match self.kind {
            Kind::Failed | Kind::Foreign => ErrorData::internal_error(self.message, None),
            Kind::NotFound { data } => ErrorData::resource_not_found(self.message, data),
            Kind::InvalidParams => ErrorData::invalid_params(self.message, None),
            Kind::Protocol { code, data } => ErrorData::new(ErrorCode(code), self.message, data),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

// No `std::error::Error`: like `anyhow::Error`, so that the conversion below covers every other error.
impl<E: Into<Box<dyn StdError + Send + Sync>>> From<E> for Error {
    fn from(error: E) -> Self {
        Self { kind: Kind::Foreign, message: error.into().to_string() }
    }
}

/// Returns an error and its causes in one line; a cause whose text the error has is left out.
#[cfg(any(feature = "client", feature = "server"))]
pub(crate) fn causes(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        source = error.source();
    }
    text
}

/// Why a server could not be set up, started or served.
///
/// `Debug` writes the same sentence as `Display`, with the causes: it is what a `main` prints that returns the error.
#[cfg(feature = "server")]
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Something registered cannot be served: a schema that is none, a template that does not parse.
    #[error("{0}")]
    Setup(String),
    /// A lifespan's start failed.
    #[error("the server's start failed: {0}")]
    Startup(String),
    /// The client and the server could not agree to begin.
    #[error("the connection could not be set up: {0}")]
    Handshake(String),
    /// The address cannot be listened at.
    #[error("cannot listen at {address}: {error}")]
    Bind {
        /// The address.
        address: String,
        /// The system's reason.
        #[source]
        error: std::io::Error,
    },
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

#[cfg(feature = "server")]
impl fmt::Debug for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&causes(self))
    }
}

#[cfg(all(test, feature = "server"))]
mod tests {
    use super::*;

    #[test]
    fn a_main_that_returns_an_error_prints_a_sentence() {
        let startup = ServeError::Startup("no database".to_owned());
        assert_eq!(format!("{startup:?}"), "the server's start failed: no database");
        let error = std::io::Error::other("Address already in use");
        let bind = ServeError::Bind { address: "127.0.0.1:80".to_owned(), error };
        assert_eq!(format!("{bind:?}"), "cannot listen at 127.0.0.1:80: Address already in use");
        assert_eq!(format!("{:?}", Error::from(startup)), "the server's start failed: no database");
        let denied = std::io::Error::new(std::io::ErrorKind::PermissionDenied, "port 80 is not ours");
        assert_eq!(format!("{:#?}", ServeError::from(denied)), "port 80 is not ours");
    }

    #[test]
    fn causes_follow_once_each() {
        #[derive(Debug, thiserror::Error)]
        #[error("the file cannot be read")]
        struct Outer(#[source] std::io::Error);
        let error = Outer(std::io::Error::other("it is gone"));
        assert_eq!(causes(&error), "the file cannot be read: it is gone");
    }
}
