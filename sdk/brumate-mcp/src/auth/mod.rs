//! Authorization of servers: the access tokens (OAuth 2.1) that a server's clients must show, and the access that these
//! grant.
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
//! The server is the *protected resource*. It says where its authorization server is (RFC 9728), and asks for tokens
//! with a challenge (RFC 6750). It checks each token: its issuer, its audience (the server's own URL), its lifetime and
//! its scopes.
//!
//! | verifier | for |
//! |---|---|
//! | [`JwtVerifier`] | signed tokens (RFC 9068), checked with the issuer's public keys |
//! | [`Introspection`] | tokens that only the authorization server can read (RFC 7662) |
//! | a function | everything else |

mod protect;

#[doc(inline)]
pub use brumate_mcp_oauth::Access;
#[cfg(feature = "auth")]
#[doc(hidden)]
pub use brumate_mcp_oauth::internal::verifier_fuzzing as fuzzing;
#[cfg(feature = "auth")]
#[doc(inline)]
pub use brumate_mcp_oauth::{Introspection, JwtVerifier, Secret, VerifyError};
pub use protect::Protect;

pub(crate) use protect::{Protection, WELL_KNOWN, is_scope};
#[cfg(feature = "auth-server")]
pub(crate) use protect::{check_path, same_resource};

use crate::error::Error;
use async_trait::async_trait;

/// Checks access tokens.
///
/// Functions and closures that take the token as a `String` are verifiers too. A closure is cloned for each token: hold
/// captured values in an `Arc`.
///
/// ```
/// use brumate_mcp::Error;
/// use brumate_mcp::auth::{Access, Protect};
/// use std::collections::HashMap;
/// use std::sync::Arc;
///
/// let resource = "https://mcp.example.com/mcp";
/// let users = Arc::new(HashMap::from([("a token from my database".to_owned(), "ada")]));
/// let verify = async move |token: String| {
///     let user = users.get(&token);
///     // A token without this server as its audience is refused.
///     let access = user.map(|user| Access::new(*user).with_scopes(["notes"]).with_audience([resource]));
///     Ok::<_, Error>(access)
/// };
/// let protect = Protect::new(resource).issuer("https://auth.example.com").verifier(verify);
/// ```
#[async_trait]
pub trait TokenVerifier: Send + Sync + 'static {
    /// Returns the access that a token grants; `None` if the token is not valid.
    ///
    /// # Errors
    ///
    /// Returns an error if the token cannot be checked now. The client gets 503.
    async fn verify(&self, token: &str) -> Result<Option<Access>, Error>;

    /// Returns the access that a token grants, or the reason why the token is not valid, such as "it has expired". The log and the client
    /// get the reason. By default it calls [`TokenVerifier::verify`], and the reason only says that the verifier does not accept the token.
    ///
    /// # Errors
    ///
    /// Returns an error if the token cannot be checked now. The client gets 503.
    async fn verify_with_reason(&self, token: &str) -> Result<Result<Access, String>, Error> {
        Ok(self.verify(token).await?.ok_or_else(|| "its verifier does not accept it".to_owned()))
    }

    /// Returns the authorization server whose tokens it checks, if there is exactly one.
    fn issuer(&self) -> Option<&str> {
        None
    }
}

#[async_trait]
impl<F, Fut> TokenVerifier for F
where
    F: FnOnce(String) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<Option<Access>, Error>> + Send,
{
    async fn verify(&self, token: &str) -> Result<Option<Access>, Error> {
        self.clone()(token.to_owned()).await
    }
}

#[cfg(feature = "auth")]
#[async_trait]
impl TokenVerifier for JwtVerifier {
    async fn verify(&self, token: &str) -> Result<Option<Access>, Error> {
        Ok(self.check_token(token).await?)
    }

    async fn verify_with_reason(&self, token: &str) -> Result<Result<Access, String>, Error> {
        Ok(self.check_with_reason(token).await?.map_err(str::to_owned))
    }

    fn issuer(&self) -> Option<&str> {
        Some(self.token_issuer())
    }
}

#[cfg(feature = "auth")]
#[async_trait]
impl TokenVerifier for Introspection {
    async fn verify(&self, token: &str) -> Result<Option<Access>, Error> {
        Ok(self.check_token(token).await?)
    }

    fn issuer(&self) -> Option<&str> {
        self.token_issuer()
    }
}
