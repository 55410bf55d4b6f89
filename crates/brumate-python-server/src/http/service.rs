//! The service: its sockets, and the machines behind them.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use brumate_mcp::{App, HttpOptions, ServeError, Tls};
use http::{Request, StatusCode};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::connection::{ApplicationError, Connection};
use super::forward::forward;
use super::limits::HttpLimits;
use super::refusals::refusal;
use super::request_head::ServedAddress;
use super::session_routes;
use super::sessions::Sessions;
use super::shared_machine::{NoMachine, SharedMachine};
use super::starting::MachineStarter;
use crate::{Launcher, MAX_FAILED_STARTS, StartedMachine};

/// The clients that share one machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Isolation {
    /// All clients. When the machine has ended, the next request starts a new one.
    #[default]
    Server,
    /// Each session of the protocol has a machine: over streamable HTTP and over HTTP+SSE. A POST with JSON that names no session has a
    /// machine of its own, which ends after the response unless that begins a session. Other requests without a session share a machine
    /// with those of their principal, and so do all requests of protocol 2026-07-28 and later. What the application keeps in memory is not
    /// shared: its own OAuth provider works with [`Isolation::Server`] alone.
    Session,
}

/// An HTTP service cannot be served, or not any more.
#[derive(Debug, thiserror::Error)]
pub enum HttpServeError {
    /// The first machine's application did not start.
    #[error(transparent)]
    Start(#[from] ApplicationError),
    /// The sockets cannot be served.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The machine has ended and could not be started again, [`MAX_FAILED_STARTS`](crate::MAX_FAILED_STARTS) times one after the other.
    /// The text is the last reason.
    #[error("the server could not be started again {times} times, one after the other; the last time: {0}", times = MAX_FAILED_STARTS)]
    CrashLoop(String),
}

/// An HTTP service whose application is in machines.
#[derive(Debug, Default)]
pub struct HttpService {
    options: HttpOptions,
    tls: Option<Tls>,
    isolation: Isolation,
    limits: HttpLimits,
    routes: Router,
}

impl HttpService {
    /// Makes a service with the defaults. `options` has the limits of clients, and who is let in. When it has tokens, the application
    /// does not see them; it finds the principal in the header `x-brumate-principal`.
    pub fn new(options: HttpOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// Serves over TLS.
    #[must_use]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Sets which clients share a machine; [`Isolation::Server`] by default.
    #[must_use]
    pub fn isolation(mut self, isolation: Isolation) -> Self {
        self.isolation = isolation;
        self
    }

    /// Sets the limits of the machines.
    #[must_use]
    pub fn limits(mut self, limits: HttpLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Adds routes of the host's own, which take precedence over those of the application. Nothing checks who requests them.
    #[must_use]
    pub fn merge(mut self, routes: Router) -> Self {
        self.routes = self.routes.merge(routes);
        self
    }

    /// Serves until `shutdown` is cancelled. Accepts connections when the application in `first` has started. Then, at the end, lets
    /// running requests end as `options` say, and waits until the application has ended.
    ///
    /// # Errors
    ///
    /// [`HttpServeError`]. No machine runs then.
    pub async fn serve(
        self,
        launcher: Arc<dyn Launcher>,
        first: StartedMachine,
        listener: TcpListener,
        shutdown: CancellationToken,
    ) -> Result<(), HttpServeError> {
        let first = tokio::select! {
            first = Connection::start(first, &self.limits) => first?,
            () = shutdown.cancelled() => return Ok(()),
        };
        let served = ServedAddress { address: listener.local_addr().ok(), tls: self.tls.is_some() };
        let starter = MachineStarter::new(launcher, self.limits.clone());
        match self.isolation {
            Isolation::Server => self.serve_shared(first, starter, served, listener, shutdown).await,
            Isolation::Session => {
                let sessions = Arc::new(Sessions::new(first, starter));
                let routed = Arc::clone(&sessions);
                let router = route(move |request| {
                    let (sessions, served) = (Arc::clone(&routed), served.clone());
                    async move { session_routes::answer(&sessions, request, &served).await }
                });
                let ended = self.serve_sockets(router, listener, shutdown).await;
                sessions.stop().await;
                Ok(ended?)
            }
        }
    }

    async fn serve_shared(
        self,
        first: Connection,
        starter: MachineStarter,
        served: ServedAddress,
        listener: TcpListener,
        shutdown: CancellationToken,
    ) -> Result<(), HttpServeError> {
        let stop = CancellationToken::new();
        let (machine, kept) = SharedMachine::new(first, starter, stop.clone());
        let machine = Arc::new(machine);
        let router = route(move |request| {
            let (machine, served) = (Arc::clone(&machine), served.clone());
            async move { answer_shared(&machine, request, &served).await }
        });
        let ending = shutdown.child_token();
        let served = async {
            let served = self.serve_sockets(router, listener, ending.clone()).await;
            stop.cancel();
            served
        };
        let kept = async {
            let kept = kept.await;
            ending.cancel();
            kept
        };
        let (served, kept) = futures::join!(served, kept);
        served?;
        kept.map_err(HttpServeError::CrashLoop)
    }

    async fn serve_sockets(
        self,
        router: Router,
        listener: TcpListener,
        shutdown: CancellationToken,
    ) -> Result<(), ServeError> {
        let app = App::new().mount_router("", router, self.options).merge(self.routes);
        let ending = async move { shutdown.cancelled().await };
        match self.tls {
            Some(tls) => app.serve_tls(listener, tls, ending).await,
            None => app.serve(listener, ending).await,
        }
    }
}

/// Returns a router that answers each request with `answer`.
fn route<F>(answer: impl Fn(Request<Body>) -> F + Clone + Send + Sync + 'static) -> Router
where
    F: Future<Output = Response> + Send + 'static,
{
    Router::new().fallback(answer)
}

async fn answer_shared(machine: &SharedMachine, request: Request<Body>, served: &ServedAddress) -> Response {
    let text = match machine.connection().await {
        Ok(connection) => return forward(&connection, request, served).await,
        Err(NoMachine::TooManyWaiting) => "too many requests wait for the server to start: try again later",
        Err(NoMachine::NotStarted) => "the server could not be started: try again later",
    };
    refusal(StatusCode::SERVICE_UNAVAILABLE, text)
}
