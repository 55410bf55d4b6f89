//! A provider that keeps its clients and tokens in a SQLite database, and asks people on a page of its own.

mod consent;
mod page;
mod tables;

use super::client::OAuthClient;
use super::error::OAuthError;
use super::provider::{AuthProvider, AuthorizationRequest, CodeGrant, RefreshGrant, TokenPair};
use crate::auth::Access;
use crate::database::{self, Durability};
use crate::error::{Error, ServeError};
use crate::oauth::now;
use async_trait::async_trait;
use axum::Router;
use consent::SignIn;
use futures::future::BoxFuture;
use http::request::Parts;
use rusqlite::Connection;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};
use tables::Tables;
use url::Url;

/// The database's name in its directory.
const FILE: &str = "authorization.db";

/// The lifetime of access tokens.
const ACCESS_LIFETIME: Duration = Duration::from_secs(60 * 60);

/// The lifetime of refresh tokens that are not used.
const REFRESH_LIFETIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// An authorization server's provider: clients, codes and tokens in a SQLite database, in files that nobody but their owner can read,
/// and a page on which people sign in and agree.
///
/// Codes and tokens are random and kept as hashes. Refresh tokens are replaced at each use; the second use of one, or of a code, revokes
/// everything that came of it. Access tokens live an hour, refresh tokens thirty days. There are at most 100,000 clients, 10,000
/// authorizations under way and a million tokens; beyond, what was used least recently goes.
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
    /// Opens the database in `directory`, which is made if it is not there. One process at a time uses it.
    ///
    /// # Errors
    ///
    /// [`ServeError::Setup`]: the directory cannot be used or others may enter it, another process has the database open, or it was made
    /// by another version.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, ServeError> {
        let connection = database::open(directory.as_ref(), FILE, tables::LAYOUT, Durability::Power);
        let connection = connection.map_err(|error| ServeError::Setup(error.to_string()))?;
        Ok(Self {
            connection: Arc::new(Mutex::new(connection)),
            sign_in: None,
            name: "This server".to_owned(),
            access_lifetime: ACCESS_LIFETIME,
            refresh_lifetime: REFRESH_LIFETIME,
        })
    }

    /// Sets the name of what people give access to, for the page.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Lets people sign in with a name and a password. `check` returns the subject of their tokens; `None` if the password is wrong.
    /// It should take the same time for all names and passwords. A person has ten tries for each authorization.
    #[must_use]
    pub fn passwords<F, Fut>(mut self, check: F) -> Self
    where
        F: Fn(String, String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Option<String>> + Send + 'static,
    {
        let check = move |name, password| -> BoxFuture<'static, Option<String>> { Box::pin(check(name, password)) };
        self.sign_in = Some(SignIn::Password(Arc::new(check)));
        self
    }

    /// Takes who is signed in from the request, where something in front says so in a header, or a cookie of the program does.
    #[must_use]
    pub fn signed_in(mut self, who: impl Fn(&Parts) -> Option<String> + Send + Sync + 'static) -> Self {
        self.sign_in = Some(SignIn::Request(Arc::new(who)));
        self
    }

    /// Asks nobody who they are: whoever reaches the page may agree, for `subject`. For servers on one's own machine.
    #[must_use]
    pub fn anybody(mut self, subject: impl Into<String>) -> Self {
        self.sign_in = Some(SignIn::Anybody(subject.into()));
        self
    }

    /// Sets how long tokens live: access tokens, and refresh tokens that are not used.
    #[must_use]
    pub fn lifetimes(mut self, access: Duration, refresh: Duration) -> Self {
        (self.access_lifetime, self.refresh_lifetime) = (access, refresh);
        self
    }

    /// Keeps a client that does not register itself, or replaces the one of the same identifier.
    ///
    /// # Errors
    ///
    /// One of its redirect addresses cannot be used, or the database fails.
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
            // What must stay though the request is refused, such as a revocation, is committed too.
            let result = work(&mut tables);
            tables.commit()?;
            result
        })
        .await?
    }

    /// Makes a pair of tokens.
    fn pair(&self, scopes: Vec<String>) -> TokenPair {
        TokenPair::new(crate::oauth::random_token(), self.access_lifetime, scopes)
            .with_refresh_token(crate::oauth::random_token())
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
            None => Err(Error::new("nobody can sign in: SqliteAuth::passwords, signed_in or anybody says who may")),
        }
    }

    async fn client(&self, id: &str) -> Result<Option<OAuthClient>, OAuthError> {
        let id = id.to_owned();
        self.run(move |tables| tables.client(&id)).await
    }

    async fn register(&self, client: OAuthClient) -> Result<(), OAuthError> {
        self.run(move |tables| tables.keep_client(&client, now())).await
    }

    async fn authorize(&self, client: &OAuthClient, request: AuthorizationRequest) -> Result<Url, OAuthError> {
        let page = consent::address(&request.issuer)?;
        let id = crate::oauth::random_token();
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
