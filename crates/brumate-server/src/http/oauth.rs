//! Access tokens of an authorization server (OAuth 2.1), beside the tokens of a file.

use brumate_mcp::auth::{Access, Introspection, JwtVerifier, Protect, Secret, TokenVerifier};
use brumate_mcp::{Error, HttpOptions, ServeError, async_trait};

use super::Tokens;

/// The authorization server whose tokens are accepted, and for what.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OAuthSettings {
    /// The URL of the authorization server, as its tokens name it.
    pub issuer: String,
    /// The URL of this server, which tokens must be issued for.
    pub audience: String,
    /// Scopes that every request needs.
    pub scopes: Vec<String>,
    /// Where tokens are asked about. Without it they are signed, and checked with the issuer's keys.
    pub introspection: Option<IntrospectionSettings>,
}

/// How the authorization server is asked about tokens (RFC 7662).
#[derive(Debug, Clone)]
pub struct IntrospectionSettings {
    /// The introspection endpoint.
    pub url: String,
    /// Who asks: an identifier and a secret.
    pub client: Option<(String, Secret)>,
}

impl OAuthSettings {
    /// Accepts signed tokens of `issuer` for the server at `audience`.
    pub fn new(issuer: impl Into<String>, audience: impl Into<String>) -> Self {
        Self { issuer: issuer.into(), audience: audience.into(), scopes: Vec::new(), introspection: None }
    }

    /// Adds the protection to the options of a server. Subjects that `tokens` block are refused.
    pub(super) fn protect(&self, options: HttpOptions, tokens: Option<Tokens>) -> Result<HttpOptions, ServeError> {
        let protect = Protect::new(&self.audience).issuer(&self.issuer).scopes(&self.scopes).name("Brumate");
        let protect = match &self.introspection {
            Some(IntrospectionSettings { url, client }) => {
                let verifier = Introspection::new(url).issuer(&self.issuer);
                let verifier = match client {
                    Some((id, secret)) => verifier.client(id, secret.clone()),
                    None => verifier,
                };
                protect.verifier(NotBlocked { verifier, tokens })
            }
            None => protect.verifier(NotBlocked { verifier: JwtVerifier::discover(&self.issuer), tokens }),
        };
        options.protect(protect)
    }
}

/// Refuses the tokens of subjects that the file of tokens blocks.
struct NotBlocked<V> {
    verifier: V,
    tokens: Option<Tokens>,
}

#[async_trait]
impl<V: TokenVerifier> TokenVerifier for NotBlocked<V> {
    async fn verify(&self, token: &str) -> Result<Option<Access>, Error> {
        let access = self.verifier.verify(token).await?;
        Ok(access.filter(|access| !self.tokens.as_ref().is_some_and(|tokens| tokens.blocks(&access.subject))))
    }
}
