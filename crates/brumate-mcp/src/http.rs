//! Serving over HTTP.

mod activity;
mod app;
mod authenticate;
mod authority;
mod body;
mod budget;
mod clients;
mod connections;
mod credentials;
pub mod fuzzing;
mod guard;
mod json;
mod outgoing;
mod output;
mod principal;
mod proxies;
mod refused;
mod resource_metadata;
mod service;
mod session;
#[cfg(feature = "sqlite")]
mod sqlite;
mod sse;
mod store;
mod streams;
mod tls;
pub(crate) mod unanswerable;
mod unreadable;
mod write_timeout;

pub use app::App;
pub(crate) use app::listen;
pub use principal::Principal;
pub use service::HttpService;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteEventStore;
pub use store::{EventStore, StoreError, StoredSession, StoredStream};
pub use tls::Tls;

pub(crate) use activity::Draining;
pub(crate) use authenticate::{hides_unscoped, may_call};
pub(crate) use budget::{Account, Budget};
pub(crate) use clients::{Clients, revocation};
#[cfg(feature = "auth-server")]
pub(crate) use guard::Guard;
pub(crate) use output::Reservation;
pub(crate) use principal::{is_stateless, principal};
pub(crate) use session::RequestStream;

use crate::auth::Protect;
use crate::error::ServeError;
use crate::server::Server;
use crate::tasks::Tasks;
use activity::Farewell;
use authenticate::{Names, ToolScopes, Verifier};
use budget::BudgetLimits;
use proxies::{Network, Outside};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How a server is served over HTTP.
///
/// The defaults are for a server on this machine: only requests that name it (`localhost`, `127.0.0.1`, `[::1]`)
/// and only web pages from it are let in; bodies have at most 4 MiB; there are at most 10 000 sessions, which end
/// after 30 minutes in which nothing runs and nobody listens.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    pub(crate) path: String,
    pub(crate) sse_path: Option<String>,
    pub(crate) stateless: bool,
    pub(crate) json: bool,
    pub(crate) hosts: Option<Vec<String>>,
    pub(crate) origins: Vec<String>,
    /// What a refusal says about hosts, and about origins.
    pub(crate) hints: [&'static str; 2],
    pub(crate) verifier: Verifier,
    pub(crate) tool_scopes: Option<ToolScopes>,
    pub(crate) body: body::Bounds,
    pub(crate) budget: Budget,
    pub(crate) keep_alive: Duration,
    pub(crate) farewell: Farewell,
    pub(crate) limits: Limits,
    pub(crate) tasks: Option<Tasks>,
    pub(crate) store: Option<Arc<dyn EventStore>>,
    pub(crate) outside: Outside,
}

/// Bounds of sessions.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub(crate) sessions: usize,
    /// Of one principal.
    pub(crate) sessions_each: usize,
    pub(crate) idle: Duration,
    pub(crate) retry: Duration,
    pub(crate) resumption: Resumption,
}

/// What is kept for clients that lose their connection and come back (`Last-Event-ID`), in memory, for each session.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Resumption {
    /// Messages of one stream.
    pub events: usize,
    /// Bytes of one stream, and of all streams together that have ended.
    pub bytes: usize,
    /// Streams that have ended.
    pub streams: usize,
    /// How long a stream that has ended is kept.
    pub keep: Duration,
}

impl Default for Resumption {
    fn default() -> Self {
        Self { events: 256, bytes: 4 * 1024 * 1024, streams: 32, keep: Duration::from_secs(5 * 60) }
    }
}

impl Default for HttpOptions {
    fn default() -> Self {
        let local = ["localhost", "127.0.0.1", "[::1]"];
        Self {
            path: "/mcp".to_owned(),
            sse_path: None,
            stateless: false,
            json: false,
            hosts: Some(local.map(str::to_owned).to_vec()),
            origins: local.iter().flat_map(|host| [format!("http://{host}:*"), format!("https://{host}:*")]).collect(),
            hints: ["HttpOptions::allow_host lets it in", "HttpOptions::allow_origin lets it in"],
            verifier: Verifier::default(),
            tool_scopes: None,
            body: body::Bounds { bytes: 4 * 1024 * 1024, time: Duration::from_secs(30) },
            budget: Budget::default(),
            keep_alive: Duration::from_secs(15),
            farewell: Farewell { patience: Duration::from_secs(10), interrupt: None },
            limits: Limits {
                sessions: 10_000,
                sessions_each: 10_000,
                idle: Duration::from_secs(30 * 60),
                retry: Duration::from_secs(3),
                resumption: Resumption::default(),
            },
            tasks: None,
            store: None,
            outside: Outside::default(),
        }
    }
}

impl HttpOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes over what the options of a server have from it: its tasks, and the scopes of its tools.
    pub(crate) fn of_server(mut self, server: &Server) -> Self {
        self.tool_scopes = Some(ToolScopes::new(server.clone()));
        self.tasks(&server.shared.tasks)
    }

    /// Where streamable HTTP is served, below where the server is mounted; `/mcp` by default.
    #[must_use]
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// Serves the deprecated HTTP+SSE transport (2024-11-05) too: its stream at `/sse`, its messages at `/messages/`.
    #[must_use]
    pub fn legacy_sse(self) -> Self {
        self.legacy_sse_at("/sse")
    }

    /// As [`HttpOptions::legacy_sse`], elsewhere; messages are at the same level.
    #[must_use]
    pub fn legacy_sse_at(mut self, path: impl Into<String>) -> Self {
        self.sse_path = Some(path.into());
        self
    }

    /// Keeps no sessions: each request stands for itself, whichever process answers it. Handlers cannot ask clients of
    /// protocols before 2026-07-28 anything then. (Since 2026-07-28 no request has a session.)
    #[must_use]
    pub fn stateless(mut self) -> Self {
        self.stateless = true;
        self
    }

    /// Answers with plain JSON where an answer is all there is to say; streams only what has more.
    #[must_use]
    pub fn json_responses(mut self) -> Self {
        self.json = true;
        self
    }

    /// Lets in requests for another host, a name or a name with a port.
    #[must_use]
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        self.hosts.get_or_insert_default().push(host.into());
        self
    }

    /// Lets in requests for any host. A web page can then reach the server through a name of its own (DNS rebinding):
    /// only where something in front checks hosts.
    #[must_use]
    pub fn allow_any_host(mut self) -> Self {
        self.hosts = None;
        self
    }

    /// Lets in requests from web pages of another origin, such as `https://app.example.com` or `http://example.com:*`.
    #[must_use]
    pub fn allow_origin(mut self, origin: impl Into<String>) -> Self {
        self.origins.push(origin.into());
        self
    }

    /// The URL under which clients reach the server through a proxy, such as `https://example.com/tools`: requests for its host
    /// are let in, and HTTP+SSE names its addresses below its path.
    ///
    /// # Errors
    ///
    /// What is no URL of HTTP with a host, or has a query.
    pub fn public_url(mut self, url: &str) -> Result<Self, String> {
        let wrong = || format!("`{url}` is no URL like https://example.com/tools");
        let (scheme, rest) = url.split_once("://").ok_or_else(wrong)?;
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let known = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
        let prefix = proxies::path_prefix(path).filter(|_| known && authority::Authority::parse(host).is_some());
        self.outside.prefix = prefix.ok_or_else(wrong)?;
        Ok(self.allow_host(host))
    }

    /// Believes `X-Forwarded-Prefix` of proxies with this address, or in this network (`10.0.0.0/8`), and takes the path below which
    /// clients reach the server from it. Proxies must not pass on what clients write there.
    ///
    /// # Errors
    ///
    /// What is neither an address nor a network.
    pub fn trust_proxy(mut self, network: &str) -> Result<Self, String> {
        let read = Network::parse(network).ok_or_else(|| format!("`{network}` is no address and no network"))?;
        self.outside.proxies.push(read);
        Ok(self)
    }

    /// What the refusal of a host, and of an origin, says about how it is let in: the settings of the program.
    #[must_use]
    pub fn hints(mut self, host: &'static str, origin: &'static str) -> Self {
        self.hints = [host, origin];
        self
    }

    /// The largest body of a request, in bytes; 4 MiB by default.
    #[must_use]
    pub fn max_body(mut self, bytes: usize) -> Self {
        self.body.bytes = bytes;
        self
    }

    /// The most bytes that the server holds for one principal, and for all together: bodies of requests under way, and answers
    /// that were not read yet; 64 MiB and 192 MiB by default. Beyond, what was kept for clients that reconnect goes; then new
    /// requests are refused with 503, and answers are replaced by an error. A principal always has 1 MiB. Servers whose
    /// options are clones of the same options share them.
    #[must_use]
    pub fn max_pending_bytes(mut self, each: usize, all: usize) -> Self {
        self.budget = Budget::new(BudgetLimits { bytes_each: each, bytes: all, ..self.budget.limits() });
        self
    }

    /// The most requests of one principal, and of all together, that are not answered yet; 2048 and 8192 by default. More are
    /// refused with 503.
    #[must_use]
    pub fn max_requests(mut self, each: usize, all: usize) -> Self {
        self.budget = Budget::new(BudgetLimits { requests_each: each, requests: all, ..self.budget.limits() });
        self
    }

    /// How long the body of a request may take to arrive; 30 seconds by default, then 408.
    #[must_use]
    pub fn body_timeout(mut self, time: Duration) -> Self {
        self.body.time = time;
        self
    }

    /// Lets in only requests with a bearer token (RFC 6750) for which `verify` names a principal; others are refused
    /// with 401. Sessions then belong to principals. `verify` should take the same time for all tokens. It is asked again every
    /// five seconds for tokens in use: where it says otherwise by then, streams end, and running calls are cancelled.
    #[must_use]
    pub fn bearer(mut self, verify: impl Fn(&str) -> Option<Principal> + Send + Sync + 'static) -> Self {
        self.verifier.names = Some(Names::new(verify));
        self
    }

    /// Lets in only requests with an access token of OAuth 2.1 for this server, and says where clients get one; see
    /// [`auth`](crate::auth). The host of the resource's URL is let in. Beside [`HttpOptions::bearer`], whose tokens are looked at
    /// first, either is enough.
    ///
    /// # Errors
    ///
    /// What is wrong with the settings.
    pub fn protect(mut self, protect: Protect) -> Result<Self, ServeError> {
        let protection = Arc::new(protect.build()?);
        let host = protection.host.clone();
        self.verifier.protection = Some(protection);
        Ok(self.allow_host(host))
    }

    /// The most sessions of one principal; 10 000 by default. More are refused with 503.
    #[must_use]
    pub fn max_sessions_each(mut self, sessions: usize) -> Self {
        self.limits.sessions_each = sessions;
        self
    }

    /// The most sessions at once; 10 000 by default. More are refused with 503.
    #[must_use]
    pub fn max_sessions(mut self, sessions: usize) -> Self {
        self.limits.sessions = sessions;
        self
    }

    /// How long a session lives without a running request and without an open stream; 30 minutes by default.
    #[must_use]
    pub fn idle_timeout(mut self, idle: Duration) -> Self {
        self.limits.idle = idle;
        self
    }

    /// How often something is sent on a silent stream, so that proxies keep it; 15 seconds by default.
    #[must_use]
    pub fn keep_alive(mut self, interval: Duration) -> Self {
        self.keep_alive = interval;
        self
    }

    /// When clients are to reconnect after they lose a stream; 3 seconds by default.
    #[must_use]
    pub fn retry(mut self, retry: Duration) -> Self {
        self.limits.retry = retry;
        self
    }

    /// What is kept for clients that reconnect.
    #[must_use]
    pub fn resumption(mut self, resumption: Resumption) -> Self {
        self.limits.resumption = resumption;
        self
    }

    /// Keeps sessions and their events in `store` too, for clients that come back after the process has ended. Without it
    /// they are in memory alone.
    #[must_use]
    pub fn event_store(mut self, store: Arc<dyn EventStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// How long running requests may take to end when the server stops; 10 seconds by default.
    #[must_use]
    pub fn drain_timeout(mut self, drain: Duration) -> Self {
        self.farewell.patience = drain;
        self
    }

    /// What is cancelled when requests still run after [`HttpOptions::drain_timeout`]; they have `grace` to answer.
    #[must_use]
    pub fn interrupt(mut self, token: CancellationToken, grace: Duration) -> Self {
        self.farewell.interrupt = Some((token, grace));
        self
    }
}
