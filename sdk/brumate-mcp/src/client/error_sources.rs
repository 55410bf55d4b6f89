//! Errors of rmcp and of its transports, as errors of clients. Their texts have no names of types.

use super::error::ClientError;
use crate::error::causes;
use rmcp::service::{ClientInitializeError, ServiceError};

impl ClientError {
    /// Makes the error of a request.
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
                of_credentials(error.error.as_ref()).unwrap_or_else(|| Self::Connection(reason(error.error.as_ref())))
            }
            other => Self::Connection(other.to_string()),
        }
    }

    /// Makes the error of a connection that could not be set up.
    pub(super) fn of_start(server: &str, error: &ClientInitializeError) -> Self {
        if let Some(error) = of_credentials(error) {
            return error;
        }
        Self::Connect { server: server.to_owned(), reason: start_reason(error) }
    }
}

/// Returns the reason why a connection could not be set up.
fn start_reason(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::TransportError { error, .. } => reason(error.error.as_ref()),
        ClientInitializeError::LegacyFallbackFailed { discover, fallback } => {
            match (start_reason(discover), start_reason(fallback)) {
                (one, other) if one == other => one,
                (discover, initialize) => {
                    format!("neither `server/discover` nor `initialize` succeeded: {discover}; {initialize}")
                }
            }
        }
        ClientInitializeError::ConnectionClosed(_) => "the server has closed the connection".to_owned(),
        ClientInitializeError::JsonRpcError(error) => {
            format!("the server answered with error {}: {}", error.code.0, error.message)
        }
        // The texts of these errors have the whole answer.
        ClientInitializeError::ExpectedInitResponse(_) | ClientInitializeError::ExpectedInitResult(_) => {
            "the server's answer to `initialize` is of another kind".to_owned()
        }
        ClientInitializeError::NoCompatibleProtocolVersion { client_supported, server_supported } => {
            let versions = |versions: &[rmcp::model::ProtocolVersion]| {
                versions.iter().map(|version| version.as_str()).collect::<Vec<_>>().join(", ")
            };
            format!(
                "the server speaks {} and the client {}: they have no protocol version in common",
                versions(server_supported),
                versions(client_supported)
            )
        }
        other => causes(other),
    }
}

/// Returns the reason why a transport failed.
fn reason(error: &(dyn std::error::Error + 'static)) -> String {
    #[cfg(feature = "client-http")]
    {
        use super::http::BackendError;
        use rmcp::transport::streamable_http_client::StreamableHttpError;
        let mut source = Some(error);
        while let Some(error) = source {
            match error.downcast_ref::<StreamableHttpError<BackendError>>() {
                Some(StreamableHttpError::Client(error)) => return causes(error),
                Some(StreamableHttpError::TransportChannelClosed) => return "the connection is closed".to_owned(),
                Some(StreamableHttpError::UnexpectedContentType(kind)) => {
                    let kind = kind.as_deref().unwrap_or("none");
                    return format!(
                        "the server's answer is neither JSON nor an event stream; its content type: {kind}"
                    );
                }
                _ => source = error.source(),
            }
        }
    }
    causes(error)
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
                // The error of rmcp does not return the wrapped error as its source.
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
            // An error of rmcp does not return the wrapped error of a transport as its source.
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
