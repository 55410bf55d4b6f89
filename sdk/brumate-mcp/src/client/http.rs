//! Streamable HTTP: sending messages, and reading the answers.

use super::answers::read;
use super::body::{MAX_MESSAGE, events, media_type};
#[cfg(feature = "auth")]
use super::error::ClientError;
use crate::error::causes;
use crate::exact_arguments::to_json;
use ::http::header::{ACCEPT, CONTENT_TYPE, WWW_AUTHENTICATE};
use ::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
#[cfg(feature = "auth")]
use brumate_mcp_oauth::AuthError;
use brumate_mcp_oauth::internal::http_client;
#[cfg(feature = "auth")]
use brumate_mcp_oauth::internal::{Authorizer, MAX_AUTHORIZATIONS, TokenChallenge};
use bytes::Bytes;
use futures::stream::BoxStream;
use reqwest::{RequestBuilder, Response};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpClient, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::Sse;
use std::collections::HashMap;
use std::sync::Arc;
#[cfg(feature = "auth")]
use url::Url;

/// The largest error answer that is read, in bytes.
const MAX_ERROR: usize = 64 << 10;

/// The longest text of an error answer that is shown, in characters.
const MAX_ERROR_TEXT: usize = 500;

const JSON: &str = "application/json";
const EVENT_STREAM: &str = "text/event-stream";
const TEXT: &str = "text/plain";
const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Sends requests to one server.
#[derive(Clone)]
pub(super) struct HttpBackend {
    pub(super) client: reqwest::Client,
    pub(super) headers: HeaderMap,
    #[cfg(feature = "auth")]
    pub(super) authorizer: Option<Arc<dyn Authorizer>>,
}

/// The reason why a request failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum BackendError {
    #[error("{0}")]
    Failed(String),
    #[cfg(feature = "auth")]
    #[error("{0}")]
    Authorization(#[source] AuthError),
}

type Failure = StreamableHttpError<BackendError>;

fn failure(error: reqwest::Error) -> Failure {
    failed(causes(&error.without_url()))
}

fn failed(reason: String) -> Failure {
    StreamableHttpError::Client(BackendError::Failed(reason))
}

impl HttpBackend {
    pub(super) fn get(&self, url: &str) -> RequestBuilder {
        self.client.get(url).headers(self.headers.clone()).header(ACCEPT, EVENT_STREAM)
    }

    pub(super) fn post(&self, url: &str, body: Bytes) -> RequestBuilder {
        let request = self.client.post(url).headers(self.headers.clone());
        request.header(ACCEPT, format!("{JSON}, {EVENT_STREAM}")).header(CONTENT_TYPE, JSON).body(body)
    }
}

impl HttpBackend {
    /// Sends a request, with a token if there is authorization. If the answer wants another token, gets one and sends
    /// the request again, a few times.
    pub(super) async fn send(&self, make: impl Fn() -> RequestBuilder) -> Result<Response, Failure> {
        #[cfg(feature = "auth")]
        if let Some(authorizer) = &self.authorizer {
            let failed = |error| StreamableHttpError::Client(BackendError::Authorization(error));
            let mut attempts = 0;
            loop {
                let token = authorizer.token().await.map_err(failed)?;
                let mut request = make();
                if let Some(token) = &token {
                    request = request.bearer_auth(token.expose());
                }
                let response = request.send().await.map_err(failure)?;
                let status = response.status();
                let challenges = challenges(&response);
                let wants = match status {
                    StatusCode::UNAUTHORIZED => true,
                    StatusCode::FORBIDDEN => challenges.iter().any(|header| header.contains("insufficient_scope")),
                    _ => false,
                };
                if !wants || attempts == MAX_AUTHORIZATIONS {
                    return Ok(response);
                }
                let (status, is_first) = (status.as_u16(), attempts == 0);
                let refusal = TokenChallenge { status, challenges, used: token, is_first };
                attempts += 1;
                drop(response);
                authorizer.challenged(refusal).await.map_err(failed)?;
            }
        }
        make().send().await.map_err(failure)
    }

    /// Gets a token before the protocol begins, if none is known: the start of the protocol does not wait for a person
    /// in a browser.
    #[cfg(feature = "auth")]
    pub(super) async fn prepare(&self, url: &Url) -> Result<(), ClientError> {
        let Some(authorizer) = &self.authorizer else { return Ok(()) };
        let failed = |error: AuthError| ClientError::Authorization(error.to_string());
        if authorizer.token().await.map_err(failed)?.is_some() {
            return Ok(());
        }
        let version = rmcp::model::ProtocolVersion::LATEST;
        let meta = serde_json::json!({
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientInfo": {"name": "brumate-mcp", "version": env!("CARGO_PKG_VERSION")},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let body =
            serde_json::json!({"jsonrpc": "2.0", "id": 0, "method": "server/discover", "params": {"_meta": meta}});
        let body = Bytes::from(body.to_string());
        let request = || {
            let request = self.post(url.as_str(), body.clone()).header("mcp-method", "server/discover");
            request.header("mcp-protocol-version", version.as_str())
        };
        match self.send(request).await {
            Err(StreamableHttpError::Client(BackendError::Authorization(error))) => Err(failed(error)),
            // The start of the protocol meets any other error again.
            _ => Ok(()),
        }
    }
}

/// Returns the `WWW-Authenticate` headers of an answer.
pub(super) fn challenges(response: &Response) -> Vec<String> {
    let headers = response.headers().get_all(WWW_AUTHENTICATE).iter();
    headers.filter_map(|value| value.to_str().ok()).map(str::to_owned).collect()
}

impl StreamableHttpClient for HttpBackend {
    type Error = BackendError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let in_session = session_id.is_some();
        let body = Bytes::from(to_json(&message)?);
        let headers: HeaderMap = custom_headers.into_iter().collect();
        let make = || {
            let request = self.post(&uri, body.clone()).headers(headers.clone());
            match &session_id {
                Some(session) => request.header(SESSION_ID, session.as_ref()),
                None => request,
            }
        };
        let response = self.send(make).await?;
        let status = response.status();
        if status == StatusCode::NOT_FOUND && in_session {
            return Err(StreamableHttpError::SessionExpired);
        }
        if !status.is_success() {
            return refused(response, &message, in_session).await;
        }
        let is_request = matches!(message, ClientJsonRpcMessage::Request(_));
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) || !is_request {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let session = response.headers().get(SESSION_ID).and_then(|id| id.to_str().ok()).map(str::to_owned);
        match media_type(&response).as_deref() {
            Some(EVENT_STREAM) => Ok(StreamableHttpPostResponse::Sse(events(response), session)),
            Some(JSON) => {
                let body = http_client::read(response, MAX_MESSAGE).await.map_err(failed)?;
                let message = read(&body).ok_or_else(|| failed("the server's answer is no message".to_owned()))?;
                Ok(StreamableHttpPostResponse::Json(message, session))
            }
            other => Err(StreamableHttpError::UnexpectedContentType(other.map(str::to_owned))),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failure> {
        let headers: HeaderMap = custom_headers.into_iter().collect();
        let make = || {
            let request = self.client.delete(uri.as_ref()).headers(self.headers.clone()).headers(headers.clone());
            request.header(SESSION_ID, session_id.as_ref())
        };
        let response = self.send(make).await?;
        match response.status() {
            // The server does not let clients end sessions, or does not know this one any more.
            StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_FOUND => Ok(()),
            status if status.is_success() => Ok(()),
            status => Err(StreamableHttpError::HttpStatus(HttpStatusError::new(status.as_u16(), None))),
        }
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        let headers: HeaderMap = custom_headers.into_iter().collect();
        let make = || {
            let mut request = self.get(&uri).headers(headers.clone());
            if let Some(session) = &session_id {
                request = request.header(SESSION_ID, session.as_ref());
            }
            if let Some(id) = &last_event_id {
                request = request.header(LAST_EVENT_ID, id);
            }
            request
        };
        let response = self.send(make).await?;
        match response.status() {
            StatusCode::METHOD_NOT_ALLOWED => Err(StreamableHttpError::ServerDoesNotSupportSse),
            status if !status.is_success() => Err(challenged(&response)
                .unwrap_or_else(|| StreamableHttpError::HttpStatus(HttpStatusError::new(status.as_u16(), None)))),
            _ if media_type(&response).as_deref() == Some(EVENT_STREAM) => Ok(events(response)),
            _ => Err(StreamableHttpError::UnexpectedContentType(media_type(&response))),
        }
    }
}

/// Turns an unsuccessful answer into a message or an error.
async fn refused(
    response: Response,
    message: &ClientJsonRpcMessage,
    in_session: bool,
) -> Result<StreamableHttpPostResponse, Failure> {
    if let Some(challenge) = challenged(&response) {
        return Err(challenge);
    }
    let status = response.status();
    let kind = media_type(&response);
    let (is_json, is_text) = (kind.as_deref() == Some(JSON), kind.as_deref() == Some(TEXT));
    let retry_after = response.headers().get(::http::header::RETRY_AFTER).and_then(|value| value.to_str().ok());
    let retry_after = retry_after.map(str::to_owned);
    let body = http_client::read(response, MAX_ERROR).await.unwrap_or_default();
    let error = match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
        Ok(ServerJsonRpcMessage::Error(error)) if is_json => Some(error),
        _ => None,
    };
    let failure = || match error_text(&body) {
        Some(text) if is_text => failed(format!("HTTP {status}: {text}")),
        _ => StreamableHttpError::HttpStatus(HttpStatusError::new(status.as_u16(), retry_after)),
    };
    let ClientJsonRpcMessage::Request(request) = message else { return Err(failure()) };
    let is_auth = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    if matches!(request.request, ClientRequest::DiscoverRequest(_))
        && status.is_client_error()
        && !in_session
        && !is_auth
    {
        // A server of an older protocol: its error may have any id, or there may be no message.
        let error = error.map(|error| error.error);
        let error = error.unwrap_or_else(|| ErrorData::invalid_request(format!("HTTP {status}"), None));
        let answer = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
        return Ok(StreamableHttpPostResponse::Json(answer, None));
    }
    match error {
        Some(error) if !is_auth => {
            let id = error.id.clone().or_else(|| Some(request.id.clone()));
            Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::error(error.error, id), None))
        }
        _ => Err(failure()),
    }
}

/// Returns the text for an unsuccessful answer, with the reason that it gives.
pub(super) async fn http_error(response: Response) -> String {
    let status = response.status();
    let kind = media_type(&response);
    let body = http_client::read(response, MAX_ERROR).await.unwrap_or_default();
    let reason = match kind.as_deref() {
        Some(JSON) => match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
            Ok(ServerJsonRpcMessage::Error(error)) => error_text(error.error.message.as_bytes()),
            _ => None,
        },
        Some(TEXT) => error_text(&body),
        _ => None,
    };
    reason.map_or_else(|| format!("HTTP {status}"), |reason| format!("HTTP {status}: {reason}"))
}

/// Returns the beginning of the text of an error answer, on one line.
fn error_text(body: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(body);
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let text: String = text.trim().chars().take(MAX_ERROR_TEXT).map(plain).collect();
    (!text.is_empty()).then_some(text)
}

/// Returns the error of an answer that wants other credentials.
fn challenged(response: &Response) -> Option<Failure> {
    let challenge = challenges(response).join(", ");
    match response.status() {
        StatusCode::UNAUTHORIZED => Some(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge))),
        StatusCode::FORBIDDEN if !challenge.is_empty() => {
            Some(StreamableHttpError::InsufficientScope(InsufficientScopeError::new(challenge, None)))
        }
        _ => None,
    }
}
