//! Errors of handlers, of set-up and of serving.

#[cfg(any(feature = "client", feature = "server"))]
pub(crate) use brumate_mcp_oauth::internal::causes;
use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use serde_json::Value;
use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

/// The reason why a handler failed.
///
/// Every [`std::error::Error`], string and `anyhow::Error` becomes one with `?`. The error of a tool reaches the model
/// as the text of a result with `isError`. The error of a resource or a prompt reaches the client as a JSON-RPC error.
/// [`Error::protocol`] is a JSON-RPC error wherever it comes from.
#[cfg_attr(
    feature = "server",
    doc = "[`Server::hide_errors`](crate::Server::hide_errors) keeps the messages of converted errors from clients."
)]
///
/// `Debug` writes the same sentence as `Display`: a `main` that returns the error prints it.
pub struct Error {
    kind: ErrorKind,
    message: String,
}

/// The kind of an error.
#[derive(Debug)]
enum ErrorKind {
    Failed,
    /// Converted from another error.
    Foreign,
    NotFound {
        data: Option<Value>,
    },
    InvalidParams,
    Input(InputError),
    Protocol {
        code: i32,
        data: Option<Value>,
    },
}

/// The reason why an input request of a handler has no answer; [`Error::input_error`] returns it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// The client answered with a JSON-RPC error.
    #[error("the client refused: {message}")]
    Refused {
        /// The error's code.
        code: i32,
        /// The error's message.
        message: String,
    },
    /// The client could not be asked, or it was gone before it answered.
    #[error("the client could not be asked: {0}")]
    Unreachable(String),
    /// No answer came within this time.
    #[error("nobody answered within {} seconds", .0.as_secs_f64())]
    TimedOut(Duration),
    /// Too many calls of this client wait for input.
    #[error("too many calls of this client wait for input")]
    TooManyCalls,
    /// The task of the call ends, or has had too many input requests.
    #[error("{0}")]
    TaskEnds(String),
    /// The answer does not fit the request.
    #[error("{0}")]
    Malformed(String),
}

#[cfg(feature = "server")]
impl InputError {
    /// Makes the error for a call that is cancelled.
    pub(crate) fn call_cancelled() -> Self {
        Self::Unreachable("the call is cancelled".to_owned())
    }
}

/// The result of a handler.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Makes a failure whose text the model reads.
    pub fn new(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Failed, message: message.into() }
    }

    /// Makes a "not found" error: there is no such resource, prompt or thing.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::NotFound { data: None }, message: message.into() }
    }

    /// Makes the error for a URI without a resource.
    pub(crate) fn no_resource(uri: &str) -> Self {
        let kind = ErrorKind::NotFound { data: Some(serde_json::json!({ "uri": uri })) };
        Self { kind, message: format!("resource `{uri}` not found") }
    }

    /// Makes an "invalid params" error. `message` should say how to mend the parameters.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::InvalidParams, message: message.into() }
    }

    /// Makes a JSON-RPC error with `code`, for failures that the model can do nothing about.
    pub fn protocol(code: i32, message: impl Into<String>, data: Option<Value>) -> Self {
        Self { kind: ErrorKind::Protocol { code, data }, message: message.into() }
    }

    /// Returns the code that the error has as a JSON-RPC error, such as -32603 for a failure. Clients of protocol 2026-07-28 get -32602 for
    /// -32002 ("not found").
    pub fn code(&self) -> i32 {
        match &self.kind {
            ErrorKind::Failed | ErrorKind::Foreign | ErrorKind::Input(_) => ErrorCode::INTERNAL_ERROR.0,
            ErrorKind::NotFound { .. } => ErrorCode::RESOURCE_NOT_FOUND.0,
            ErrorKind::InvalidParams => ErrorCode::INVALID_PARAMS.0,
            ErrorKind::Protocol { code, .. } => *code,
        }
    }

    /// Returns the message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns why an input request has no answer, if that is the error.
    pub fn input_error(&self) -> Option<&InputError> {
        match &self.kind {
            ErrorKind::Input(error) => Some(error),
            _ => None,
        }
    }

    /// Makes the error of an input request.
    #[cfg(feature = "server")]
    pub(crate) fn input(error: InputError) -> Self {
        Self { message: error.to_string(), kind: ErrorKind::Input(error) }
    }

    /// Returns whether it was converted from another error.
    #[cfg(feature = "server")]
    pub(crate) fn is_foreign(&self) -> bool {
        matches!(self.kind, ErrorKind::Foreign)
    }

    /// Returns the JSON-RPC error, if it must be one even from a tool.
    pub(crate) fn as_protocol(&self) -> Option<ErrorData> {
        match &self.kind {
            ErrorKind::Protocol { code, data } => {
                Some(ErrorData::new(ErrorCode(*code), self.message.clone(), data.clone()))
            }
            _ => None,
        }
    }

    /// Reads an error as rmcp has it.
    #[cfg(feature = "server")]
    pub(crate) fn from_wire(error: ErrorData) -> Self {
        let ErrorData { code, message, data, .. } = error;
        Self::protocol(code.0, message, data)
    }

    pub(crate) fn into_wire(self) -> ErrorData {
        match self.kind {
            ErrorKind::Failed | ErrorKind::Foreign | ErrorKind::Input(_) => {
                ErrorData::internal_error(self.message, None)
            }
            ErrorKind::NotFound { data } => ErrorData::resource_not_found(self.message, data),
            ErrorKind::InvalidParams => ErrorData::invalid_params(self.message, None),
            ErrorKind::Protocol { code, data } => ErrorData::new(ErrorCode(code), self.message, data),
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
        Self { kind: ErrorKind::Foreign, message: error.into().to_string() }
    }
}

/// The reason why a server could not be set up, started or served.
///
/// `Debug` writes the same sentence as `Display`, with the causes: a `main` that returns the error prints it.
#[cfg(feature = "server")]
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Something that was registered or set cannot be served, such as a schema or a URI template that is not valid.
    #[error("{0}")]
    Setup(String),
    /// A lifespan's start failed.
    #[error("the server's start failed: {0}")]
    Startup(String),
    /// The client and the server could not agree on a protocol.
    #[error("the connection could not be set up: {0}")]
    Handshake(String),
    /// The task of a connection failed. This is a defect.
    #[error("the connection failed: {0}")]
    Connection(String),
    /// The server cannot listen at the address.
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
}
