//! Authorization of clients: OAuth 2.1 as MCP has it, client credentials, tokens from elsewhere.
//!
//! ```no_run
//! use brumate_mcp::Client;
//! use brumate_mcp::client::{FileTokenStore, OAuth};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let oauth = OAuth::new("My Client")
//!     .token_store(FileTokenStore::in_config_dir("my-client")?)
//!     .in_browser();
//! let client = Client::http("https://api.example.com/mcp").auth(oauth).connect().await?;
//! # Ok(())
//! # }
//! ```
//!
//! The flow is the same for every server:
//!
//! 1. The server's metadata name its authorization server (RFC 9728). The metadata of that one say what it supports
//!    (RFC 8414).
//! 2. The client is identified by an identifier that it was given, by a document with its metadata, or by registration
//!    (RFC 7591).
//! 3. The person agrees in a browser.
//! 4. The code that comes back becomes tokens (PKCE, RFC 7636; resource indicators, RFC 8707; issuer identification,
//!    RFC 9207).
//!
//! Tokens are sent to the server that they are for, and to no other. A client's identifier, secret and refresh tokens are sent to the
//! authorization server that has issued them, and to no other.

mod authorization_response;
mod browser;
mod challenge;
mod credentials;
mod flow;
#[doc(hidden)]
pub mod fuzzing;
mod issuer;
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
pub use keyring::KeyringTokenStore;
pub use signing::SigningAlgorithm;
pub use store::{FileTokenStore, MemoryTokenStore, StoredTokens, TokenStore, TokenStoreError};

use challenge::Challenge;
use futures::future::BoxFuture;
use issuer::IssuerPin;
use loopback::PageVisitor;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use url::Url;
use zeroize::Zeroize as _;

/// The most authorizations that one request may take.
pub const MAX_AUTHORIZATIONS: usize = 3;

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

/// A source of tokens for a client: [`OAuth`], [`ClientCredentials`] or [`Bearer`].
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
    fn challenged(&self, refusal: TokenChallenge) -> BoxFuture<'_, Result<(), AuthError>>;
}

/// An answer that wants another token.
#[doc(hidden)]
#[derive(Debug)]
pub struct TokenChallenge {
    /// 401 or 403.
    pub status: u16,
    /// The headers `WWW-Authenticate`.
    pub challenges: Vec<String>,
    /// The token that was sent.
    pub used: Option<Secret>,
    /// Whether it is the first challenge of the request.
    pub is_first: bool,
}

/// Most characters of a server's reason that an error quotes.
const MAX_REASON: usize = 200;

/// Bearer tokens that a function of the program provides (RFC 6750).
///
/// ```no_run
/// use brumate_mcp::Client;
/// use brumate_mcp::client::{AuthError, Bearer, ClientError};
///
/// # async fn run() -> Result<(), ClientError> {
/// let bearer = Bearer::new(|| async { std::env::var("TOKEN").map_err(|error| AuthError::new(error.to_string())) });
/// let client = Client::http("https://mcp.example.com/mcp").auth(bearer).connect().await?;
/// # Ok(())
/// # }
/// ```
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
        F: FnOnce() -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<String, AuthError>> + Send + 'static,
    {
        Self {
            token: Arc::new(move || {
                let token = token.clone()();
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

    fn challenged(&self, refusal: TokenChallenge) -> BoxFuture<'_, Result<(), AuthError>> {
        Box::pin(async move {
            let challenge = Challenge::bearer(refusal.challenges.iter().map(String::as_str));
            let reason = challenge.get("error_description").map(|text| {
                let text = text.chars().filter(|character| !character.is_control()).take(MAX_REASON);
                format!(": {}", text.collect::<String>())
            });
            let reason = reason.unwrap_or_default();
            Err(AuthError(format!("the server refuses the token: HTTP {}{reason}", refusal.status)))
        })
    }
}

/// An identifier that an authorization server has given the client before.
///
/// It belongs to that server, and no other gets it. A secret needs [`issuer`](ClientRegistration::issuer): the server that a client
/// connects to could name any authorization server.
#[derive(Clone, Debug)]
pub struct ClientRegistration {
    id: String,
    secret: Option<Secret>,
    issuer: IssuerPin,
}

impl ClientRegistration {
    /// Makes a registration without a secret. Without [`issuer`](ClientRegistration::issuer) it is for the first authorization server
    /// that the server names; the token store remembers which.
    pub fn public(id: impl Into<String>) -> Self {
        Self { id: id.into(), secret: None, issuer: IssuerPin::Unset }
    }

    /// Makes a registration with a secret. Without [`issuer`](ClientRegistration::issuer) the authorization fails, and its error names
    /// the authorization server that the server wants.
    pub fn secret(id: impl Into<String>, secret: impl Into<String>) -> Self {
        Self { id: id.into(), secret: Some(Secret(secret.into())), issuer: IssuerPin::Unset }
    }

    /// Sets the authorization server that issued the identifier, by its issuer identifier, byte for byte (RFC 8414). No other server
    /// gets it.
    #[must_use]
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = IssuerPin::Issuer(issuer.into());
        self
    }

    /// Trusts the first authorization server that the server names with the secret. The token store remembers which, and no other
    /// server gets it. Use it only where the server's address is as trusted as the secret.
    #[must_use]
    pub fn trust_named_issuer(mut self) -> Self {
        self.issuer = IssuerPin::FirstNamed;
        self
    }
}

/// Authorization by a person in a browser (authorization code grant).
///
/// ```no_run
/// use brumate_mcp::Client;
/// use brumate_mcp::client::{FileTokenStore, OAuth};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let oauth = OAuth::new("My Client").token_store(FileTokenStore::in_config_dir("my-client")?).in_browser();
/// let client = Client::http("https://mcp.example.com/mcp").auth(oauth).connect().await?;
/// # Ok(())
/// # }
/// ```
pub struct OAuth {
    name: String,
    registration: Option<ClientRegistration>,
    metadata_url: Option<Url>,
    scopes: Vec<String>,
    store: Arc<dyn TokenStore>,
    pages: PageVisitor,
    assumes_pkce: bool,
    problem: Option<AuthError>,
}

impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth").field("name", &self.name).finish_non_exhaustive()
    }
}

impl OAuth {
    /// Sets up authorization for a client with this name, which authorization servers show to people. By default the
    /// URLs of pages are printed to standard error, and tokens are kept in memory.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            registration: None,
            metadata_url: None,
            scopes: Vec::new(),
            store: Arc::new(MemoryTokenStore::default()),
            pages: PageVisitor::loopback(browser::print),
            assumes_pkce: false,
            problem: None,
        }
    }

    /// Sets an identifier that the authorization server has given the client. It takes precedence over the other ways
    /// to get one.
    #[must_use]
    pub fn registration(mut self, registration: ClientRegistration) -> Self {
        self.registration = Some(registration);
        self
    }

    /// Sets the URL of a document with the client's metadata. The URL is the client's identifier where the
    /// authorization server supports that (client ID metadata documents).
    #[must_use]
    pub fn client_metadata_url(mut self, url: &str) -> Self {
        match Url::parse(url) {
            Ok(url) if url.scheme() == "https" && url.path() != "/" => self.metadata_url = Some(url),
            _ => self.problem = Some(AuthError(format!("`{url}` is no `https` address with a path"))),
        }
        self
    }

    /// Adds scopes to those that the server requires.
    #[must_use]
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Sets where tokens are kept; in memory by default.
    #[must_use]
    pub fn token_store(mut self, store: impl TokenStore) -> Self {
        self.store = Arc::new(store);
        self
    }

    /// Sets a callback that shows a person the URL of a page to open. The answer comes to a port of this machine, which
    /// is open for five minutes, for one request.
    #[must_use]
    pub fn on_page(mut self, show: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.pages = PageVisitor::loopback(show);
        self
    }

    /// Opens the page in the system's browser ([`open_in_browser`]). Its answer comes to a port of this machine, as
    /// with [`OAuth::on_page`].
    #[must_use]
    pub fn in_browser(self) -> Self {
        self.on_page(open_in_browser)
    }

    /// Sets a callback that opens the page itself and returns the URL that the browser was redirected to. `redirect` is
    /// that URL without its query, as the authorization server knows it.
    #[must_use]
    pub fn on_authorize<F, Fut>(mut self, redirect: &str, visit: F) -> Self
    where
        F: FnOnce(String) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<String, AuthError>> + Send + 'static,
    {
        match Url::parse(redirect) {
            Ok(redirect) => self.pages = PageVisitor::visited(redirect, visit),
            Err(error) => self.problem = Some(AuthError(format!("redirect address `{redirect}`: {error}"))),
        }
        self
    }

    /// Accepts authorization servers whose metadata do not name PKCE (RFC 7636). By default they are refused, as the
    /// protocol requires.
    #[must_use]
    pub fn assume_pkce(mut self) -> Self {
        self.assumes_pkce = true;
        self
    }
}

impl OAuth {
    /// Removes what is stored for a server: the tokens, and the client's registration at its authorization server.
    /// Returns whether there was anything.
    ///
    /// # Errors
    ///
    /// Returns an error if the URL is not valid, or if the store fails.
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
