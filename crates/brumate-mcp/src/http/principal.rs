//! Who sends a request, and what belongs to whom.

use super::clients::Client;
use super::service::{Response, refusal};
use http::StatusCode;
use http::request::Parts;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

/// Somebody the server knows, by name. Sessions, and what is kept for those who lose their connection, belong to the
/// principal that began them; to all others they do not exist.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Principal {
    name: Arc<str>,
    subject: Arc<str>,
}

impl Principal {
    /// The principal of that name.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        let name = name.into();
        Self { subject: name.clone(), name }
    }

    /// Makes the principal of an access token, whose name is made of more than the subject.
    pub(crate) fn with_subject(name: impl Into<Arc<str>>, subject: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), subject: subject.into() }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the subject of the access token that the principal showed; the name where there are other tokens. Principals of
    /// two clients can have one subject.
    pub fn subject(&self) -> &str {
        &self.subject
    }
}

impl Principal {
    /// Returns the subject in the name of an access token's principal; `None` for other names.
    pub fn subject_of(name: &str) -> Option<&str> {
        let (_issuer, rest) = counted(name)?;
        let (subject, rest) = counted(rest)?;
        let (_client, rest) = counted(rest)?;
        rest.is_empty().then_some(subject)
    }
}

/// Splits `LENGTH:TEXT` off.
fn counted(text: &str) -> Option<(&str, &str)> {
    let (length, rest) = text.split_once(':')?;
    rest.split_at_checked(length.parse().ok()?)
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
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
