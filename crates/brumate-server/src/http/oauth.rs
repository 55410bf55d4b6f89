//! Access tokens of an authorization server (OAuth 2.1), in addition to the tokens of a file.

use brumate_mcp::auth::{Access, Introspection, JwtVerifier, Protect, Secret, TokenVerifier};
use brumate_mcp::{Error, HttpOptions, ServeError, async_trait};

use super::Tokens;

/// Settings of the authorization server whose access tokens are accepted.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OAuthSettings {
    /// The URL of the authorization server, the `iss` of its tokens.
    pub issuer: String,
    /// The URL of this server, the `aud` that tokens must have.
    pub audience: String,
    /// Scopes that every token must have.
    pub scopes: Vec<String>,
    /// The introspection endpoint. `None`: tokens are JWTs, and are checked with the issuer's keys.
    pub introspection: Option<IntrospectionSettings>,
}

/// Settings of token introspection (RFC 7662).
#[derive(Debug, Clone)]
pub struct IntrospectionSettings {
    /// The introspection endpoint.
    pub url: String,
    /// Client identifier and client secret for the endpoint.
    pub client: Option<(String, Secret)>,
}

impl OAuthSettings {
    /// Makes settings that accept JWTs of `issuer` for the server at `audience`.
    pub fn new(issuer: impl Into<String>, audience: impl Into<String>) -> Self {
        Self { issuer: issuer.into(), audience: audience.into(), scopes: Vec::new(), introspection: None }
    }

    /// Adds the token check to the options of a server. Subjects that `tokens` blocks are rejected.
    pub(super) fn protect(&self, options: HttpOptions, tokens: Option<Tokens>) -> Result<HttpOptions, ServeError> {
        let protect = Protect::new(&self.audience).issuer(&self.issuer).scopes(&self.scopes).name("Brumate");
        let protect = match &self.introspection {
            Some(IntrospectionSettings { url, client }) => {
                let verifier = Introspection::new(url).issuer(&self.issuer);
                let verifier = match client {
                    Some((id, secret)) => verifier.client(id, secret.clone()),
                    None => verifier,
                };
                protect.verifier(BlocklistVerifier { verifier, tokens })
            }
            None => protect.verifier(BlocklistVerifier { verifier: JwtVerifier::discover(&self.issuer), tokens }),
        };
        options.protect(protect)
    }
}

/// A verifier that rejects tokens of subjects that the tokens file blocks.
struct BlocklistVerifier<V> {
    verifier: V,
    tokens: Option<Tokens>,
}

#[async_trait]
impl<V: TokenVerifier> TokenVerifier for BlocklistVerifier<V> {
    async fn verify(&self, token: &str) -> Result<Option<Access>, Error> {
        let access = self.verifier.verify(token).await?;
        Ok(access.filter(|access| !self.tokens.as_ref().is_some_and(|tokens| tokens.blocks(&access.subject))))
    }
}
