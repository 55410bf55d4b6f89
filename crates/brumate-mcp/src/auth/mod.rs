//! Authorization of servers: access tokens (OAuth 2.1) that a server's clients must show, and what they grant.
//!
//! ```no_run
//! use brumate_mcp::auth::{Access, JwtVerifier, Protect};
//! use brumate_mcp::{HttpOptions, ServeError, Server, tool};
//!
//! /// Returns who calls.
//! #[tool]
//! async fn who(access: Access) -> String {
//!     access.subject
//! }
//!
//! # async fn run() -> Result<(), ServeError> {
//! let protect = Protect::new("https://mcp.example.com/mcp")
//!     .verifier(JwtVerifier::discover("https://auth.example.com"))
//!     .scopes(["mcp"]);
//! Server::new("Accounts").tool(who).run_http("127.0.0.1:8000", HttpOptions::new().protect(protect)?).await
//! # }
//! ```
//!
//! The server is the *protected resource*: it says where its authorization server is (RFC 9728), asks for tokens with a
//! challenge (RFC 6750), and checks each token: its issuer, its audience (the server's own URL), its lifetime and its
//! scopes.
//!
//! | verifier | for |
//! |---|---|
//! | [`JwtVerifier`] | signed tokens (RFC 9068), checked with the issuer's public keys |
//! | [`Introspection`] | tokens that only the authorization server can read (RFC 7662) |
//! | a function | everything else |

#[cfg(feature = "auth")]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(feature = "auth")]
mod introspection;
#[cfg(feature = "auth")]
mod jwk;
#[cfg(feature = "auth")]
mod jwt;
#[cfg(feature = "auth")]
mod jwt_verifier;
mod protect;

#[cfg(feature = "auth")]
pub use crate::client::auth::Secret;
#[cfg(feature = "auth")]
pub use introspection::Introspection;
#[cfg(feature = "auth")]
pub use jwt_verifier::JwtVerifier;
pub use protect::Protect;

pub(crate) use protect::{Protection, WELL_KNOWN, is_scope};
#[cfg(feature = "auth-server")]
pub(crate) use protect::{check_path, same_resource};

use crate::error::Error;
use crate::principal::Principal;
use async_trait::async_trait;
use serde_json::{Map, Value};
use std::time::SystemTime;

/// The access that a token grants, and to whom.
///
/// A handler gets it as a parameter or from [`Context::access`](crate::Context::access). It never gets the token
/// itself: a server must not pass on the tokens of its clients.
///
/// ```
/// use brumate_mcp::auth::Access;
/// use brumate_mcp::tool;
///
/// /// Returns who calls.
/// #[tool]
/// async fn who(access: Access) -> String {
///     access.subject
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Access {
    /// The person, or the client where it acts for itself (`sub`).
    pub subject: String,
    /// The client that the token was issued to (`client_id`).
    pub client_id: Option<String>,
    /// The authorization server (`iss`).
    pub issuer: Option<String>,
    /// The scopes that were granted.
    pub scopes: Vec<String>,
    /// The resources that the token is for (`aud`).
    pub audience: Vec<String>,
    /// When the token expires. `None`: its verifier decides.
    pub expires_at: Option<SystemTime>,
    /// All other claims of the token, or of the introspection response.
    pub claims: Map<String, Value>,
}

impl Access {
    /// Makes the access of a subject without scopes, for verifiers that are functions. Set the fields for more.
    pub fn new(subject: impl Into<String>) -> Self {
        Self {
            subject: subject.into(),
            client_id: None,
            issuer: None,
            scopes: Vec::new(),
            audience: Vec::new(),
            expires_at: None,
            claims: Map::new(),
        }
    }

    /// Sets the scopes.
    #[must_use]
    pub fn with_scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the resources that the token is for.
    #[must_use]
    pub fn with_audience<S: Into<String>>(mut self, audience: impl IntoIterator<Item = S>) -> Self {
        self.audience = audience.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the client that the token was issued to.
    #[must_use]
    pub fn with_client(mut self, id: impl Into<String>) -> Self {
        self.client_id = Some(id.into());
        self
    }

    /// Sets when the token expires.
    #[must_use]
    pub fn with_expiry(mut self, ends: SystemTime) -> Self {
        self.expires_at = Some(ends);
        self
    }

    /// Returns whether a scope was granted.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scopes.iter().any(|granted| granted == scope)
    }

    /// Returns whether all of these scopes were granted.
    pub(crate) fn has_scopes(&self, scopes: &[String]) -> bool {
        scopes.iter().all(|scope| self.has_scope(scope))
    }

    /// Returns the principal of the token: its issuer, subject and client together.
    pub(crate) fn principal(&self) -> Principal {
        let parts = [self.issuer.as_deref(), Some(&self.subject), self.client_id.as_deref()];
        // With the length of each part, so that different triples have different names.
        let name: String =
            parts.iter().map(|part| part.unwrap_or_default()).map(|p| format!("{}:{p}", p.len())).collect();
        Principal::with_subject(name, self.subject.clone())
    }
}

/// Checks access tokens.
///
/// Functions that take the token as a `String` are verifiers too:
///
/// ```
/// use brumate_mcp::Error;
/// use brumate_mcp::auth::{Access, Protect};
///
/// async fn verify(token: String) -> Result<Option<Access>, Error> {
///     let valid = token == "a token from my database";
///     Ok(valid.then(|| Access::new("ada").with_scopes(["notes"]).with_audience(["https://mcp.example.com/mcp"])))
/// }
///
/// let protect = Protect::new("https://mcp.example.com/mcp").issuer("https://auth.example.com").verifier(verify);
/// ```
#[async_trait]
pub trait TokenVerifier: Send + Sync + 'static {
    /// Returns the access that a token grants; `None` if the token is not valid.
    ///
    /// # Errors
    ///
    /// Returns an error if the token cannot be checked now. The client gets 503.
    async fn verify(&self, token: &str) -> Result<Option<Access>, Error>;

    /// Returns the authorization server whose tokens it checks, if there is exactly one.
    fn issuer(&self) -> Option<&str> {
        None
    }
}

#[async_trait]
impl<F, Fut> TokenVerifier for F
where
    F: Fn(String) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Option<Access>, Error>> + Send,
{
    async fn verify(&self, token: &str) -> Result<Option<Access>, Error> {
        self(token.to_owned()).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_holders_of_tokens_are_one_principal() {
        let access = |issuer: &str, subject: &str, client: &str| {
            let mut access = Access::new(subject).with_client(client);
            access.issuer = Some(issuer.to_owned());
            access.principal()
        };
        let ada = access("https://a.example", "ada", "app");
        assert_eq!((ada.subject(), Principal::subject_of(ada.name())), ("ada", Some("ada")));
        for name in ["", "ada", "3:ada", "1:a1:b1:cd", "9:a", "1:a1:b1:é"] {
            assert_eq!(Principal::subject_of(name), None, "{name}");
        }
        assert_eq!(ada, access("https://a.example", "ada", "app"));
        for other in [
            access("https://b.example", "ada", "app"),
            access("https://a.example", "ada", "other"),
            access("https://a.example", "adaapp", ""),
            access("https://a.example", "", "adaapp"),
            access("https://a.examplea", "da", "app"),
        ] {
            assert_ne!(ada, other);
        }
    }
}
