//! Routers of the program, guarded as servers are.

use super::clients::Clients;
use super::guard::Guard;
use super::options::HttpOptions;
use super::resource_metadata::ProtectedMount;
use super::response::{Response, refusal, with_refusal_format};
use super::router_bodies::{RequestBody, RouterResponseBody};
use super::running_requests::{RunningRequests, ShutdownPolicy};
use super::service::cors;
use crate::auth::Protection;
use axum::Router;
use axum::body::Body;
use http::header::{ACCESS_CONTROL_REQUEST_METHOD, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, Method, Request, StatusCode};
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tower::{Layer as _, ServiceExt as _};
use tower_http::cors::AllowMethods;

/// A router of the program at a path, with the checks and limits of its options. Clones share them.
#[derive(Clone)]
pub(crate) struct GuardedRouter {
    prefix: String,
    shared: Arc<GuardedRouterInner>,
}

/// The parts that all clones of a guarded router share.
struct GuardedRouterInner {
    router: Router,
    options: HttpOptions,
    guard: Guard,
    clients: Arc<Clients>,
    activity: RunningRequests,
    /// Ends the streams that listen.
    ended: CancellationToken,
    shutdown: ShutdownPolicy,
}

impl fmt::Debug for GuardedRouter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardedRouter").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

impl GuardedRouter {
    pub(crate) fn new(prefix: &str, router: Router, options: HttpOptions) -> Self {
        let shared = GuardedRouterInner {
            router,
            guard: Guard::new(&options),
            clients: Clients::new(&options),
            activity: RunningRequests::default(),
            ended: CancellationToken::new(),
            shutdown: options.shutdown.clone(),
            options,
        };
        Self { prefix: prefix.trim_end_matches('/').to_owned(), shared: Arc::new(shared) }
    }

    /// Returns the path below which the router is.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns the settings of access tokens.
    pub(crate) fn protection(&self) -> Option<&Arc<Protection>> {
        self.shared.options.verifier.protection.as_ref()
    }

    /// Returns the router as a protected server; `None` if it takes no access tokens.
    pub(crate) fn protected(&self) -> Option<ProtectedMount> {
        let protection = self.protection()?.clone();
        let path = format!("{}{}", self.prefix, self.shared.options.path);
        Some(ProtectedMount { protection, guard: self.shared.guard.clone(), path })
    }

    /// Returns the number of requests that are not answered yet. Streams that listen are not counted.
    pub(crate) fn running_requests(&self) -> usize {
        self.shared.activity.running()
    }

    /// Refuses new requests, waits for running ones, and ends the streams that listen.
    pub(crate) async fn drain(&self) {
        self.shared.activity.drain();
        self.shared.shutdown.wait(self.shared.activity.finished()).await;
        self.shared.ended.cancel();
    }

    /// Returns the router with its guard before it.
    pub(crate) fn router(&self) -> Router {
        let shared = self.shared.clone();
        let answer = tower::service_fn(move |request: Request<Body>| {
            let shared = shared.clone();
            async move {
                Ok::<_, Infallible>(with_refusal_format(shared.answer(request).await, shared.options.refusal_format))
            }
        });
        let pages = cors(self.shared.guard.clone()).allow_methods(AllowMethods::mirror_request()).layer(answer.clone());
        // Without this header, `OPTIONS` is a request of a client like any other.
        let is_for_router = |request: &Request<Body>| {
            request.method() == Method::OPTIONS && !request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD)
        };
        let guarded = tower::service_fn(move |request: Request<Body>| {
            let (pages, answer) = (pages.clone(), answer.clone());
            async move {
                match is_for_router(&request) {
                    true => answer.oneshot(request).await,
                    false => pages.oneshot(request).await.map(|response| response.map(Body::new)),
                }
            }
        });
        match self.prefix.as_str() {
            "" => Router::new().fallback_service(guarded),
            prefix => Router::new().nest_service(prefix, guarded),
        }
    }
}

impl GuardedRouterInner {
    async fn answer(&self, request: Request<Body>) -> Response {
        let (mut head, body) = request.into_parts();
        if let Err((status, reason)) = self.guard.admit(&head) {
            return refusal(status, reason);
        }
        let client = match self.clients.authenticate(&mut head).await {
            Ok(client) => client,
            Err(refusal) => return *refusal,
        };
        if self.activity.is_draining() {
            return refusal(StatusCode::SERVICE_UNAVAILABLE, "the server is stopping");
        }
        let Some(charge) = client.account.begin_request() else {
            let text = "too many of your requests are not answered yet: wait for some of them, then try again";
            return refusal(StatusCode::SERVICE_UNAVAILABLE, text);
        };
        let limits = &self.options.body;
        if declared_length(&head.headers).is_some_and(|length| length > limits.bytes as u64) {
            return refusal(StatusCode::PAYLOAD_TOO_LARGE, format!("a body has at most {} bytes", limits.bytes));
        }
        let running = self.activity.begin();
        let listens = head.method == Method::GET;
        let (body, refused) = RequestBody::new(body, limits);
        let request = Request::from_parts(head, Body::new(body));
        let Ok(response) = self.router.clone().oneshot(request).await;
        if let Some(refusal) = refused.response() {
            return refusal;
        }
        let listens = listens && is_event_stream(response.headers());
        let (keep_alive, ended) = (self.options.keep_alive, self.ended.clone());
        let ended = if listens { ended } else { CancellationToken::new() };
        let response = response.map(|body| Body::new(RouterResponseBody::new(body, keep_alive, ended, charge)));
        self.clients.send(&client, None, (!listens).then_some(running), response)
    }
}

/// Returns the length of a body that its head declares.
fn declared_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}
