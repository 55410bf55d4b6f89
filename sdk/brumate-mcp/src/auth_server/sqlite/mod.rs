//! A provider with a SQLite database, and with a page on which people sign in and agree.

mod consent;
mod page;
mod tables;

use super::client::OAuthClient;
use super::error::OAuthError;
use super::provider::{AuthProvider, AuthorizationRequest, CodeGrant, RefreshGrant, TokenPair};
use crate::auth::Access;
use crate::database::{self, Durability};
use crate::error::{Error, ServeError};
use async_trait::async_trait;
use axum::Router;
use brumate_mcp_oauth::internal::now;
use consent::SignIn;
use futures::future::BoxFuture;
use http::request::Parts;
use rusqlite::Connection;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};
use tables::{ClientLimits, Tables};
use url::Url;

/// The database's name in its directory.
const FILE: &str = "authorization.db";

/// The lifetime of access tokens.
const ACCESS_LIFETIME: Duration = Duration::from_secs(60 * 60);

/// The lifetime of refresh tokens that are not used.
const REFRESH_LIFETIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// A provider for [`AuthServer`](super::AuthServer) with a SQLite database and a page on which people sign in and
/// agree. Only the owner of the files can read them.
///
/// ```no_run
/// use brumate_mcp::auth_server::{AuthServer, SqliteAuth};
/// use brumate_mcp::{App, ServeError};
///
/// # async fn run() -> Result<(), ServeError> {
/// let provider = SqliteAuth::open("./authorization")?
///     .name("Notes")
///     .password_sign_in(|name, password| async move { (name == "ada" && password == "lovelace").then_some(name) });
/// let auth = AuthServer::new("https://auth.example.com", provider).resource("https://mcp.example.com/mcp").registration();
/// App::new().authorization_server(auth).run("127.0.0.1:8000").await
/// # }
/// ```
///
/// Codes and tokens are random and stored as hashes. Each use replaces a refresh token. The second use of a refresh
/// token or of a code revokes all tokens that came of it. Access tokens live an hour, refresh tokens thirty days. There
/// are at most 100,000 clients with 64 MiB of metadata, 10,000 authorizations under way and a million tokens. Beyond,
/// the authorizations and tokens that end first are removed. Clients that have registered themselves and have no tokens
/// are removed, oldest first.
pub struct SqliteAuth {
    connection: Arc<Mutex<Connection>>,
    sign_in: Option<SignIn>,
    name: String,
    access_lifetime: Duration,
    refresh_lifetime: Duration,
}

impl fmt::Debug for SqliteAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteAuth").finish_non_exhaustive()
    }
}

impl SqliteAuth {
    /// Opens the database in `directory`, which is created if needed. One process at a time can use it.
    ///
    /// # Errors
    ///
    /// Returns [`ServeError::Setup`] if the directory cannot be used, or if other users can enter it. Returns it also
    /// if another process has the database open, or if another version has made it.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, ServeError> {
        let connection = database::open(directory.as_ref(), FILE, tables::LAYOUT, Durability::Power);
        let connection = connection.map_err(|error| ServeError::Setup(error.to_string()))?;
        connection.execute_batch(tables::INDEXES).map_err(|error| ServeError::Setup(error.to_string()))?;
        Ok(Self {
            connection: Arc::new(Mutex::new(connection)),
            sign_in: None,
            name: "This server".to_owned(),
            access_lifetime: ACCESS_LIFETIME,
            refresh_lifetime: REFRESH_LIFETIME,
        })
    }

    /// Sets the name of the server that people give access to, for the page.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Lets people sign in with a name and a password. `check` returns the subject of their tokens; `None` if the
    /// password is wrong. It should take the same time for all names and passwords. A person has ten attempts for each
    /// authorization.
    #[must_use]
    pub fn password_sign_in<F, Fut>(mut self, check: F) -> Self
    where
        F: FnOnce(String, String) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Option<String>> + Send + 'static,
    {
        let check =
            move |name, password| -> BoxFuture<'static, Option<String>> { Box::pin(check.clone()(name, password)) };
        self.sign_in = Some(SignIn::Password(Arc::new(check)));
        self
    }

    /// Takes the user from the request: from a header that a proxy sets, or from a cookie of the program. `who` returns
    /// the subject; `None` if nobody is signed in.
    #[must_use]
    pub fn user_from_request(mut self, who: impl Fn(&Parts) -> Option<String> + Send + Sync + 'static) -> Self {
        self.sign_in = Some(SignIn::Request(Arc::new(who)));
        self
    }

    /// Does not ask who the user is: everybody who reaches the page may agree, for `subject`. Use it for servers on
    /// your own machine.
    #[must_use]
    pub fn single_user(mut self, subject: impl Into<String>) -> Self {
        self.sign_in = Some(SignIn::SingleUser(subject.into()));
        self
    }

    /// Sets the lifetimes of access tokens, and of refresh tokens that are not used; an hour and thirty days by
    /// default.
    #[must_use]
    pub fn lifetimes(mut self, access: Duration, refresh: Duration) -> Self {
        (self.access_lifetime, self.refresh_lifetime) = (access, refresh);
        self
    }

    /// Stores a client that does not register itself, or replaces the one of the same identifier.
    ///
    /// # Errors
    ///
    /// Returns an error if a redirect URI is not allowed, or if the database fails.
    pub async fn add_client(&self, client: OAuthClient) -> Result<(), OAuthError> {
        super::client::check_redirects(&client.redirect_uris)?;
        self.run(move |tables| tables.keep_client(&client, now())).await
    }

    /// Works with the database on a thread for blocking work.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tables<'_>) -> Result<T, OAuthError> + Send + 'static,
    ) -> Result<T, OAuthError> {
        let connection = self.connection.clone();
        tokio::task::spawn_blocking(move || {
            let mut connection = crate::sync::lock(&connection);
            let mut tables = Tables::begin(&mut connection)?;
            // Committed even if the request is refused, because a refusal can include a revocation.
            let result = work(&mut tables);
            tables.commit()?;
            result
        })
        .await?
    }

    /// Makes a pair of tokens.
    fn pair(&self, scopes: Vec<String>) -> TokenPair {
        TokenPair::new(brumate_mcp_oauth::internal::random_token(), self.access_lifetime, scopes)
            .with_refresh_token(brumate_mcp_oauth::internal::random_token())
    }

    fn ends(&self) -> (u64, u64) {
        (now() + self.access_lifetime.as_secs(), now() + self.refresh_lifetime.as_secs())
    }
}

#[async_trait]
impl AuthProvider for SqliteAuth {
    fn check(&self) -> Result<(), Error> {
        match self.sign_in {
            Some(_) => Ok(()),
            None => Err(Error::new(
                "nobody can sign in: SqliteAuth::password_sign_in, user_from_request or single_user says who may",
            )),
        }
    }

    async fn client(&self, id: &str) -> Result<Option<OAuthClient>, OAuthError> {
        let id = id.to_owned();
        self.run(move |tables| tables.client(&id)).await
    }

    async fn register(&self, client: OAuthClient) -> Result<(), OAuthError> {
        self.run(move |tables| tables.keep_registration(&client, now(), ClientLimits::default())).await
    }

    async fn authorize(&self, client: &OAuthClient, request: AuthorizationRequest) -> Result<Url, OAuthError> {
        let page = consent::address(&request.issuer)?;
        let id = brumate_mcp_oauth::internal::random_token();
        let (name, kept) = (client.name.clone(), id.clone());
        self.run(move |tables| tables.keep_request(&kept, &request, name.as_deref(), now())).await?;
        let mut page = page;
        page.query_pairs_mut().append_pair("request", &id);
        Ok(page)
    }

    async fn load_code(&self, client: &OAuthClient, code: &str) -> Result<Option<CodeGrant>, OAuthError> {
        let (client, code) = (client.id.clone(), code.to_owned());
        self.run(move |tables| tables.load_code(&client, &code)).await
    }

    async fn exchange_code(&self, client: &OAuthClient, code: &str, grant: CodeGrant) -> Result<TokenPair, OAuthError> {
        let (pair, ends) = (self.pair(grant.scopes.clone()), self.ends());
        let (made, client, code) = (pair.clone(), client.id.clone(), code.to_owned());
        let refresh = RefreshGrant::of_code(&grant, Some(ends.1));
        self.run(move |tables| {
            let family = tables.take_code(&client, &code)?;
            tables.keep_pair(&family, &made, &refresh, ends)
        })
        .await?;
        Ok(pair)
    }

    async fn load_refresh_token(&self, client: &OAuthClient, token: &str) -> Result<Option<RefreshGrant>, OAuthError> {
        let (client, token) = (client.id.clone(), token.to_owned());
        self.run(move |tables| tables.load_refresh_token(&client, &token)).await
    }

    async fn exchange_refresh_token(
        &self,
        client: &OAuthClient,
        token: &str,
        mut grant: RefreshGrant,
        scopes: Vec<String>,
    ) -> Result<TokenPair, OAuthError> {
        let (pair, ends) = (self.pair(scopes), self.ends());
        grant.expires_at = Some(ends.1);
        let (made, client, token) = (pair.clone(), client.id.clone(), token.to_owned());
        self.run(move |tables| {
            let family = tables.take_refresh_token(&client, &token)?;
            tables.keep_pair(&family, &made, &grant, ends)
        })
        .await?;
        Ok(pair)
    }

    async fn load_access_token(&self, token: &str) -> Result<Option<Access>, OAuthError> {
        let token = token.to_owned();
        let found = self.run(move |tables| tables.load_access_token(&token, now())).await?;
        Ok(found.map(|(grant, scopes, ends)| {
            Access::new(grant.subject)
                .with_client(grant.client_id)
                .with_scopes(scopes)
                .with_audience([grant.resource])
                .with_expiry(UNIX_EPOCH + Duration::from_secs(ends))
        }))
    }

    async fn revoke(&self, client: &OAuthClient, token: &str) -> Result<(), OAuthError> {
        let (client, token) = (client.id.clone(), token.to_owned());
        self.run(move |tables| tables.revoke(&client, &token)).await
    }

    fn routes(self: Arc<Self>, issuer: &Url, base: &str) -> Router {
        consent::router(self, issuer, base)
    }
}
