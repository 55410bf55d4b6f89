//! Streamable HTTP: rmcp's service, with our sessions and what it leaves to others.

use super::guard::Guard;
use super::session::{REFUSED, Sessions};
use super::{HttpOptions, json};
use crate::handler::Handler;
use crate::server::Server;
use axum::body::Body;
use futures::future::BoxFuture;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use std::cell::Cell;
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tower::{Layer as _, Service};
use tower_http::cors::{AllowHeaders, AllowOrigin, Cors, CorsLayer};

pub(crate) type Response = http::Response<Body>;

/// A server as a tower service: streamable HTTP, all protocol versions, at whatever path it is mounted.
///
/// Clones share their sessions. [`App`](crate::App) mounts and runs it; who does that elsewhere calls
/// [`HttpService::drain`] at the end, and [`Server::stop`] after that.
#[derive(Clone)]
pub struct HttpService {
    service: Cors<Endpoint>,
}

impl fmt::Debug for HttpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpService").finish_non_exhaustive()
    }
}

#[derive(Clone)]
struct Endpoint {
    call: Arc<dyn Fn(Request<Body>) -> BoxFuture<'static, Response> + Send + Sync>,
    shared: Arc<Shared>,
}

struct Shared {
    guard: Guard,
    json: bool,
    stateless: bool,
    sessions: Arc<Sessions>,
    draining: AtomicBool,
    running: watch::Sender<usize>,
    token: CancellationToken,
}

/// A request that runs.
struct Running(watch::Sender<usize>);

impl Running {
    fn new(count: watch::Sender<usize>) -> Self {
        count.send_modify(|running| *running += 1);
        Self(count)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.send_modify(|running| *running -= 1);
    }
}

impl Server {
    /// The server as a tower service.
    pub fn http_service(&self, options: &HttpOptions) -> HttpService {
        let server = self.clone();
        HttpService::new(move || Handler::new(server.clone()), options)
    }
}

impl HttpService {
    /// Serves handlers of rmcp's, one for each session.
    pub(crate) fn new<H: ServerHandler>(make: impl Fn() -> H + Send + Sync + 'static, options: &HttpOptions) -> Self {
        let sessions = Sessions::new(options.limits.clone());
        let guard = Guard::new(options);
        let token = CancellationToken::new();
        let mut config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(!options.stateless)
            .with_json_response(options.json)
            .with_sse_keep_alive(Some(options.keep_alive))
            // Our sessions do it, for clients that expect it.
            .with_sse_retry(None)
            .with_cancellation_token(token.clone())
            .with_max_request_body_bytes(options.max_body);
        // The guard checks both, for this and the older transport.
        config = config.disable_allowed_hosts().disable_allowed_origins();
        let service = StreamableHttpService::new(move || Ok(make()), sessions.clone(), config);
        let call = move |request| -> BoxFuture<'static, Response> {
            let service = service.clone();
            Box::pin(async move { service.handle::<Body>(request).await.map(Body::new) })
        };
        let shared = Shared {
            guard: guard.clone(),
            json: options.json,
            stateless: options.stateless,
            sessions,
            draining: AtomicBool::new(false),
            running: watch::Sender::new(0),
            token,
        };
        let endpoint = Endpoint { call: Arc::new(call), shared: Arc::new(shared) };
        Self { service: cors(guard).layer(endpoint) }
    }

    fn shared(&self) -> &Shared {
        &self.service.get_ref().shared
    }

    /// How many sessions there are.
    pub fn sessions(&self) -> usize {
        self.shared().sessions.count()
    }

    /// Refuses new requests, waits up to `patience` for those that run, then ends all sessions and streams.
    pub async fn drain(&self, patience: Duration) {
        let shared = self.shared();
        shared.draining.store(true, Ordering::Relaxed);
        let mut running = shared.running.subscribe();
        let finished = async {
            // The sender is ours: this fails never.
            let _ = running.wait_for(|running| *running == 0).await;
            shared.sessions.finished().await;
        };
        if tokio::time::timeout(patience, finished).await.is_err() {
            tracing::warn!("requests were still running when the server stopped");
        }
        shared.token.cancel();
        shared.sessions.end_all();
    }
}

/// Web pages of allowed origins may use the endpoint.
pub(crate) fn cors(guard: Guard) -> CorsLayer {
    let exposed = ["mcp-session-id", "mcp-protocol-version"].map(HeaderName::from_static);
    CorsLayer::new()
        .allow_origin(AllowOrigin::predicate(move |origin, _| guard.allows_origin(origin)))
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        // `Mcp-Param-*` are names nobody knows beforehand.
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers([&exposed[..], &[WWW_AUTHENTICATE]].concat())
}

/// A refusal, readable.
pub(crate) fn refusal(status: StatusCode, text: impl Into<String>) -> Response {
    let mut response = Response::new(Body::from(text.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
    }
    response
}

impl Endpoint {
    async fn answer(self, request: Request<Body>) -> Response {
        let Shared { guard, json, stateless, draining, running, .. } = &*self.shared;
        let (mut head, body) = request.into_parts();
        if let Err(reason) = guard.check(&head) {
            tracing::warn!(reason, "a request was refused");
            return refusal(StatusCode::FORBIDDEN, reason);
        }
        if draining.load(Ordering::Relaxed) {
            return refusal(StatusCode::SERVICE_UNAVAILABLE, "the server is stopping");
        }
        let method = head.method.clone();
        accept(&mut head.headers, &method, *json);
        let running = (method == Method::POST).then(|| Running::new(running.clone()));
        let request = Request::from_parts(head, body);
        let (mut response, refused) = REFUSED
            .scope(Cell::new(false), async {
                let response = (self.call)(request).await;
                (response, REFUSED.with(Cell::get))
            })
            .await;
        if refused {
            return refusal(StatusCode::SERVICE_UNAVAILABLE, "there are too many sessions: try again later");
        }
        if method == Method::DELETE && response.status() == StatusCode::ACCEPTED {
            // The session has ended by now, which clients like to hear.
            *response.status_mut() = StatusCode::OK;
        }
        if *json && !*stateless && method == Method::POST {
            response = json::fold(response).await;
        }
        match running {
            // The request runs until the last of its answer is read, or given up.
            Some(running) => response.map(|body| {
                Body::new(body.map_frame(move |frame| {
                    let _ = &running;
                    frame
                }))
            }),
            None => response,
        }
    }
}

/// Says that a client accepts what the protocol requires, if its `Accept` means that: `*/*`, `text/*` and such, or no
/// `Accept` at all; where answers are JSON, JSON is enough.
fn accept(headers: &mut HeaderMap, method: &Method, json: bool) {
    let accepted: Vec<String> = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|kind| kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
        .filter(|kind| !kind.is_empty())
        .collect();
    let accepts = |kind: &str| {
        let family = kind.split('/').next().unwrap_or_default();
        accepted.is_empty()
            || accepted
                .iter()
                .any(|accepted| *accepted == kind || accepted == "*/*" || *accepted == format!("{family}/*"))
    };
    let enough = match *method {
        Method::POST => accepts("application/json") && (json || accepts("text/event-stream")),
        Method::GET => accepts("text/event-stream"),
        _ => false,
    };
    if enough {
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    }
}

impl Service<Request<Body>> for Endpoint {
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let endpoint = self.clone();
        Box::pin(async move { Ok(endpoint.answer(request).await) })
    }
}

impl<B> Service<Request<B>> for HttpService
where
    B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let mut service = self.service.clone();
        Box::pin(async move { service.call(request.map(Body::new)).await })
    }
}
