//! The provider of an authorization server: its clients, grants and tokens.

use super::client::OAuthClient;
use super::error::OAuthError;
use crate::auth::Access;
use crate::error::Error;
use async_trait::async_trait;
use axum::Router;
use brumate_mcp_oauth::internal::now;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// The lifetime of a code.
pub(crate) const CODE_LIFETIME: Duration = Duration::from_secs(10 * 60);

/// A client's authorization request. The client, its redirect URI, the scopes and the resource are checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AuthorizationRequest {
    /// The client.
    pub client_id: String,
    /// The URI that the answer is sent to.
    pub redirect_uri: String,
    /// The requested scopes.
    pub scopes: Vec<String>,
    /// The server that the token is for (RFC 8707).
    pub resource: String,
    /// The PKCE challenge, by S256 (RFC 7636).
    pub code_challenge: String,
    /// The client's state, which the answer repeats.
    pub(crate) state: Option<String>,
    pub(crate) redirect_uri_given: bool,
    pub(crate) issuer: String,
    /// Whether nobody has checked the client's name and redirect URI.
    #[serde(default)]
    pub(crate) self_registered: bool,
}

impl AuthorizationRequest {
    /// Returns the grant of a code for this request. `subject` is the person who agreed. The code expires after ten
    /// minutes.
    pub fn grant(&self, subject: impl Into<String>) -> CodeGrant {
        CodeGrant {
            client_id: self.client_id.clone(),
            subject: subject.into(),
            scopes: self.scopes.clone(),
            resource: self.resource.clone(),
            code_challenge: self.code_challenge.clone(),
            redirect_uri: self.redirect_uri.clone(),
            redirect_uri_given: self.redirect_uri_given,
            expires_at: now() + CODE_LIFETIME.as_secs(),
        }
    }

    /// Returns the URL that sends the code to the client.
    pub fn redirect_with_code(&self, code: &str) -> Result<Url, OAuthError> {
        self.redirect(&[("code", code)])
    }

    /// Returns the URL that sends an error to the client.
    pub fn redirect_with_error(&self, error: &OAuthError) -> Result<Url, OAuthError> {
        error.log();
        self.redirect(&[("error", error.code()), ("error_description", error.description())])
    }

    fn redirect(&self, answer: &[(&str, &str)]) -> Result<Url, OAuthError> {
        redirect(&self.redirect_uri, self.state.as_deref(), &self.issuer, answer)
    }
}

/// Returns a redirect address with an answer, the client's state, and the issuer (RFC 9207).
pub(crate) fn redirect(
    uri: &str,
    state: Option<&str>,
    issuer: &str,
    answer: &[(&str, &str)],
) -> Result<Url, OAuthError> {
    let mut url = Url::parse(uri)?;
    let state = state.map(|state| ("state", state));
    url.query_pairs_mut().extend_pairs(answer).extend_pairs(state).append_pair("iss", issuer);
    Ok(url)
}

/// The grant of a code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CodeGrant {
    /// The client.
    pub client_id: String,
    /// The person who agreed.
    pub subject: String,
    /// The scopes that were granted.
    pub scopes: Vec<String>,
    /// The server that the token is for.
    pub resource: String,
    /// When the code expires, in seconds since 1970.
    pub expires_at: u64,
    pub(crate) code_challenge: String,
    pub(crate) redirect_uri: String,
    pub(crate) redirect_uri_given: bool,
}

/// The grant of a refresh token.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RefreshGrant {
    /// The client.
    pub client_id: String,
    /// The person who agreed.
    pub subject: String,
    /// The scopes that were granted.
    pub scopes: Vec<String>,
    /// The server that tokens are for.
    pub resource: String,
    /// When the refresh token expires, in seconds since 1970.
    pub expires_at: Option<u64>,
}

impl RefreshGrant {
    /// Makes the grant of the refresh token that is issued for a code.
    pub fn of_code(code: &CodeGrant, expires_at: Option<u64>) -> Self {
        Self {
            client_id: code.client_id.clone(),
            subject: code.subject.clone(),
            scopes: code.scopes.clone(),
            resource: code.resource.clone(),
            expires_at,
        }
    }
}

/// The response of the token endpoint.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct TokenPair {
    /// The access token.
    pub access_token: String,
    /// The lifetime of the access token.
    pub expires_in: Duration,
    /// The refresh token.
    pub refresh_token: Option<String>,
    /// The scopes of the access token.
    pub scopes: Vec<String>,
}

impl TokenPair {
    /// Makes a response without a refresh token.
    pub fn new(access_token: impl Into<String>, expires_in: Duration, scopes: Vec<String>) -> Self {
        Self { access_token: access_token.into(), expires_in, refresh_token: None, scopes }
    }

    /// Adds a refresh token.
    #[must_use]
    pub fn with_refresh_token(mut self, token: impl Into<String>) -> Self {
        self.refresh_token = Some(token.into());
        self
    }
}

impl std::fmt::Debug for TokenPair {
    /// Leaves out the tokens.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenPair").field("scopes", &self.scopes).finish_non_exhaustive()
    }
}

/// The accounts, clients and tokens of an authorization server. The endpoints and their checks are
/// [`AuthServer`](super::AuthServer)'s.
///
/// Codes and tokens should have at least 128 random bits, and be stored as hashes. [`SqliteAuth`](super::SqliteAuth)
/// (feature `sqlite`) is a provider that needs no code.
#[async_trait]
pub trait AuthProvider: Send + Sync + 'static {
    /// Checks the provider's settings before the server starts.
    ///
    /// # Errors
    ///
    /// Returns an error that names a wrong setting. The server does not start then.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Returns a client by its identifier.
    async fn client(&self, id: &str) -> Result<Option<OAuthClient>, OAuthError>;

    /// Stores a client that has registered itself (RFC 7591).
    async fn register(&self, client: OAuthClient) -> Result<(), OAuthError>;

    /// Begins an authorization. Returns the URL that the person's browser is sent to: a page of the provider, a page of
    /// another identity provider, or [`AuthorizationRequest::redirect_with_code`]. A client that is
    /// [`self_registered`](OAuthClient::self_registered) gets no code without a person who agrees.
    ///
    /// # Errors
    ///
    /// Returns the error that the client gets.
    async fn authorize(&self, client: &OAuthClient, request: AuthorizationRequest) -> Result<Url, OAuthError>;

    /// Returns the grant of a code; `None` if the client has no such code or has used it. A second use should revoke
    /// the tokens of the first.
    async fn load_code(&self, client: &OAuthClient, code: &str) -> Result<Option<CodeGrant>, OAuthError>;

    /// Issues tokens for a code, and ends the code in the same step: of two requests at once, one succeeds.
    ///
    /// # Errors
    ///
    /// Returns `invalid_grant` if the code was used meanwhile.
    async fn exchange_code(&self, client: &OAuthClient, code: &str, grant: CodeGrant) -> Result<TokenPair, OAuthError>;

    /// Returns the grant of a refresh token; `None` if the client has no such token. A second use of a token that was
    /// replaced should revoke its successors (RFC 9700, section 4.14).
    async fn load_refresh_token(&self, client: &OAuthClient, token: &str) -> Result<Option<RefreshGrant>, OAuthError>;

    /// Issues tokens with `scopes` for a refresh token, which is replaced in the same step.
    ///
    /// # Errors
    ///
    /// Returns `invalid_grant` if the token was used meanwhile.
    async fn exchange_refresh_token(
        &self,
        client: &OAuthClient,
        token: &str,
        grant: RefreshGrant,
        scopes: Vec<String>,
    ) -> Result<TokenPair, OAuthError>;

    /// Returns the access that an access token grants; `None` if it is unknown, revoked or expired.
    async fn load_access_token(&self, token: &str) -> Result<Option<Access>, OAuthError>;

    /// Revokes a token of a client, of either kind, and the tokens that were issued with it. Unknown tokens are no
    /// error.
    async fn revoke(&self, client: &OAuthClient, token: &str) -> Result<(), OAuthError>;

    /// Issues tokens for an assertion of another issuer (RFC 7523, `jwt-bearer`).
    ///
    /// # Errors
    ///
    /// Returns `unsupported_grant_type` unless a provider implements it.
    async fn exchange_assertion(
        &self,
        _client: &OAuthClient,
        _assertion: &str,
        _resource: &str,
        _scopes: Vec<String>,
    ) -> Result<TokenPair, OAuthError> {
        Err(OAuthError::unsupported_grant_type("assertions are not accepted"))
    }

    /// Returns pages of the provider's own, such as one on which people agree. Their paths are below `base`, the
    /// issuer's path without a slash at its end.
    fn routes(self: Arc<Self>, _issuer: &Url, _base: &str) -> Router {
        Router::new()
    }
}
