//! An authorization server (OAuth 2.1) for MCP servers. Clients register, or are known by their metadata document.
//! People agree in their browser, and clients get tokens.
//!
//! ```no_run
//! use brumate_mcp::auth::Protect;
//! use brumate_mcp::auth_server::{AuthProvider, AuthServer};
//! use brumate_mcp::{App, HttpOptions, ServeError, Server};
//!
//! # async fn run(server: Server, provider: impl AuthProvider) -> Result<(), ServeError> {
//! let auth = AuthServer::new("https://example.com", provider)
//!     .resource("https://example.com/mcp")
//!     .scopes(["notes:read", "notes:write"])
//!     .default_scopes(["notes:read"])
//!     .registration()
//!     .client_metadata_documents();
//! let protect = Protect::new("https://example.com/mcp").verifier(auth.verifier()).scopes(["notes:read"]);
//! App::new()
//!     .mount("", server, HttpOptions::new().protect(protect)?)
//!     .authorization_server(auth)
//!     .run("127.0.0.1:8000")
//!     .await
//! # }
//! ```
//!
//! | address, below the issuer's path | what |
//! |---|---|
//! | `/.well-known/oauth-authorization-server` (before the path) | metadata (RFC 8414) |
//! | `/authorize` | the browser begins here |
//! | `/token` | codes and refresh tokens become tokens |
//! | `/register` | dynamic registration (RFC 7591), with [`AuthServer::registration`] |
//! | `/revoke` | revocation (RFC 7009) |
//! | `/introspect` | introspection (RFC 7662), with [`AuthServer::introspection`] |
//!
//! Always: PKCE with S256, redirect addresses byte for byte, the issuer in each answer (RFC 9207), tokens for one
//! resource (RFC 8707).

mod authorize;
mod client;
mod documents;
mod error;
mod grants;
mod page;
mod provider;
mod rate_limiter;
mod register;
mod request;
mod routes;
#[cfg(feature = "sqlite")]
mod sqlite;
mod token;

pub use client::{ClientAuthMethod, OAuthClient};
pub use error::OAuthError;
pub use provider::{AuthProvider, AuthorizationRequest, CodeGrant, RefreshGrant, TokenPair};
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteAuth;

use crate::auth::{Access, Secret, TokenVerifier, check_path, is_scope};
use crate::error::{Error, ServeError};
use crate::http::Network;
use async_trait::async_trait;
use axum::Router;
use brumate_mcp_oauth::internal::{AddressPolicy, Outbound, is_loopback};
use documents::ClientDocuments;
use rate_limiter::RateLimiter;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// The requests that one address may send at once, and again in each minute.
const REQUESTS_PER_MINUTE: u32 = 120;

/// The clients that one address may register in a day.
const REGISTRATIONS_PER_DAY: u32 = 1000;

/// An authorization server (OAuth 2.1); [`App::authorization_server`](crate::App::authorization_server) serves it.
///
/// ```no_run
/// use brumate_mcp::auth_server::{AuthProvider, AuthServer};
/// use brumate_mcp::{App, ServeError};
///
/// # async fn run(provider: impl AuthProvider) -> Result<(), ServeError> {
/// let auth = AuthServer::new("https://auth.example.com", provider)
///     .resource("https://mcp.example.com/mcp")
///     .scopes(["notes:read", "notes:write"])
///     .registration();
/// App::new().authorization_server(auth).run("127.0.0.1:8000").await
/// # }
/// ```
pub struct AuthServer {
    issuer: String,
    provider: Arc<dyn AuthProvider>,
    resources: Vec<String>,
    scopes: Vec<String>,
    default_scopes: Option<Vec<String>>,
    registration: bool,
    documents: Option<AddressPolicy>,
    documentation: Option<String>,
    introspection: Option<(String, Secret)>,
    requests_per_minute: u32,
    proxies: Vec<Network>,
}

impl fmt::Debug for AuthServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthServer").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

impl AuthServer {
    /// Makes the authorization server `issuer`: the URL under which clients reach it, `https` or on this machine, such
    /// as `https://example.com`. It needs a [`resource`](AuthServer::resource).
    pub fn new(issuer: impl Into<String>, provider: impl AuthProvider) -> Self {
        Self {
            issuer: issuer.into(),
            provider: Arc::new(provider),
            resources: Vec::new(),
            scopes: Vec::new(),
            default_scopes: None,
            registration: false,
            documents: None,
            documentation: None,
            introspection: None,
            requests_per_minute: REQUESTS_PER_MINUTE,
            proxies: Vec::new(),
        }
    }

    /// Adds a server that tokens are issued for: its URL, as in [`Protect::new`](crate::auth::Protect::new). If there
    /// is only one, clients need not name it.
    #[must_use]
    pub fn resource(mut self, resource: impl Into<String>) -> Self {
        self.resources.push(resource.into());
        self
    }

    /// Sets all scopes.
    #[must_use]
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the scopes of clients that request none; all scopes by default.
    #[must_use]
    pub fn default_scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.default_scopes = Some(scopes.into_iter().map(Into::into).collect());
        self
    }

    /// Lets clients register themselves (RFC 7591), a thousand a day from one address. By default they cannot. Errors of their
    /// authorization requests are shown to the person, and no browser is redirected to a client before the person has acted.
    #[must_use]
    pub fn registration(mut self) -> Self {
        self.registration = true;
        self
    }

    /// Accepts clients whose identifier is the URL of their metadata document. Documents are fetched from the internet
    /// only: addresses of this machine and of private networks are refused. Every document that cannot be used has the
    /// same answer. The log has the reason. By default such clients are unknown.
    #[must_use]
    pub fn client_metadata_documents(mut self) -> Self {
        self.documents.get_or_insert_default();
        self
    }

    /// Accepts clients as [`AuthServer::client_metadata_documents`] does, and fetches documents from this machine and
    /// private networks too: for clients in an office, and for development. Whoever reaches the server can then find out
    /// which of these addresses have a document.
    #[must_use]
    pub fn local_client_metadata_documents(mut self) -> Self {
        self.documents = Some(AddressPolicy::local());
        self
    }

    /// Sets the URL of a page for developers.
    #[must_use]
    pub fn documentation(mut self, url: impl Into<String>) -> Self {
        self.documentation = Some(url.into());
        self
    }

    /// Lets resource servers elsewhere ask about tokens (RFC 7662), with this identifier and secret. By default they
    /// cannot.
    #[must_use]
    pub fn introspection(mut self, id: impl Into<String>, secret: Secret) -> Self {
        self.introspection = Some((id.into(), secret));
        self
    }

    /// Sets how many requests of one address are let through in a minute; 120 by default. Behind a proxy all requests
    /// have one address, unless [`AuthServer::trust_proxy`] names it.
    #[must_use]
    pub fn requests_per_minute(mut self, requests: u32) -> Self {
        self.requests_per_minute = requests.max(1);
        self
    }

    /// Trusts the header `X-Forwarded-For` of proxies with this address, or in this network (`10.0.0.0/8`). The last
    /// address in it that belongs to no proxy is the client's. Limits count for that address.
    ///
    /// # Errors
    ///
    /// Returns a text if `network` is neither an address nor a network.
    pub fn trust_proxy(mut self, network: &str) -> Result<Self, String> {
        self.proxies.push(Network::parse(network).ok_or_else(|| format!("`{network}` is no address and no network"))?);
        Ok(self)
    }

    /// Returns a verifier of this server's tokens, for servers in the same process.
    pub fn verifier(&self) -> impl TokenVerifier + use<> {
        ProviderVerifier { issuer: self.issuer.clone(), provider: self.provider.clone() }
    }

    /// Checks the settings.
    pub(crate) fn build(self) -> Result<Arc<AuthServerInner>, ServeError> {
        let wrong = |reason: &str| ServeError::Setup(format!("AuthServer::new(\"{}\"): {reason}", self.issuer));
        let url = Url::parse(&self.issuer).map_err(|error| wrong(&error.to_string()))?;
        if !(url.scheme() == "https" || (url.scheme() == "http" && is_loopback(&url))) {
            return Err(wrong("an issuer is `https`, or on this machine"));
        }
        if url.query().is_some() || url.fragment().is_some() || !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("an issuer has no query, no fragment and no credentials (RFC 8414)"));
        }
        check_path(&url).map_err(wrong)?;
        if self.resources.is_empty() {
            return Err(wrong("it has no resource: AuthServer::resource names the server that tokens are for"));
        }
        let default_scopes = self.default_scopes.unwrap_or_else(|| self.scopes.clone());
        if let Some(scope) = self.scopes.iter().find(|scope| !is_scope(scope)) {
            return Err(wrong(&format!("`{scope}` is no scope")));
        }
        if let Some(scope) = default_scopes.iter().find(|scope| !self.scopes.contains(scope)) {
            return Err(wrong(&format!("the default scope `{scope}` is none of AuthServer::scopes")));
        }
        self.provider.check().map_err(|error| wrong(error.message()))?;
        let documents = match self.documents {
            Some(policy) => Some(ClientDocuments::new(Outbound::new(policy).map_err(|error| wrong(&error))?)),
            None => None,
        };
        let base = url.path().trim_end_matches('/').to_owned();
        Ok(Arc::new(AuthServerInner {
            endpoint: format!("{}{base}", url.origin().ascii_serialization()),
            url,
            base,
            issuer: self.issuer,
            provider: self.provider,
            resources: self.resources,
            scopes: self.scopes,
            default_scopes,
            registration: self.registration,
            documents,
            documentation: self.documentation,
            introspection: self.introspection,
            proxies: self.proxies,
            requests: RateLimiter::new(self.requests_per_minute, Duration::from_secs(60)),
            registrations: RateLimiter::new(REGISTRATIONS_PER_DAY, Duration::from_secs(24 * 60 * 60)),
        }))
    }
}

/// A checked [`AuthServer`].
pub(crate) struct AuthServerInner {
    issuer: String,
    url: Url,
    /// The issuer's path, without a slash at its end.
    base: String,
    /// The URL that the paths of endpoints follow.
    endpoint: String,
    provider: Arc<dyn AuthProvider>,
    resources: Vec<String>,
    scopes: Vec<String>,
    default_scopes: Vec<String>,
    registration: bool,
    documents: Option<ClientDocuments>,
    documentation: Option<String>,
    introspection: Option<(String, Secret)>,
    proxies: Vec<Network>,
    requests: RateLimiter<Option<IpAddr>>,
    registrations: RateLimiter<Option<IpAddr>>,
}

impl fmt::Debug for AuthServerInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthServer").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

impl AuthServerInner {
    /// Returns a client: one that the provider knows, or one with a metadata document. `address` is the address of the request's sender.
    async fn client(&self, id: &str, address: Option<IpAddr>) -> Result<Option<OAuthClient>, OAuthError> {
        if let Some(client) = self.provider.client(id).await? {
            return Ok(Some(client));
        }
        match &self.documents {
            Some(documents) if ClientDocuments::is_document(id) => documents.client(id, address).await.map(Some),
            _ => Ok(None),
        }
    }

    pub(crate) fn router(self: &Arc<Self>) -> Router {
        routes::router(self)
    }
}

/// Verifies tokens by asking their provider in the same process.
struct ProviderVerifier {
    issuer: String,
    provider: Arc<dyn AuthProvider>,
}

#[async_trait]
impl TokenVerifier for ProviderVerifier {
    async fn verify(&self, token: &str) -> Result<Option<Access>, Error> {
        let found = self.provider.load_access_token(token).await.map_err(|error| {
            error.log();
            Error::new(error.to_string())
        })?;
        Ok(found.map(|mut access| {
            access.issuer = Some(self.issuer.clone());
            access
        }))
    }

    fn issuer(&self) -> Option<&str> {
        Some(&self.issuer)
    }
}
