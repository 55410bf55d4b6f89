//! Streamable HTTP: sending messages, and reading what comes back.

use super::builder::{HttpTarget, Running, SseTarget, sealed, serve};
use super::callbacks::Callbacks;
use super::error::{ClientError, causes};
use super::sse;
use ::http::header::{ACCEPT, CONTENT_TYPE, WWW_AUTHENTICATE};
use ::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use bytes::{Bytes, BytesMut};
use futures::stream::BoxStream;
use futures::{Stream, StreamExt as _, TryStreamExt as _};
use reqwest::{RequestBuilder, Response};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, ServerJsonRpcMessage};
use rmcp::service::ClientLifecycleMode;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpClient,
    StreamableHttpClientTransportConfig, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// The largest message, in bytes, and the largest event.
pub(super) const MAX_MESSAGE: usize = 16 << 20;

/// The most of an answer that is an error, in bytes.
const MAX_ERROR: usize = 64 << 10;

/// How long to wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Requests that are under way at a time; those that are answered by a stream do not count.
const CONCURRENT_REQUESTS: usize = 64;

const JSON: &str = "application/json";
const EVENT_STREAM: &str = "text/event-stream";
const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The address of a server, and what is sent with each request.
#[derive(Clone)]
pub(super) struct Endpoint {
    pub(super) url: String,
    headers: Result<HeaderMap, String>,
    /// Makes what gives tokens, once.
    #[cfg(feature = "auth")]
    authorization: Option<Arc<std::sync::Mutex<Option<MakeAuthorizer>>>>,
}

#[cfg(feature = "auth")]
type MakeAuthorizer = Box<dyn FnOnce(&Url) -> Result<Arc<dyn super::auth::Authorizer>, super::auth::AuthError> + Send>;

impl Endpoint {
    pub(super) fn new(url: String) -> Self {
        Self {
            url,
            headers: Ok(HeaderMap::new()),
            #[cfg(feature = "auth")]
            authorization: None,
        }
    }

    #[cfg(feature = "auth")]
    pub(super) fn authorize(&mut self, authorization: impl super::auth::Authorization) {
        let make: MakeAuthorizer = Box::new(move |url| authorization.for_server(url));
        self.authorization = Some(Arc::new(std::sync::Mutex::new(Some(make))));
    }

    pub(super) fn header(&mut self, name: &str, value: &str) {
        let Ok(headers) = &mut self.headers else { return };
        match (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            (Ok(name), Ok(mut value)) => {
                // It may be a secret.
                value.set_sensitive(true);
                headers.append(name, value);
            }
            _ => self.headers = Err(format!("`{name}` cannot be a header")),
        }
    }

    /// Returns the address, and a client that sends the headers to it.
    ///
    /// # Errors
    ///
    /// The address is none that HTTP has, or a header is none.
    pub(super) fn open(&self) -> Result<(Url, Backend), ClientError> {
        let failed = |reason: String| ClientError::Connect { server: self.url.clone(), reason };
        let url = Url::parse(&self.url).map_err(|error| failed(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(failed("its address begins with neither `https:` nor `http:`".to_owned()));
        }
        let headers = self.headers.clone().map_err(failed)?;
        // The program may have chosen another provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            // Credentials go to the address they were given for, and nowhere else.
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("brumate-mcp/", env!("CARGO_PKG_VERSION")))
            .build();
        let client = client.map_err(|error| failed(causes(&error)))?;
        #[cfg(feature = "auth")]
        let authorizer = match &self.authorization {
            Some(authorization) => {
                let authorization = authorization.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
                authorization.map(|make| make(&url)).transpose().map_err(|error| failed(error.to_string()))?
            }
            None => None,
        };
        let backend = Backend {
            client,
            headers,
            #[cfg(feature = "auth")]
            authorizer,
        };
        Ok((url, backend))
    }
}

/// Sends requests to one server.
#[derive(Clone)]
pub(super) struct Backend {
    client: reqwest::Client,
    headers: HeaderMap,
    #[cfg(feature = "auth")]
    authorizer: Option<Arc<dyn super::auth::Authorizer>>,
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum BackendError {
    #[error("{0}")]
    Failed(String),
    #[cfg(feature = "auth")]
    #[error("{0}")]
    Authorization(#[source] super::auth::AuthError),
}

type Failure = StreamableHttpError<BackendError>;

fn failure(error: reqwest::Error) -> Failure {
    StreamableHttpError::Client(BackendError::Failed(causes(&error.without_url())))
}

impl Backend {
    pub(super) fn get(&self, url: &str) -> RequestBuilder {
        self.client.get(url).headers(self.headers.clone()).header(ACCEPT, EVENT_STREAM)
    }

    pub(super) fn post(&self, url: &str, body: Bytes) -> RequestBuilder {
        let request = self.client.post(url).headers(self.headers.clone());
        request.header(ACCEPT, format!("{JSON}, {EVENT_STREAM}")).header(CONTENT_TYPE, JSON).body(body)
    }
}

impl Backend {
    /// Sends a request, with a token where there is authorization. An answer that wants another token gets it, a few times.
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
                if !wants || attempts == super::auth::MAX_AUTHORIZATIONS {
                    return Ok(response);
                }
                attempts += 1;
                drop(response);
                authorizer.challenged(status.as_u16(), challenges, token).await.map_err(failed)?;
            }
        }
        make().send().await.map_err(failure)
    }

    /// Gets a token before the protocol begins, where none is known: the beginning has no patience with a person in a browser.
    #[cfg(feature = "auth")]
    async fn prepare(&self, url: &Url) -> Result<(), ClientError> {
        let Some(authorizer) = &self.authorizer else { return Ok(()) };
        let failed = |error: super::auth::AuthError| ClientError::Authorization(error.to_string());
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
            // Whatever else it is, the protocol's beginning meets it again.
            _ => Ok(()),
        }
    }
}

fn challenges(response: &Response) -> Vec<String> {
    let headers = response.headers().get_all(WWW_AUTHENTICATE).iter();
    headers.filter_map(|value| value.to_str().ok()).map(str::to_owned).collect()
}

impl StreamableHttpClient for Backend {
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
        let body = Bytes::from(serde_json::to_vec(&message)?);
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
                let body = read(response, MAX_MESSAGE).await?;
                Ok(StreamableHttpPostResponse::Json(serde_json::from_slice(&body)?, session))
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
            // The server keeps its sessions, or does not know this one any more.
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

/// What becomes of an answer that is no success.
async fn refused(
    response: Response,
    message: &ClientJsonRpcMessage,
    in_session: bool,
) -> Result<StreamableHttpPostResponse, Failure> {
    if let Some(challenge) = challenged(&response) {
        return Err(challenge);
    }
    let status = response.status();
    let is_json = media_type(&response).as_deref() == Some(JSON);
    let retry_after = response.headers().get(::http::header::RETRY_AFTER).and_then(|value| value.to_str().ok());
    let retry_after = retry_after.map(str::to_owned);
    let body = read(response, MAX_ERROR).await.unwrap_or_default();
    let error = match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
        Ok(ServerJsonRpcMessage::Error(error)) if is_json => Some(error),
        _ => None,
    };
    let ClientJsonRpcMessage::Request(request) = message else {
        return Err(StreamableHttpError::HttpStatus(HttpStatusError::new(status.as_u16(), retry_after)));
    };
    let is_auth = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    if matches!(request.request, ClientRequest::DiscoverRequest(_))
        && status.is_client_error()
        && !in_session
        && !is_auth
    {
        // A server of an older protocol: its id may be any, or there may be no message at all.
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
        _ => Err(StreamableHttpError::HttpStatus(HttpStatusError::new(status.as_u16(), retry_after))),
    }
}

/// The error of an answer that wants other credentials.
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

/// Returns an answer's media type, without its parameters.
pub(super) fn media_type(response: &Response) -> Option<String> {
    let value = response.headers().get(CONTENT_TYPE)?.to_str().ok()?;
    Some(value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
}

/// Reads a body of at most `limit` bytes.
pub(super) async fn read(response: Response, limit: usize) -> Result<Bytes, Failure> {
    let mut body = BytesMut::new();
    let mut stream = response.bytes_stream();
    while let Some(part) = stream.try_next().await.map_err(failure)? {
        if body.len() + part.len() > limit {
            let text = format!("an answer of more than {limit} bytes");
            return Err(StreamableHttpError::UnexpectedServerResponse(text.into()));
        }
        body.extend_from_slice(&part);
    }
    Ok(body.freeze())
}

/// Returns the events of an answer.
pub(super) fn events(response: Response) -> BoxStream<'static, Result<Sse, SseError>> {
    SseStream::from_bytes_stream(bounded(response.bytes_stream(), MAX_MESSAGE)).boxed()
}

/// Passes bytes on until an event has more than `limit` of them: until so many have come without an empty line.
fn bounded<E: std::error::Error + Send + Sync + 'static>(
    bytes: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    limit: usize,
) -> impl Stream<Item = Result<Bytes, io::Error>> + Send + 'static {
    let (mut since, mut at_line_start) = (0usize, true);
    let check = move |part: Result<Bytes, E>| {
        let part = part.map_err(io::Error::other)?;
        for byte in &part {
            since += 1;
            match byte {
                b'\n' if at_line_start => since = 0,
                b'\n' => at_line_start = true,
                b'\r' => {}
                _ => at_line_start = false,
            }
            if since > limit {
                return Err(io::Error::other(format!("an event of more than {limit} bytes")));
            }
        }
        Ok(part)
    };
    bytes.map(check).scan(false, |ended, part| {
        let before = std::mem::replace(ended, part.is_err());
        std::future::ready((!before).then_some(part))
    })
}

impl sealed::Target for HttpTarget {
    fn name(&self) -> String {
        self.0.url.clone()
    }

    async fn start(self, callbacks: Arc<Callbacks>, lifecycle: ClientLifecycleMode) -> Result<Running, ClientError> {
        let (url, backend) = self.0.open()?;
        #[cfg(feature = "auth")]
        backend.prepare(&url).await?;
        let config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
            .max_concurrent_requests(CONCURRENT_REQUESTS)
            .reinit_on_expired_session(true);
        let transport = StreamableHttpClientTransport::with_client(backend, config);
        serve(&self.0.url, transport, callbacks, lifecycle).await
    }
}

impl sealed::Target for SseTarget {
    fn name(&self) -> String {
        self.0.url.clone()
    }

    async fn start(self, callbacks: Arc<Callbacks>, _lifecycle: ClientLifecycleMode) -> Result<Running, ClientError> {
        let (url, backend) = self.0.open()?;
        let transport = sse::connect(&self.0.url, &url, backend).await?;
        // That transport ended with the protocols that begin so.
        serve(&self.0.url, transport, callbacks, ClientLifecycleMode::Initialize).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn events_are_bounded_and_streams_are_not() {
        let pass = |parts: &'static [&'static str]| async move {
            let parts =
                futures::stream::iter(parts).map(|part| Ok::<_, io::Error>(Bytes::from_static(part.as_bytes())));
            bounded(parts, 16).collect::<Vec<_>>().await
        };
        let fine = pass(&["data: a\n\n", "data: b\r\n\r\n", "data: c", "\n\n"]).await;
        assert!(fine.iter().all(Result::is_ok) && fine.len() == 4);
        let long = pass(&["data: a\n\n", "data: aaaaaaa\nda", "ta: b\n\n", "data: c\n\n"]).await;
        assert!(long.len() == 3 && long[1].is_ok() && long[2].is_err(), "{long:?}");
    }
}
