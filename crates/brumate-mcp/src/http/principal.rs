//! Who sends a request: bearer tokens (RFC 6750), and what is bound to whom they belong to.

use super::clients::Client;
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

    /// Returns the principal whose token it is now.
    pub(crate) fn verify(&self, token: &str) -> Option<Principal> {
        (self.0)(token)
    }
}

/// Finds out who sends a request, and notes it in the request's extensions. Returns the token as well.
///
/// # Errors
///
/// The refusal, with the challenge of RFC 6750.
pub(crate) fn authenticate(
    verifier: Option<&Verifier>,
    head: &mut Parts,
) -> Result<Option<(Principal, String)>, Box<Response>> {
    // What is noted there was noted here, never by a client.
    head.extensions.remove::<Principal>();
    let Some(verifier) = verifier else { return Ok(None) };
    let mut given = head.headers.get_all(AUTHORIZATION).iter();
    let (first, second) = (given.next(), given.next());
    let token = first.and_then(|value| value.to_str().ok()).and_then(bearer);
    let said = token.is_some();
    let found = token
        .filter(|token| second.is_none() && token.len() <= MAX_TOKEN_BYTES)
        .and_then(|token| Some((verifier.verify(token)?, token.to_owned())));
    // Tools and handlers see the head; the token is none of their business.
    head.headers.remove(AUTHORIZATION);
    let Some((principal, token)) = found else {
        let (challenge, text) = match said {
            false => ("Bearer realm=\"mcp\"", "a bearer token is required: `Authorization: Bearer TOKEN`"),
            true => ("Bearer realm=\"mcp\", error=\"invalid_token\"", "the token is not valid"),
        };
        let mut response = refusal(StatusCode::UNAUTHORIZED, text);
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        return Err(Box::new(response));
    };
    head.extensions.insert(principal.clone());
    Ok(Some((principal, token)))
}

/// The token of `Bearer TOKEN`; the scheme's case does not matter (RFC 9110).
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// Mark of a request that stands for itself: what it sets is forgotten with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WithoutSession;

/// Whether a request came over HTTP without a session, in a protocol that has sessions.
pub(crate) fn is_stateless(request: &RequestContext<RoleServer>) -> bool {
    request.extensions.get::<Parts>().is_some_and(|head| head.extensions.get::<WithoutSession>().is_some())
}

/// Whose request it is.
pub(crate) fn principal(request: &RequestContext<RoleServer>) -> Option<&Principal> {
    request.extensions.get::<Parts>()?.extensions.get()
}

/// A refusal by our sessions while rmcp works on a request. rmcp has no answers of its own for these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    TooManySessions,
    TooManyStreams,
    NothingToResume,
}

impl Refusal {
    pub(crate) fn response(self) -> Response {
        match self {
            Refusal::TooManySessions => {
                refusal(StatusCode::SERVICE_UNAVAILABLE, "there are too many sessions: try again later")
            }
            Refusal::TooManyStreams => {
                refusal(StatusCode::SERVICE_UNAVAILABLE, "too many streams of this session are open: close one of them")
            }
            Refusal::NothingToResume => {
                let text = "nothing is kept after this `Last-Event-ID`: open a stream without it, and ask again for what \
                            was not answered";
                refusal(StatusCode::BAD_REQUEST, text)
            }
        }
    }
}

/// What is known of the request at hand while rmcp works on it.
pub(crate) struct Scope {
    pub(crate) refused: Cell<Option<Refusal>>,
    pub(crate) client: Option<Client>,
}

tokio::task_local! {
    pub(crate) static SCOPE: Scope;
}

impl Scope {
    pub(crate) fn new(client: Client) -> Self {
        Self { refused: Cell::new(None), client: Some(client) }
    }

    /// Refuses the request at hand.
    pub(crate) fn refuse(refusal: Refusal) {
        let _ = SCOPE.try_with(|scope| scope.refused.set(Some(refusal)));
    }

    /// Returns the sender of the request at hand; `None` when there is no request at hand.
    pub(crate) fn client() -> Option<Client> {
        SCOPE.try_with(|scope| scope.client.clone()).ok().flatten()
    }

    /// The principal of the request at hand; nobody known, or no request at hand.
    pub(crate) fn principal() -> Option<Principal> {
        Self::client().and_then(|client| client.principal)
    }

    /// May what belongs to `owner` be seen by the request at hand? The server itself may see everything.
    pub(crate) fn admits(owner: Option<&Principal>) -> bool {
        let of = |scope: &Self| scope.client.as_ref().and_then(|client| client.principal.as_ref()) == owner;
        SCOPE.try_with(of).unwrap_or(true)
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
