//! Tokens for programs without a person (client credentials grant; SEP-1046).

use super::challenge::Challenge;
use super::metadata;
use super::signing::{SigningAlgorithm, SigningKey};
use super::token::{self, Identity, Tokens};
use super::{AuthError, Authorization, Authorizer, Secret, TokenChallenge};
use crate::outbound::{AddressPolicy, Outbound};
use futures::future::BoxFuture;
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::sync::Mutex as AsyncMutex;
use url::Url;

const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

type MakeAssertion = Arc<dyn Fn(String) -> BoxFuture<'static, Result<String, AuthError>> + Send + Sync>;

/// Tokens for the program itself, without a person (client credentials grant, SEP-1046).
///
/// ```no_run
/// use brumate_mcp::Client;
/// use brumate_mcp::client::{ClientCredentials, ClientError};
///
/// # async fn run(secret: String) -> Result<(), ClientError> {
/// let credentials = ClientCredentials::secret("backup-job", secret).scopes(["notes:read"]);
/// let client = Client::http("https://mcp.example.com/mcp").auth(credentials).connect().await?;
/// # Ok(())
/// # }
/// ```
pub struct ClientCredentials {
    id: String,
    proof: Result<ClientProof, AuthError>,
    scopes: Vec<String>,
}

#[derive(Clone)]
enum ClientProof {
    Secret(Secret),
    Key(Arc<SigningKey>),
    Assertion(MakeAssertion),
}

impl std::fmt::Debug for ClientCredentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientCredentials").field("id", &self.id).finish_non_exhaustive()
    }
}

impl ClientCredentials {
    /// Makes credentials with a secret.
    pub fn secret(id: impl Into<String>, secret: impl Into<String>) -> Self {
        Self { id: id.into(), proof: Ok(ClientProof::Secret(Secret::new(secret))), scopes: Vec::new() }
    }

    /// Makes credentials that are signed with a private key, PKCS #8 in PEM (RFC 7523).
    pub fn private_key(id: impl Into<String>, pem: &str, algorithm: SigningAlgorithm) -> Self {
        let key = SigningKey::read(pem, algorithm).map(|key| ClientProof::Key(Arc::new(key)));
        Self { id: id.into(), proof: key, scopes: Vec::new() }
    }

    /// Makes credentials with assertions from elsewhere, such as from the platform that the program runs on. `assert`
    /// makes one for an authorization server.
    pub fn assertion<F, Fut>(id: impl Into<String>, assert: F) -> Self
    where
        F: Fn(String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, AuthError>> + Send + 'static,
    {
        let assert: MakeAssertion = Arc::new(move |issuer| Box::pin(assert(issuer)));
        Self { id: id.into(), proof: Ok(ClientProof::Assertion(assert)), scopes: Vec::new() }
    }

    /// Adds scopes to those that the server requires.
    #[must_use]
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes.extend(scopes.into_iter().map(Into::into));
        self
    }
}

impl Authorization for ClientCredentials {
    fn for_server(self, server: &Url) -> Result<Arc<dyn Authorizer>, AuthError> {
        let outbound = Outbound::new(AddressPolicy::of_server(server)).map_err(AuthError::new)?;
        let (id, scopes, server) = (self.id, self.scopes, server.clone());
        Ok(Arc::new(CredentialsAuthorizer {
            id,
            proof: self.proof?,
            scopes,
            server,
            outbound,
            current: AsyncMutex::default(),
        }))
    }
}

struct CredentialsAuthorizer {
    id: String,
    proof: ClientProof,
    scopes: Vec<String>,
    server: Url,
    outbound: Outbound,
    current: AsyncMutex<Option<GrantedTokens>>,
}

/// Tokens, and the scopes that they were requested with.
struct GrantedTokens {
    tokens: Tokens,
    scopes: BTreeSet<String>,
}

impl Authorizer for CredentialsAuthorizer {
    fn token(&self) -> BoxFuture<'_, Result<Option<Secret>, AuthError>> {
        Box::pin(async move {
            let current = self.current.lock().await;
            let tokens = current.as_ref().map(|granted| &granted.tokens).filter(|tokens| !tokens.is_over());
            Ok(tokens.map(|tokens| tokens.access.clone()))
        })
    }

    fn challenged(&self, refusal: TokenChallenge) -> BoxFuture<'_, Result<(), AuthError>> {
        Box::pin(async move {
            let TokenChallenge { status, challenges, used, .. } = refusal;
            let mut current = self.current.lock().await;
            let tokens = current.as_ref().map(|granted| &granted.tokens);
            if tokens.is_some_and(|tokens| !tokens.is_over() && used.as_ref() != Some(&tokens.access)) {
                // Another request has got a new token meanwhile.
                return Ok(());
            }
            let challenge = Challenge::bearer(challenges.iter().map(String::as_str));
            // After a refusal for too few scopes, the earlier scopes are requested again.
            let before = current.as_ref().filter(|_| status == 403).map(|granted| granted.scopes.clone());
            *current = Some(self.ask(&challenge, before.unwrap_or_default()).await?);
            Ok(())
        })
    }
}

impl CredentialsAuthorizer {
    async fn ask(&self, challenge: &Challenge, before: BTreeSet<String>) -> Result<GrantedTokens, AuthError> {
        let found = metadata::discover(&self.outbound, &self.server, challenge.get("resource_metadata")).await?;
        let issuer = found.issuers.first().ok_or_else(|| AuthError::new("the server names no authorization server"))?;
        let server = metadata::authorization_server(&self.outbound, issuer).await?;
        let mut form = vec![
            ("grant_type".to_owned(), "client_credentials".to_owned()),
            ("resource".to_owned(), found.resource.clone()),
        ];
        let mut scopes: BTreeSet<String> =
            challenge.scopes().or(found.scopes).unwrap_or_default().into_iter().collect();
        scopes.extend(self.scopes.iter().cloned().chain(before));
        if !scopes.is_empty() {
            form.push(("scope".to_owned(), scopes.iter().map(String::as_str).collect::<Vec<_>>().join(" ")));
        }
        let secret = match &self.proof {
            ClientProof::Secret(secret) => Some(secret.clone()),
            ClientProof::Key(key) => {
                form.extend(assertion(key.assertion(&self.id, &server.issuer)?));
                None
            }
            ClientProof::Assertion(assert) => {
                form.extend(assertion(assert(server.issuer.clone()).await?));
                None
            }
        };
        let method = secret.is_none().then(|| "private_key_jwt".to_owned());
        let identity =
            Identity { id: self.id.clone(), secret, method, redirect: None, secret_ends: None, is_refused: false };
        let tokens = token::ask(&self.outbound, &server, &identity, form).await?.tokens;
        Ok(GrantedTokens { tokens, scopes })
    }
}

fn assertion(signed: String) -> [(String, String); 2] {
    [("client_assertion_type".to_owned(), ASSERTION_TYPE.to_owned()), ("client_assertion".to_owned(), signed)]
}
