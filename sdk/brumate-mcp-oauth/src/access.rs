//! The access that a token grants.

use serde_json::{Map, Value};
use std::time::SystemTime;

/// The access that a token grants, and to whom.
///
/// A handler gets it as a parameter or from `Context::access`. It never gets the token itself: a server must not pass
/// on the tokens of its clients.
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
    pub fn has_scopes(&self, scopes: &[String]) -> bool {
        scopes.iter().all(|scope| self.has_scope(scope))
    }
}
