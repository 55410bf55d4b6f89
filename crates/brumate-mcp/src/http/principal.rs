//! Who sends a request: bearer tokens (RFC 6750), and what is bound to whom they belong to.

use super::service::{Response, refusal};
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderValue, StatusCode};
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

/// Longest token that is looked at.
const MAX_TOKEN_BYTES: usize = 4096;

/// Somebody the server knows, by name. Sessions, and what is kept for those who lose their connection, belong to the
/// principal that began them; to all others they do not exist.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Principal(Arc<str>);

impl Principal {
    /// The principal of that name.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Finds whose token it is.
#[derive(Clone)]
pub(crate) struct Verifier(Arc<Verify>);

type Verify = dyn Fn(&str) -> Option<Principal> + Send + Sync;

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifier")
    }
}

impl Verifier {
    pub(crate) fn new(verify: impl Fn(&str) -> Option<Principal> + Send + Sync + 'static) -> Self {
        Self(Arc::new(verify))
    }
}

/// Finds out who sends a request, and notes it in the request's extensions.
///
/// # Errors
///
/// The refusal, with the challenge of RFC 6750.
pub(crate) fn authenticate(verifier: Option<&Verifier>, head: &mut Parts) -> Result<Option<Principal>, Box<Response>> {
    // What is noted there was noted here, never by a client.
    head.extensions.remove::<Principal>();
    let Some(Verifier(verify)) = verifier else { return Ok(None) };
    let mut given = head.headers.get_all(AUTHORIZATION).iter();
    let (first, second) = (given.next(), given.next());
    let token = first.and_then(|value| value.to_str().ok()).and_then(bearer);
    let said = token.is_some();
    let found =
        token.filter(|token| second.is_none() && token.len() <= MAX_TOKEN_BYTES).and_then(|token| verify(token));
    // Tools and handlers see the head; the token is none of their business.
    head.headers.remove(AUTHORIZATION);
    let Some(principal) = found else {
        let (challenge, text) = match said {
            false => ("Bearer realm=\"mcp\"", "a bearer token is required: `Authorization: Bearer TOKEN`"),
            true => ("Bearer realm=\"mcp\", error=\"invalid_token\"", "the token is not valid"),
        };
        let mut response = refusal(StatusCode::UNAUTHORIZED, text);
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        return Err(Box::new(response));
    };
    head.extensions.insert(principal.clone());
    Ok(Some(principal))
}

/// The token of `Bearer TOKEN`; the scheme's case does not matter (RFC 9110).
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// Whose request it is.
pub(crate) fn principal(request: &RequestContext<RoleServer>) -> Option<&Principal> {
    request.extensions.get::<Parts>()?.extensions.get()
}

/// What is known of the request at hand while rmcp works on it.
pub(crate) struct Scope {
    /// There are too many sessions for it.
    pub(crate) refused: Cell<bool>,
    pub(crate) principal: Option<Principal>,
}

tokio::task_local! {
    pub(crate) static SCOPE: Scope;
}

impl Scope {
    pub(crate) fn new(principal: Option<Principal>) -> Self {
        Self { refused: Cell::new(false), principal }
    }

    /// Who sends the request at hand; nobody known, or no request at hand.
    pub(crate) fn principal() -> Option<Principal> {
        SCOPE.try_with(|scope| scope.principal.clone()).ok().flatten()
    }

    /// May what belongs to `owner` be seen by the request at hand? The server itself may see everything.
    pub(crate) fn admits(owner: Option<&Principal>) -> bool {
        SCOPE.try_with(|scope| scope.principal.as_ref() == owner).unwrap_or(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_as_rfc_6750_has_them() {
        for (header, token) in [
            ("Bearer abc", Some("abc")),
            ("bearer  abc ", Some("abc")),
            ("Basic abc", None),
            ("Bearer", None),
            ("Bearer ", None),
            ("", None),
        ] {
            assert_eq!(bearer(header), token, "{header:?}");
        }
    }
}
