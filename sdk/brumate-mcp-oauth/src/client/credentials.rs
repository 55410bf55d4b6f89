//! Tokens for programs without a person (client credentials grant; SEP-1046).

use super::challenge::Challenge;
use super::issuer::IssuerPin;
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
/// let credentials =
///     ClientCredentials::secret("backup-job", secret).issuer("https://auth.example.com").scopes(["notes:read"]);
/// let client = Client::http("https://mcp.example.com/mcp").auth(credentials).connect().await?;
/// # Ok(())
/// # }
/// ```
pub struct ClientCredentials {
    id: String,
    proof: Result<ClientProof, AuthError>,
    scopes: Vec<String>,
    issuer: IssuerPin,
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
    fn new(id: impl Into<String>, proof: Result<ClientProof, AuthError>) -> Self {
        Self { id: id.into(), proof, scopes: Vec::new(), issuer: IssuerPin::Unset }
    }

    /// Makes credentials with a secret. They need [`issuer`](ClientCredentials::issuer): the server that a client connects to could name
    /// any authorization server. The error without it names the one that the server wants.
    pub fn secret(id: impl Into<String>, secret: impl Into<String>) -> Self {
        Self::new(id, Ok(ClientProof::Secret(Secret::new(secret))))
    }

    /// Makes credentials that are signed with a private key, PKCS #8 in PEM (RFC 7523).
    pub fn private_key(id: impl Into<String>, pem: &str, algorithm: SigningAlgorithm) -> Self {
        let key = SigningKey::read(pem, algorithm).map(|key| ClientProof::Key(Arc::new(key)));
        Self::new(id, key)
    }

    /// Makes credentials with assertions from elsewhere, such as from the platform that the program runs on. `assert`
    /// makes one for an authorization server, by its issuer. The server that the client connects to names it, unless
    /// [`issuer`](ClientCredentials::issuer) is set: an assertion that another server accepts is a secret.
    pub fn assertion<F, Fut>(id: impl Into<String>, assert: F) -> Self
    where
        F: FnOnce(String) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<String, AuthError>> + Send + 'static,
    {
        let assert: MakeAssertion = Arc::new(move |issuer| Box::pin(assert.clone()(issuer)));
        Self::new(id, Ok(ClientProof::Assertion(assert)))
    }

    /// Sets the authorization server that has issued the credentials, by its issuer identifier, byte for byte (RFC 8414). No other
    /// server gets them.
    #[must_use]
    pub fn issuer(self, issuer: impl Into<String>) -> Self {
        Self { issuer: IssuerPin::Issuer(issuer.into()), ..self }
    }

    /// Trusts the first authorization server that the server names with the secret, and until the process ends no other. Use it only
    /// where the server's address is as trusted as the secret.
    #[must_use]
    pub fn trust_named_issuer(self) -> Self {
        Self { issuer: IssuerPin::FirstNamed, ..self }
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
        let (id, scopes, issuer, server) = (self.id, self.scopes, self.issuer, server.clone());
        let (proof, current) = (self.proof?, AsyncMutex::default());
        Ok(Arc::new(CredentialsAuthorizer { id, proof, scopes, issuer, server, outbound, current }))
    }
}

struct CredentialsAuthorizer {
    id: String,
    proof: ClientProof,
    scopes: Vec<String>,
    issuer: IssuerPin,
    server: Url,
    outbound: Outbound,
    current: AsyncMutex<Option<GrantedTokens>>,
}

/// Tokens, the scopes that they were requested with, and who has issued them.
struct GrantedTokens {
    tokens: Tokens,
    scopes: BTreeSet<String>,
    issuer: String,
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
            let issuer = current.as_ref().map(|granted| granted.issuer.clone());
            *current = Some(self.ask(&challenge, before.unwrap_or_default(), issuer.as_deref()).await?);
            Ok(())
        })
    }
}

impl CredentialsAuthorizer {
    async fn ask(
        &self,
        challenge: &Challenge,
        before: BTreeSet<String>,
        issuer: Option<&str>,
    ) -> Result<GrantedTokens, AuthError> {
        let found = metadata::discover(&self.outbound, &self.server, challenge.get("resource_metadata")).await?;
        let has_secret = matches!(self.proof, ClientProof::Secret(_));
        let issuer = self.issuer.choose(&self.id, has_secret, issuer, &found.issuers)?;
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
        Ok(GrantedTokens { tokens, scopes, issuer: issuer.clone() })
    }
}

fn assertion(signed: String) -> [(String, String); 2] {
    [("client_assertion_type".to_owned(), ASSERTION_TYPE.to_owned()), ("client_assertion".to_owned(), signed)]
}
