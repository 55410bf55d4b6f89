//! Serving over HTTP: many clients, each with sessions of its own.

mod health;
mod oauth;
mod tokens;

use std::sync::Arc;
use std::time::Duration;

use brumate_mcp::{App, HttpOptions};
use brumate_session::CancellationToken;
use tokio::net::TcpListener;

/// Sessions of the protocol and their events, in a SQLite database.
pub use brumate_mcp::SqliteEventStore as EventStore;
/// Certificates and the key of a server.
pub use brumate_mcp::Tls;
/// A secret of a client.
pub use brumate_mcp::auth::Secret;
pub use health::Health;
pub use oauth::{IntrospectionSettings, OAuthSettings};
pub use tokens::{NewToken, Tokens, TokensError};

use crate::clients::Clients;
use crate::handler::PythonServer;
use crate::serve::ServeError;
use crate::traces::Traced;

/// Largest message: room for the longest code that is run, with every byte escaped.
const MAX_BODY: usize = 16 << 20;
/// Sessions of the protocol of one principal.
const MAX_SESSIONS_EACH: usize = 1000;
/// How long calls have to answer after they were interrupted, beyond the grace time of running code.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Which transport is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// Streamable HTTP, with sessions of the protocol for clients before 2026-07-28.
    Streamable,
    /// Streamable HTTP without them: each request stands for itself.
    Stateless,
    /// The deprecated HTTP+SSE, and streamable HTTP beside it.
    Sse,
}

/// How to serve over HTTP.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HttpSettings {
    /// Which transport.
    pub transport: Transport,
    /// Where, below the address; each transport has its default.
    pub path: Option<String>,
    /// Names of hosts, with or without ports, under which the server is reached, beside this machine's own; `*` is any.
    pub allow_hosts: Vec<String>,
    /// Web pages that may use the server, beside those of this machine.
    pub allow_origins: Vec<String>,
    /// Under which URL clients reach the server through a proxy.
    pub public_url: Option<String>,
    /// Addresses and networks of proxies whose `X-Forwarded-Prefix` is believed.
    pub trusted_proxies: Vec<String>,
    /// Who may use it; without it everybody who reaches it.
    pub tokens: Option<Tokens>,
    /// The authorization server whose access tokens are accepted too.
    pub oauth: Option<OAuthSettings>,
    /// TLS; without it plain HTTP.
    pub tls: Option<Tls>,
    /// Where sessions of the protocol and what their clients have not read are kept beside memory.
    pub event_store: Option<Arc<EventStore>>,
    /// How long calls may go on when the server ends.
    pub drain: Duration,
    /// What is said at `/healthz`, `/readyz` and `/metrics`.
    pub health: Health,
}

impl HttpSettings {
    /// The documented defaults.
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
        }
    }

    /// The path that clients are given.
    pub fn path(&self) -> &str {
        let default = if self.transport == Transport::Sse { "/sse" } else { "/mcp" };
        self.path.as_deref().unwrap_or(default)
    }

    /// Returns the options of the SDK for these settings.
    ///
    /// # Errors
    ///
    /// A text about a URL or an address of a proxy that is none, or about the settings of OAuth.
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

/// Serves what `listener` accepts until `shutdown` is cancelled; then calls may go on for a while, are interrupted after
/// that, and answer.
///
/// # Errors
///
/// [`ServeError`] when the service could not be set up.
pub async fn serve_http(
    server: PythonServer,
    settings: HttpSettings,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> Result<(), ServeError> {
    let stop = server.stop_token().clone();
    let _cancel_calls = stop.clone().drop_guard();
    let options = settings.options().map_err(ServeError::Open)?;
    let options = options.interrupt(stop, server.grace() + LAST_WORDS).tasks(&server.tasks);
    let options = match &settings.event_store {
        Some(store) => options.event_store(Arc::<EventStore>::clone(store)),
        None => options,
    };
    let clients = Arc::new(Clients::default());
    let make = move |principal: Option<&brumate_mcp::Principal>| Traced::new(server.for_client(&clients.of(principal)));
    let app = App::new().mount_handlers("", make, options);
    let app = app.clone().merge(settings.health.router(app, shutdown.clone()));
    let ending = async move { shutdown.cancelled().await };
    let served = match settings.tls {
        Some(tls) => app.serve_tls(listener, tls, ending).await,
        None => app.serve(listener, ending).await,
    };
    served.map_err(|error| ServeError::Open(error.to_string()))
}
