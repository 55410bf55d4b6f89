//! HTTP+SSE, the transport of 2024-11-05: an event stream names the URL that messages are posted to.

use super::body::{events, media_type};
use super::error::ClientError;
use super::error_sources::of_credentials;
use super::http::{HttpBackend, challenges, http_error};
use crate::error::causes;
use crate::exact_arguments::to_json;
use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::BoxStream;
use rmcp::RoleClient;
use rmcp::model::ServerJsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::streamable_http_client::SseError;
use sse_stream::Sse;
use std::io;
use std::time::Duration;
use url::Url;

/// How long a server may take to name the URL of messages.
const ENDPOINT_TIMEOUT: Duration = Duration::from_secs(30);

/// A connection.
pub(super) struct SseTransport {
    backend: HttpBackend,
    endpoint: Url,
    /// The event stream, until it is closed.
    events: Option<BoxStream<'static, Result<Sse, SseError>>>,
}

/// Opens the event stream, and waits for the URL of messages. It must have the server's origin, because credentials are
/// sent to it.
pub(super) async fn connect(server: &str, url: &Url, backend: HttpBackend) -> Result<SseTransport, ClientError> {
    let failed = |reason: String| ClientError::Connect { server: server.to_owned(), reason };
    let response = backend.send(|| backend.get(url.as_str())).await;
    let response = response.map_err(|error| of_credentials(&error).unwrap_or_else(|| failed(causes(&error))))?;
    let status = response.status();
    if status == ::http::StatusCode::UNAUTHORIZED {
        return Err(ClientError::Unauthorized { challenge: challenges(&response).join(", ") });
    }
    if !status.is_success() || media_type(&response).as_deref() != Some("text/event-stream") {
        return Err(failed(format!("HTTP {status} without a stream of events")));
    }
    let mut events = events(response);
    let first = tokio::time::timeout(ENDPOINT_TIMEOUT, async {
        loop {
            match events.next().await {
                Some(Ok(event)) if event.event.as_deref() == Some("endpoint") => {
                    return Ok(event.data.unwrap_or_default());
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(causes(&error)),
                None => return Err("the stream ended before it named an address for messages".to_owned()),
            }
        }
    });
    let silent = |_| Err(format!("it named no address for messages within {ENDPOINT_TIMEOUT:?}"));
    let named = first.await.unwrap_or_else(silent).map_err(failed)?;
    let endpoint = url.join(named.trim()).map_err(|error| failed(format!("its address for messages: {error}")))?;
    if endpoint.origin() != url.origin() {
        return Err(failed(format!(
            "its address for messages has another origin: {}",
            endpoint.origin().ascii_serialization()
        )));
    }
    Ok(SseTransport { backend, endpoint, events: Some(events) })
}

impl Transport<RoleClient> for SseTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let (backend, endpoint, body) = (self.backend.clone(), self.endpoint.clone(), to_json(&item));
        async move {
            let body = Bytes::from(body?);
            let response = backend.send(|| backend.post(endpoint.as_str(), body.clone())).await;
            let response = response.map_err(io::Error::other)?;
            let status = response.status();
            if status.is_success() {
                return Ok(());
            }
            Err(io::Error::other(http_error(response).await))
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let event = match self.events.as_mut()?.next().await? {
                Ok(event) => event,
                Err(error) => {
                    tracing::warn!(%error, "a stream of events ended");
                    return None;
                }
            };
            if event.event.as_deref().is_some_and(|kind| kind != "message") {
                continue;
            }
            let Some(data) = event.data else { continue };
            match serde_json::from_str::<ServerJsonRpcMessage>(&data) {
                Ok(message) => return Some(message),
                Err(error) => tracing::debug!(%error, "an event is no message"),
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.events = None;
        Ok(())
    }
}
