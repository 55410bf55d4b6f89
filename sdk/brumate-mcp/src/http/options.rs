//! Settings of a server over HTTP.

use super::authenticate::{Authenticator, BearerVerifier};
use super::authority::Authority;
use super::budget::{Budget, BudgetLimits};
use super::limits::{IDLE_SESSION_KEPT_FOR, MAX_IDLE_SESSIONS, ResumptionLimits, SessionLimits};
use super::proxies::{Network, ProxyPrefix, path_prefix};
use super::request_body::BodyLimits;
use super::response::RefusalFormat;
use super::running_requests::ShutdownPolicy;
use super::server_card::ServerCard;
use super::store::EventStore;
use crate::auth::Protect;
use crate::error::ServeError;
use crate::principal::Principal;
use crate::server::Server;
use http::{HeaderValue, StatusCode};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How a server is served over HTTP.
///
/// ```no_run
/// use brumate_mcp::{HttpOptions, ServeError, Server};
/// use std::time::Duration;
///
/// # async fn run(server: Server) -> Result<(), ServeError> {
/// let options = HttpOptions::new()
///     .allow_host("mcp.example.com")
///     .allow_origin("https://app.example.com")
///     .idle_timeout(Duration::from_secs(10 * 60));
/// server.run_http("127.0.0.1:8000", options).await
/// # }
/// ```
///
/// The defaults are for a server on this machine. Only requests that name it (`localhost`, `127.0.0.1`, `[::1]`) and
/// only web pages from it are let in. Bodies have at most 4 MiB. There are at most 10 000 sessions. A session ends
/// after 30 minutes without a running request and without an open stream. If a principal has more than 512 sessions, a
/// new one ends the session that is idle longest, once it is idle for a minute.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    pub(crate) path: String,
    pub(crate) sse_path: Option<String>,
    pub(crate) stateless: bool,
    pub(crate) json: bool,
    pub(crate) hosts: Option<Vec<String>>,
    pub(crate) origins: Vec<String>,
    /// Whether web pages of the host that a request names are let in.
    pub(crate) same_origin: bool,
    /// The hints of a refusal about hosts, and about origins.
    pub(crate) refusal_hints: [&'static str; 2],
    pub(crate) refusal_format: Option<RefusalFormat>,
    pub(crate) verifier: Authenticator,
    pub(crate) body: BodyLimits,
    pub(crate) budget: Budget,
    pub(crate) keep_alive: Duration,
    pub(crate) shutdown: ShutdownPolicy,
    pub(crate) limits: SessionLimits,
    pub(crate) server: Option<Server>,
    pub(crate) store: Option<Arc<dyn EventStore>>,
    pub(crate) proxy_prefix: ProxyPrefix,
    pub(crate) card: Option<ServerCard>,
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
            same_origin: false,
            refusal_format: None,
            refusal_hints: ["HttpOptions::allow_host lets it in", "HttpOptions::allow_origin lets it in"],
            verifier: Authenticator::default(),
            body: BodyLimits { bytes: 4 * 1024 * 1024, time: Duration::from_secs(30) },
            budget: Budget::default(),
            keep_alive: Duration::from_secs(15),
            shutdown: ShutdownPolicy { drain_timeout: Duration::from_secs(10), interrupt: None },
            limits: SessionLimits {
                sessions: 10_000,
                sessions_per_principal: 10_000,
                idle_sessions: MAX_IDLE_SESSIONS,
                kept_for: IDLE_SESSION_KEPT_FOR,
                idle: Duration::from_secs(30 * 60),
                retry: Duration::from_secs(3),
                resumption: ResumptionLimits::default(),
            },
            server: None,
            store: None,
            proxy_prefix: ProxyPrefix::default(),
            card: None,
        }
    }
}

impl HttpOptions {
    /// Makes options with the defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the server that is served.
    pub(crate) fn of_server(mut self, server: &Server) -> Self {
        self.server = Some(server.clone());
        self
    }

    /// Sets the path of streamable HTTP, below the path where the server is mounted; `/mcp` by default.
    #[must_use]
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// Serves a card of the server to everyone, and lists it in the app's catalog. [`App::start`](crate::App::start)
    /// reports an invalid card.
    #[must_use]
    pub fn server_card(mut self, card: ServerCard) -> Self {
        self.card = Some(card);
        self
    }

    /// Serves the deprecated HTTP+SSE transport (2024-11-05) too: its stream at `/sse`, its messages at `/messages/`.
    #[must_use]
    pub fn legacy_sse(self) -> Self {
        self.legacy_sse_at("/sse")
    }

    /// Serves the deprecated HTTP+SSE transport with its stream at another path. The path of messages is beside it.
    #[must_use]
    pub fn legacy_sse_at(mut self, path: impl Into<String>) -> Self {
        self.sse_path = Some(path.into());
        self
    }

    /// Serves without sessions: any process can answer any request. Handlers then cannot request input from clients of
    /// protocols before 2026-07-28. (Since 2026-07-28 no request has a session.)
    #[must_use]
    pub fn stateless(mut self) -> Self {
        self.stateless = true;
        self
    }

    /// Answers with plain JSON where the answer is the only message. Other answers are event streams.
    #[must_use]
    pub fn json_responses(mut self) -> Self {
        self.json = true;
        self
    }

    /// Lets in requests for another host: a name, or a name with a port.
    #[must_use]
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        self.hosts.get_or_insert_default().push(host.into());
        self
    }

    /// Lets in requests for any host. A web page can then reach the server through a host name of its own (DNS
    /// rebinding). Use it only where a proxy checks hosts.
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

    /// Lets in requests from web pages whose origin is the host that the request names, if that host is let in. Some
    /// clients that are no web pages send the server's own address as their origin.
    #[must_use]
    pub fn allow_same_origin(mut self) -> Self {
        self.same_origin = true;
        self
    }

    /// Sets the URL under which clients reach the server through a proxy, such as `https://example.com/tools`. Requests
    /// for its host are let in, and HTTP+SSE names its URLs below its path.
    ///
    /// # Errors
    ///
    /// Returns a text if `url` is no HTTP URL with a host, or has a query.
    pub fn public_url(mut self, url: &str) -> Result<Self, String> {
        let wrong = || format!("`{url}` is no URL like https://example.com/tools");
        let (scheme, rest) = url.split_once("://").ok_or_else(wrong)?;
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let known = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
        let prefix = path_prefix(path).filter(|_| known && Authority::parse(host).is_some());
        self.proxy_prefix.prefix = prefix.ok_or_else(wrong)?;
        Ok(self.allow_host(host))
    }

    /// Trusts the header `X-Forwarded-Prefix` of proxies with this address, or in this network (`10.0.0.0/8`): it is
    /// the path below which clients reach the server. Proxies must not pass on the header of clients.
    ///
    /// # Errors
    ///
    /// Returns a text if `network` is neither an address nor a network.
    pub fn trust_proxy(mut self, network: &str) -> Result<Self, String> {
        let read = Network::parse(network).ok_or_else(|| format!("`{network}` is no address and no network"))?;
        self.proxy_prefix.proxies.push(read);
        Ok(self)
    }

    /// Sets the hints of a refusal: how to let the host or the origin in, such as by the program's command-line option.
    #[must_use]
    pub fn refusal_hints(mut self, host: &'static str, origin: &'static str) -> Self {
        self.refusal_hints = [host, origin];
        self
    }

    /// Sets the body of refusals of a router ([`App::mount_router`](crate::App::mount_router)), and its content type.
    /// By default it is plain text.
    #[must_use]
    pub fn refusal_format(mut self, format: fn(StatusCode, &str) -> (HeaderValue, String)) -> Self {
        self.refusal_format = Some(format);
        self
    }

    /// Sets the largest body of a request, in bytes; 4 MiB by default. A larger one is refused with 413.
    #[must_use]
    pub fn max_body(mut self, bytes: usize) -> Self {
        self.body.bytes = bytes;
        self
    }

    /// Sets the most bytes that the server holds for one principal, and for all principals together. They are bodies of
    /// requests under way, and answers that clients have not read. The defaults are 64 MiB and 192 MiB. Beyond, the
    /// server drops answers that it keeps for clients that reconnect. Then it refuses new requests with 503 and sends
    /// errors instead of answers. A principal always has 1 MiB. Servers whose options are clones of the same options
    /// share the limits.
    #[must_use]
    pub fn max_pending_bytes(mut self, each: usize, all: usize) -> Self {
        self.budget = Budget::new(BudgetLimits { bytes_each: each, bytes: all, ..self.budget.limits() });
        self
    }

    /// Sets the most unanswered requests of one principal, and of all principals together; 2048 and 8192 by default.
    /// Further ones are refused with 503.
    #[must_use]
    pub fn max_requests(mut self, each: usize, all: usize) -> Self {
        self.budget = Budget::new(BudgetLimits { requests_each: each, requests: all, ..self.budget.limits() });
        self
    }

    /// Sets how long the body of a request may take to arrive; 30 seconds by default. Then it is refused with 408.
    #[must_use]
    pub fn body_timeout(mut self, time: Duration) -> Self {
        self.body.time = time;
        self
    }

    /// Lets in only requests with a bearer token (RFC 6750) for which `verify` returns a principal. Others are refused
    /// with 401. Sessions then belong to principals. `verify` should take the same time for all tokens. It is called
    /// again every five seconds for tokens in use. When it returns another principal or none, their streams end and
    /// their calls are cancelled.
    #[must_use]
    pub fn bearer(mut self, verify: impl Fn(&str) -> Option<Principal> + Send + Sync + 'static) -> Self {
        self.verifier.names = Some(BearerVerifier::new(verify));
        self
    }

    /// Takes tokens of another scheme of the `Authorization` header too, such as `token`. The default is `Bearer` alone.
    #[must_use]
    pub fn token_scheme(mut self, scheme: &'static str) -> Self {
        self.verifier.scheme = Some(scheme);
        self
    }

    /// Takes the token from a parameter of the query too, for clients that can send no header. The parameter is removed
    /// before anything else sees the request. Proxies may log it: prefer the header.
    #[must_use]
    pub fn query_token(mut self, parameter: &'static str) -> Self {
        self.verifier.parameter = Some(parameter);
        self
    }

    /// Lets in only requests with an access token of OAuth 2.1 for this server, and publishes where clients get one;
    /// see [`auth`](crate::auth). The host of the resource's URL is let in. With [`HttpOptions::bearer`] too, a token
    /// of either kind is enough; bearer tokens are tried first.
    ///
    /// # Errors
    ///
    /// Returns [`ServeError::Setup`] if the settings are not valid.
    pub fn protect(mut self, protect: Protect) -> Result<Self, ServeError> {
        let protection = Arc::new(protect.build()?);
        let host = protection.host.clone();
        self.verifier.protection = Some(protection);
        Ok(self.allow_host(host))
    }

    /// Sets the most sessions of one principal; 10 000 by default. Further ones are refused with 503.
    #[must_use]
    pub fn max_sessions_per_principal(mut self, sessions: usize) -> Self {
        self.limits.sessions_per_principal = sessions;
        self
    }

    /// Sets the most sessions at once; 10 000 by default. Further ones are refused with 503.
    #[must_use]
    pub fn max_sessions(mut self, sessions: usize) -> Self {
        self.limits.sessions = sessions;
        self
    }

    /// Sets the number of sessions of one principal beyond which a new session ends the one that is idle longest. That
    /// session must be idle for `kept_for`: nothing has run in it, and nobody has read from it. The defaults are 512
    /// and a minute. Clients without a principal count as one.
    #[must_use]
    pub fn max_idle_sessions(mut self, sessions: usize, kept_for: Duration) -> Self {
        (self.limits.idle_sessions, self.limits.kept_for) = (sessions.max(1), kept_for);
        self
    }

    /// Sets how long a session lives without a running request and without an open stream; 30 minutes by default.
    #[must_use]
    pub fn idle_timeout(mut self, idle: Duration) -> Self {
        self.limits.idle = idle;
        self
    }

    /// Sets the interval of keep-alive comments on silent streams; 15 seconds by default.
    #[must_use]
    pub fn keep_alive(mut self, interval: Duration) -> Self {
        self.keep_alive = interval;
        self
    }

    /// Sets the time after which clients reconnect when they lose a stream; 3 seconds by default.
    #[must_use]
    pub fn retry(mut self, retry: Duration) -> Self {
        self.limits.retry = retry;
        self
    }

    /// Sets the limits of the messages that are kept for clients that reconnect.
    #[must_use]
    pub fn resumption(mut self, resumption: ResumptionLimits) -> Self {
        self.limits.resumption = resumption;
        self
    }

    /// Keeps sessions and their messages in `store` too, for clients that come back after the process has ended. By
    /// default they are only in memory.
    #[must_use]
    pub fn event_store(mut self, store: Arc<dyn EventStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// Sets how long running requests may take to end when the server stops; 10 seconds by default.
    #[must_use]
    pub fn drain_timeout(mut self, drain: Duration) -> Self {
        self.shutdown.drain_timeout = drain;
        self
    }

    /// Sets a token that is cancelled if requests still run after [`HttpOptions::drain_timeout`]. They then have
    /// `grace` to answer.
    #[must_use]
    pub fn interrupt(mut self, token: CancellationToken, grace: Duration) -> Self {
        self.shutdown.interrupt = Some((token, grace));
        self
    }
}
