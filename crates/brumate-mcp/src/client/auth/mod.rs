//! Authorization of clients: OAuth 2.1 as MCP has it, client credentials, tokens from elsewhere.
//!
//! ```no_run
//! use brumate_mcp::Client;
//! use brumate_mcp::client::{FileTokens, OAuth};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let oauth = OAuth::new("My Client")
//!     .tokens(FileTokens::in_config_dir("my-client")?)
//!     .in_browser();
//! let client = Client::http("https://api.example.com/mcp").auth(oauth).connect().await?;
//! # Ok(())
//! # }
//! ```
//!
//! The flow is the same for every server: it says where its authorization server is (RFC 9728), that one says what it can do (RFC 8414),
//! the client introduces itself (by an identifier that it was given, by a document with its metadata, or by registration: RFC 7591),
//! the person agrees in a browser, and the code that comes back becomes tokens (PKCE, RFC 7636; resource indicators, RFC 8707; issuer
//! identification, RFC 9207). Tokens are sent to the server that they are for, and to no other.

mod answer;
mod browser;
mod challenge;
mod credentials;
mod flow;
#[doc(hidden)]
pub mod fuzzing;
#[cfg(feature = "keyring")]
mod keyring;
mod loopback;
pub(crate) mod metadata;
mod registration;
mod signing;
mod store;
mod token;

pub use browser::open_in_browser;
pub use credentials::ClientCredentials;
#[cfg(feature = "keyring")]
pub use keyring::KeyringTokens;
pub use signing::SigningAlgorithm;
pub use store::{FileTokens, MemoryTokens, StoredTokens, TokenStore, TokenStoreError};

use futures::future::BoxFuture;
use loopback::Pages;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use url::Url;
use zeroize::Zeroize as _;

/// Authorizations that one request may take, at most.
pub(super) const MAX_AUTHORIZATIONS: usize = 3;

/// The reason why a client has no token for a server.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct AuthError(String);

impl AuthError {
    /// Makes an error with a text for people.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    fn of(error: impl fmt::Display) -> Self {
        Self(error.to_string())
    }
}

/// A token or a password. `Debug` does not show it, and its memory is overwritten when it is dropped.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// A source of tokens for a client: [`OAuth`], [`ClientCredentials`] and [`Bearer`].
pub trait Authorization: Send + 'static {
    /// Makes the authorizer for one server.
    #[doc(hidden)]
    fn for_server(self, server: &Url) -> Result<Arc<dyn Authorizer>, AuthError>;
}

/// Gives tokens for one server.
#[doc(hidden)]
pub trait Authorizer: Send + Sync {
    /// Returns the token to send, if there is one.
    fn token(&self) -> BoxFuture<'_, Result<Option<Secret>, AuthError>>;

    /// Gets another token after an answer that refuses the one that was sent.
    fn challenged(&self, refusal: Refusal) -> BoxFuture<'_, Result<(), AuthError>>;
}

/// An answer that wants another token.
#[doc(hidden)]
#[derive(Debug)]
pub struct Refusal {
    /// 401 or 403.
    pub(super) status: u16,
    /// The headers `WWW-Authenticate`.
    pub(super) challenges: Vec<String>,
    /// The token that was sent.
    pub(super) used: Option<Secret>,
    /// It is the request's first.
    pub(super) is_first: bool,
}

/// Bearer tokens that a function of the program provides (RFC 6750).
pub struct Bearer {
    token: Arc<dyn Fn() -> BoxFuture<'static, Result<Secret, AuthError>> + Send + Sync>,
}

impl fmt::Debug for Bearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bearer")
    }
}

impl Bearer {
    /// Calls `token` before each request.
    pub fn new<F, Fut>(token: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, AuthError>> + Send + 'static,
    {
        Self {
            token: Arc::new(move || {
                let token = token();
                Box::pin(async move { token.await.map(Secret) })
            }),
        }
    }
}

impl Authorization for Bearer {
    fn for_server(self, _server: &Url) -> Result<Arc<dyn Authorizer>, AuthError> {
        Ok(Arc::new(self))
    }
}

impl Authorizer for Bearer {
    fn token(&self) -> BoxFuture<'_, Result<Option<Secret>, AuthError>> {
        Box::pin(async move { (self.token)().await.map(Some) })
    }

    fn challenged(&self, refusal: Refusal) -> BoxFuture<'_, Result<(), AuthError>> {
        Box::pin(async move { Err(AuthError(format!("the server refuses the token: HTTP {}", refusal.status))) })
    }
}

/// An identifier that an authorization server has given the client before.
#[derive(Clone, Debug)]
pub struct ClientRegistration {
    id: String,
    secret: Option<Secret>,
    issuer: Option<String>,
}

impl ClientRegistration {
    /// Names a client without a secret.
    pub fn public(id: impl Into<String>) -> Self {
        Self { id: id.into(), secret: None, issuer: None }
    }

    /// Names a client with a secret.
    pub fn secret(id: impl Into<String>, secret: impl Into<String>) -> Self {
        Self { id: id.into(), secret: Some(Secret(secret.into())), issuer: None }
    }

    /// Sets the authorization server that issued the identifier. No other server gets it.
    #[must_use]
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = Some(issuer.into());
        self
    }
}

/// Authorization by a person, in a browser (authorization code grant).
pub struct OAuth {
    name: String,
    registered: Option<ClientRegistration>,
    metadata_url: Option<Url>,
    scopes: Vec<String>,
    store: Arc<dyn TokenStore>,
    pages: Pages,
    assumes_pkce: bool,
    problem: Option<AuthError>,
}

impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth").field("name", &self.name).finish_non_exhaustive()
    }
}

impl OAuth {
    /// Sets up authorization for a client with this name, which authorization servers show to people. By default, pages to visit are
    /// printed to standard error, and tokens are kept in memory.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            registered: None,
            metadata_url: None,
            scopes: Vec::new(),
            store: Arc::new(MemoryTokens::default()),
            pages: Pages::loopback(browser::print),
            assumes_pkce: false,
            problem: None,
        }
    }

    /// Sets an identifier that the authorization server has given the client; it goes before the other ways to get one.
    #[must_use]
    pub fn registered(mut self, registered: ClientRegistration) -> Self {
        self.registered = Some(registered);
        self
    }

    /// Sets the address of a document with the client's metadata, which is its identifier where the authorization server takes such
    /// (client ID metadata documents).
    #[must_use]
    pub fn client_metadata_url(mut self, url: &str) -> Self {
        match Url::parse(url) {
            Ok(url) if url.scheme() == "https" && url.path() != "/" => self.metadata_url = Some(url),
            _ => self.problem = Some(AuthError(format!("`{url}` is no `https` address with a path"))),
        }
        self
    }

    /// Adds scopes to those that the server asks for.
    #[must_use]
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Sets where tokens are kept.
    #[must_use]
    pub fn tokens(mut self, store: impl TokenStore) -> Self {
        self.store = Arc::new(store);
        self
    }

    /// Shows the page that a person is to open. Its answer comes to a port of this machine, which is open for five minutes, for one
    /// request.
    #[must_use]
    pub fn on_page(mut self, show: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.pages = Pages::loopback(show);
        self
    }

    /// Opens the page in the system's browser ([`open_in_browser`]). Its answer comes to a port of this machine, as with
    /// [`OAuth::on_page`].
    #[must_use]
    pub fn in_browser(self) -> Self {
        self.on_page(open_in_browser)
    }

    /// Has `visit` open the page, and return the address that the browser was sent back to. `redirect` is that address without its
    /// query, as it is known to the authorization server.
    #[must_use]
    pub fn on_authorize<F, Fut>(mut self, redirect: &str, visit: F) -> Self
    where
        F: Fn(String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, AuthError>> + Send + 'static,
    {
        match Url::parse(redirect) {
            Ok(redirect) => self.pages = Pages::visited(redirect, visit),
            Err(error) => self.problem = Some(AuthError(format!("redirect address `{redirect}`: {error}"))),
        }
        self
    }

    /// Goes on with authorization servers that do not say that they know PKCE (RFC 7636). Without it they are refused, as the protocol
    /// wants.
    #[must_use]
    pub fn assume_pkce(mut self) -> Self {
        self.assumes_pkce = true;
        self
    }
}

impl OAuth {
    /// Forgets what is kept for a server: the tokens, and who the client is to its authorization server. Returns whether there was
    /// anything.
    ///
    /// # Errors
    ///
    /// The address is none, or the store does not work.
    pub async fn forget(&self, server: &str) -> Result<bool, AuthError> {
        let url = Url::parse(server).map_err(|error| AuthError(format!("the server's address `{server}`: {error}")))?;
        let key = metadata::canonical(&url);
        let is_known = self.store.load(&key).await.map_err(AuthError::of)?.is_some();
        self.store.remove(&key).await.map_err(AuthError::of)?;
        Ok(is_known)
    }
}

impl Authorization for OAuth {
    fn for_server(mut self, server: &Url) -> Result<Arc<dyn Authorizer>, AuthError> {
        match self.problem.take() {
            Some(problem) => Err(problem),
            None => Ok(Arc::new(flow::OAuthAuthorizer::new(self, server)?)),
        }
    }
}
