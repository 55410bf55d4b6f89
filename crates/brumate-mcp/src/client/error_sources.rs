//! Errors of rmcp and of its transports, as errors of clients.

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
                of_credentials(error.error.as_ref()).unwrap_or_else(|| Self::Connection(causes(error.error.as_ref())))
            }
            other => Self::Connection(other.to_string()),
        }
    }

    /// Makes the error of a connection that could not be set up.
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
