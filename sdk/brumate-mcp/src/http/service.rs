//! Streamable HTTP: the service of rmcp with this crate's sessions, guards and limits.

use super::clients::Clients;
use super::guard::Guard;
use super::json_response::{self, JsonAnswers};
use super::options::HttpOptions;
use super::parse_errors;
use super::request_body::discard;
use super::request_extensions::StatelessRequest;
use super::request_scope::{REQUEST_SCOPE, RequestScope};
use super::response::{Response, refusal};
use super::response_body::ResponseReservation;
use super::running_requests::{RunningRequests, ShutdownPolicy};
use super::session::Sessions;
use super::session_store::PrincipalSessionStore;
use crate::handler::LayeredHandler;
use crate::principal::Principal;
use crate::server::Server;
use crate::tasks::{SubscribedTasks, Tasks};
use axum::body::Body;
use bytes::Bytes;
use futures::future::BoxFuture;
use http::header::{ACCEPT, HeaderName, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use http_body::Frame;
use http_body_util::BodyExt as _;
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tower::{Layer as _, Service};
use tower_http::cors::{AllowHeaders, AllowOrigin, Cors, CorsLayer};

/// A server as a tower service: streamable HTTP with all protocol versions, at whatever path it is mounted.
///
/// ```no_run
/// use brumate_mcp::{HttpOptions, ServeError, Server};
/// use std::time::Duration;
///
/// # async fn run(server: Server) -> Result<(), ServeError> {
/// server.start().await?;
/// let service = server.http_service(&HttpOptions::new());
/// let router = axum::Router::new().route_service("/mcp", service.clone());
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
/// axum::serve(listener, router).await?;
/// service.drain(Duration::from_secs(10)).await;
/// server.stop().await;
/// # Ok(())
/// # }
/// ```
///
/// Clones share their sessions. [`App`](crate::App) mounts and runs services by itself.
#[derive(Clone)]
pub struct HttpService {
    service: Cors<Endpoint>,
}

impl fmt::Debug for HttpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpService").finish_non_exhaustive()
    }
}

/// The service behind CORS.
#[derive(Clone)]
struct Endpoint {
    call: Arc<dyn Fn(Request<Body>) -> BoxFuture<'static, Response> + Send + Sync>,
    shared: Arc<EndpointInner>,
}

/// The parts that all clones of an endpoint share.
struct EndpointInner {
    guard: Guard,
    json: bool,
    stateless: bool,
    clients: Arc<Clients>,
    sessions: Arc<Sessions>,
    activity: RunningRequests,
    /// The server whose tasks and waiting calls end with the endpoint. `None` for a handler of rmcp.
    server: Option<Server>,
    store: Option<Arc<PrincipalSessionStore>>,
    token: CancellationToken,
}

impl EndpointInner {
    fn tasks(&self) -> Option<&Tasks> {
        self.server.as_ref().map(|server| &server.shared.tasks)
    }
}

impl Server {
    /// Returns the server as a tower service.
    pub fn http_service(&self, options: &HttpOptions) -> HttpService {
        let server = self.clone();
        let options = options.clone().of_server(self);
        HttpService::new(move |_| LayeredHandler::new(server.clone()), &options, Clients::new(&options))
    }
}

impl HttpService {
    /// Serves handlers of rmcp. `make` makes one for each session and gets its principal.
    pub(crate) fn new<H: ServerHandler>(
        make: impl Fn(Option<&Principal>) -> H + Send + Sync + 'static,
        options: &HttpOptions,
        clients: Arc<Clients>,
    ) -> Self {
        let sessions = Sessions::new(options.limits.clone(), options.store.clone());
        let guard = Guard::new(options);
        let token = CancellationToken::new();
        let mut config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(!options.stateless)
            .with_json_response(options.json)
            .with_sse_keep_alive(Some(options.keep_alive))
            // The sessions send it, to clients that expect it.
            .with_sse_retry(None)
            .with_cancellation_token(token.clone())
            .with_max_request_body_bytes(options.body.bytes);
        let store = options.store.clone().map(|store| Arc::new(PrincipalSessionStore::new(store, options.limits.idle)));
        if let Some(store) = store.clone() {
            config.session_store = Some(store);
        }
        // The guard checks both, for this and the older transport.
        config = config.disable_allowed_hosts().disable_allowed_origins();
        let make = move || Ok(make(RequestScope::principal().as_ref()));
        let service = StreamableHttpService::new(make, sessions.clone(), config);
        let call = move |request| -> BoxFuture<'static, Response> {
            let service = service.clone();
            Box::pin(async move { service.handle::<Body>(request).await.map(Body::new) })
        };
        let shared = EndpointInner {
            guard: guard.clone(),
            json: options.json,
            stateless: options.stateless,
            clients,
            sessions,
            activity: RunningRequests::default(),
            server: options.server.clone(),
            store,
            token,
        };
        let endpoint = Endpoint { call: Arc::new(call), shared: Arc::new(shared) };
        Self { service: cors(guard).layer(endpoint) }
    }

    fn shared(&self) -> &EndpointInner {
        &self.service.get_ref().shared
    }

    /// Returns the number of sessions.
    pub fn session_count(&self) -> usize {
        self.shared().sessions.count()
    }

    /// Returns the number of requests that are not answered yet, streams that listen included.
    pub fn running_requests(&self) -> usize {
        self.shared().activity.running()
    }

    /// Refuses new requests, waits up to `drain_timeout` for running ones, then ends all sessions and streams.
    pub async fn drain(&self, drain_timeout: Duration) {
        self.begin_drain();
        ShutdownPolicy { drain_timeout, interrupt: None }.wait(self.finished()).await;
        self.end_all();
    }

    /// Refuses new requests.
    pub(crate) fn begin_drain(&self) {
        if let Some(tasks) = self.shared().tasks() {
            tasks.begin_drain();
        }
        self.shared().activity.drain();
    }

    /// Waits until no request runs, and until the results of tasks that ran are fetched.
    pub(crate) async fn finished(&self) {
        if let Some(tasks) = self.shared().tasks() {
            tasks.drained().await;
        }
        self.shared().activity.finished().await;
        self.shared().sessions.finished().await;
    }

    /// Ends all sessions and streams.
    pub(crate) fn end_all(&self) {
        self.shared().token.cancel();
        self.shared().sessions.end_all();
        if let Some(server) = &self.shared().server {
            server.cancel_calls();
        }
    }
}

/// Returns the CORS layer: web pages of allowed origins may use the endpoint.
pub(crate) fn cors(guard: Guard) -> CorsLayer {
    let exposed = ["mcp-session-id", "mcp-protocol-version"].map(HeaderName::from_static);
    CorsLayer::new()
        .allow_origin(AllowOrigin::predicate(move |origin, _| guard.allows_origin(origin)))
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        // The names of `Mcp-Param-*` headers are not known here.
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers([&exposed[..], &[WWW_AUTHENTICATE]].concat())
}

impl Endpoint {
    /// Returns whether a request is let in although the server drains: it asks for a task that the drain waits for.
    fn asks_for_task(&self, headers: &HeaderMap) -> bool {
        let method = headers.get("mcp-method").and_then(|method| method.to_str().ok());
        method.is_some_and(|method| method.starts_with("tasks/"))
            && self.shared.tasks().is_some_and(Tasks::is_drain_waiting)
    }

    /// Returns the tasks that a request subscribes to.
    fn followed(&self, head: &Parts, body: &Bytes, principal: Option<&Principal>) -> Option<SubscribedTasks> {
        let listens = head.headers.get("mcp-method").is_some_and(|method| method == "subscriptions/listen");
        let tasks = self.shared.tasks().filter(|_| listens)?;
        SubscribedTasks::read(body, principal, tasks)
    }

    async fn answer(self, request: Request<Body>) -> Response {
        let EndpointInner { guard, json, stateless, activity, clients, .. } = &*self.shared;
        let (mut head, body) = request.into_parts();
        if let Err((status, reason)) = guard.admit(&head) {
            return refusal(status, reason);
        }
        let client = match clients.authenticate(&mut head).await {
            Ok(client) => client,
            Err(refusal) => {
                discard(&head, body).await;
                return *refusal;
            }
        };
        let principal = client.principal.as_ref();
        // Checked here, because rmcp restores a session once for all requests that wait for it, whoever sends them.
        if let Some(store) = &self.shared.store
            && let Some(id) = head.headers.get("mcp-session-id").and_then(|id| id.to_str().ok())
            && !self.shared.sessions.knows(id)
            && !store.knows(id, principal)
        {
            return refusal(StatusCode::NOT_FOUND, "there is no such session");
        }
        if activity.is_draining() && !self.asks_for_task(&head.headers) {
            return refusal(StatusCode::SERVICE_UNAVAILABLE, "the server is stopping");
        }
        let method = head.method.clone();
        accept(&mut head.headers, &method, *json);
        // rmcp has one answer for both: a body that it cannot parse, and a body that is not declared as JSON.
        let readable = method == Method::POST && parse_errors::says_json(&head.headers);
        let mut body = match method {
            Method::POST => match clients.receive(&client, &mut head, body).await {
                Ok(body) => body,
                Err(refusal) => return *refusal,
            },
            _ => Bytes::new(),
        };
        if readable {
            body = match parse_errors::prepared(&mut head, body) {
                Ok(body) => body,
                Err(refused) => return parse_errors::answer(&refused),
            };
        }
        let running = match method {
            Method::POST => match clients.refuse_tool(&client, &body) {
                Some(refusal) => return refusal,
                None => Some(activity.begin()),
            },
            _ => None,
        };
        head.extensions.insert(activity.draining().clone());
        if *stateless {
            head.extensions.insert(StatelessRequest);
        }
        let followed = self.followed(&head, &body, principal);
        head.extensions.remove::<SubscribedTasks>();
        if let Some(followed) = &followed {
            head.extensions.insert(followed.clone());
        }
        let reservation = head.extensions.get::<ResponseReservation>().cloned();
        let request = Request::from_parts(head, Body::from(body.clone()));
        let (mut response, refused) = REQUEST_SCOPE
            .scope(RequestScope::new(client.clone()), async {
                let response = (self.call)(request).await;
                (response, REQUEST_SCOPE.with(|scope| scope.refused.get()))
            })
            .await;
        if let Some(refused) = refused {
            return refused.response();
        }
        if readable && response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
            return parse_errors::answer(&[parse_errors::no_message(&body)]);
        }
        if method == Method::DELETE && response.status() == StatusCode::ACCEPTED {
            // The session has ended by now.
            *response.status_mut() = StatusCode::OK;
        }
        if method == Method::POST {
            let answers = if *json && !*stateless { JsonAnswers::All } else { JsonAnswers::Large };
            response = json_response::from_event_stream(response, answers).await;
        }
        if let Some(followed) = followed {
            response = response.map(|body| Body::new(body.map_frame(move |frame| acknowledging(&followed, frame))));
        }
        clients.send(&client, reservation, running, response)
    }
}

/// Puts the tasks into the event that acknowledges a subscription. Each event is a frame.
fn acknowledging(followed: &SubscribedTasks, frame: Frame<Bytes>) -> Frame<Bytes> {
    let text = frame.data_ref().and_then(|data| std::str::from_utf8(data).ok());
    match text.and_then(|text| followed.acknowledge(text)) {
        Some(text) => Frame::data(text.into()),
        None => frame,
    }
}

/// Sets `Accept` to the types that the protocol requires if the client's `Accept` covers them: `*/*`, `text/*` and
/// such, or no `Accept`. If `json` is set, the server answers with JSON alone, and a client need not accept event streams.
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
    B: http_body::Body<Data = Bytes> + Send + 'static,
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
