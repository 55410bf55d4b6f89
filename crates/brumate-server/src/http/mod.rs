//! Serves over HTTP: many clients, each with its own sessions.

mod health;
mod oauth;
mod tokens;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderValue, StatusCode};
use brumate_mcp::{App, HttpOptions, ServeError};
use brumate_session::CancellationToken;
use tokio::net::TcpListener;

/// A store of MCP sessions and their events, in a SQLite database.
pub use brumate_mcp::SqliteEventStore as EventStore;
/// Certificates and the private key of a server.
pub use brumate_mcp::Tls;
/// A client secret.
pub use brumate_mcp::auth::Secret;
pub use health::Health;
pub use oauth::{IntrospectionSettings, OAuthSettings};
pub use tokens::{NewToken, Tokens, TokensError};

use crate::server::PythonServer;

/// Largest request body, in bytes: room for the longest code with every byte escaped.
const MAX_BODY: usize = 16 << 20;
/// Most MCP sessions of one principal.
const MAX_SESSIONS_EACH: usize = 1000;

/// An HTTP transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// Streamable HTTP, with MCP sessions for clients of protocols before 2026-07-28.
    Streamable,
    /// Streamable HTTP without MCP sessions: all requests are independent.
    Stateless,
    /// The deprecated HTTP+SSE transport of 2024-11-05, and streamable HTTP at `/mcp`.
    Sse,
}

/// Routes beside MCP, at a path of their own, for the clients of the API of Jupyter kernels. Hosts, origins and tokens are checked as for
/// MCP, and the principal of a request is in its extensions.
#[derive(Debug, Clone)]
pub struct KernelApi {
    /// The routes below [`KERNEL_API`].
    pub router: Router,
    /// Makes the content type and the body of a refusal.
    pub refusal_body: fn(StatusCode, &str) -> (HeaderValue, String),
}

/// Path of [`KernelApi`].
pub const KERNEL_API: &str = "/api";
/// Scheme and parameter of tokens that Jupyter's clients use, besides `Bearer`.
const KERNEL_API_TOKEN: &str = "token";

/// Settings of the HTTP service.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HttpSettings {
    /// The transport.
    pub transport: Transport,
    /// Path of the endpoint. `None`: `/mcp`, or `/sse` for [`Transport::Sse`].
    pub path: Option<String>,
    /// Further values of the `Host` header that are accepted, with or without a port, besides this machine's own names. `*`: any.
    pub allow_hosts: Vec<String>,
    /// Further values of the `Origin` header that are accepted, besides the origins of this machine.
    pub allow_origins: Vec<String>,
    /// The URL under which clients reach the server through a proxy.
    pub public_url: Option<String>,
    /// Addresses and networks of proxies whose `X-Forwarded-Prefix` header is used.
    pub trusted_proxies: Vec<String>,
    /// The accepted tokens. `None`, and no `oauth`: no authentication.
    pub tokens: Option<Tokens>,
    /// The authorization server whose access tokens are accepted.
    pub oauth: Option<OAuthSettings>,
    /// TLS settings. `None`: plain HTTP.
    pub tls: Option<Tls>,
    /// Store for MCP sessions and their unread messages. `None`: memory only.
    pub event_store: Option<Arc<EventStore>>,
    /// How long running calls may take to end at shutdown. Then they are interrupted. Default: 10 seconds.
    pub drain: Duration,
    /// The state for `/healthz`, `/readyz` and `/metrics`.
    pub health: Health,
    /// The API of Jupyter kernels. `None`: it is not served.
    pub kernels: Option<KernelApi>,
}

impl HttpSettings {
    /// Makes settings with the defaults.
    pub fn new(transport: Transport) -> Self {
        Self {
            transport,
            path: None,
            allow_hosts: Vec::new(),
            allow_origins: Vec::new(),
            public_url: None,
            trusted_proxies: Vec::new(),
            tokens: None,
            oauth: None,
            tls: None,
            event_store: None,
            drain: Duration::from_secs(10),
            health: Health::default(),
            kernels: None,
        }
    }

    /// Returns the path of the endpoint.
    pub fn path(&self) -> &str {
        let default = if self.transport == Transport::Sse { "/sse" } else { "/mcp" };
        self.path.as_deref().unwrap_or(default)
    }

    /// Returns the options of the SDK for these settings.
    ///
    /// # Errors
    ///
    /// Returns a text if a URL, a proxy address or a setting of OAuth is invalid.
    pub fn options(&self) -> Result<HttpOptions, String> {
        let mut options = HttpOptions::new()
            .max_body(MAX_BODY)
            .max_sessions_per_principal(MAX_SESSIONS_EACH)
            .drain_timeout(self.drain)
            .refusal_hints("--allow-host lets it in", "--allow-origin lets it in");
        options = match self.transport {
            Transport::Streamable => options.path(self.path()),
            Transport::Stateless => options.path(self.path()).stateless(),
            Transport::Sse => options.legacy_sse_at(self.path()),
        };
        options = match self.allow_hosts.iter().any(|host| host == "*") {
            true => options.allow_any_host(),
            false => self.allow_hosts.iter().fold(options, |options, host| options.allow_host(host)),
        };
        options = self.allow_origins.iter().fold(options, |options, origin| options.allow_origin(origin));
        if let Some(url) = &self.public_url {
            options = options.public_url(url)?;
        }
        for proxy in &self.trusted_proxies {
            options = options.trust_proxy(proxy)?;
        }
        if let Some(oauth) = &self.oauth {
            options = oauth.protect(options, self.tokens.clone()).map_err(|error| error.to_string())?;
        }
        Ok(match self.tokens.clone() {
            Some(tokens) => options.bearer(move |token| tokens.verify(token)),
            None => options,
        })
    }
}

/// Serves the connections of `listener` until `shutdown` is cancelled. Then running calls have [`HttpSettings::drain`] to end; after
/// that they are interrupted and answer.
///
/// # Errors
///
/// Returns [`ServeError`] if the service cannot be set up.
pub async fn serve_http(
    server: PythonServer,
    settings: HttpSettings,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> Result<(), ServeError> {
    let (stop, grace) = server.interrupt();
    let _cancel_calls = stop.clone().drop_guard();
    let options = settings.options().map_err(ServeError::Setup)?.interrupt(stop, grace);
    let options = match &settings.event_store {
        Some(store) => options.event_store(Arc::<EventStore>::clone(store)),
        None => options,
    };
    let mut app = App::new();
    if let Some(KernelApi { router, refusal_body }) = settings.kernels {
        let options = options.clone().path("").token_scheme(KERNEL_API_TOKEN).query_token(KERNEL_API_TOKEN);
        app = app.mount_router(KERNEL_API, router, options.allow_same_origin().refusal_format(refusal_body));
    }
    let app = app.mount("", server.mcp_server(), options);
    let app = app.clone().merge(settings.health.router(app, shutdown.clone()));
    let ending = async move { shutdown.cancelled().await };
    match settings.tls {
        Some(tls) => app.serve_tls(listener, tls, ending).await,
        None => app.serve(listener, ending).await,
    }
}
