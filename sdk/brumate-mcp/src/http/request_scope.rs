//! The request that rmcp works on: its sender, and why its session refuses it.

use super::clients::Requester;
use super::response::{Response, refusal};
use crate::principal::Principal;
use http::StatusCode;
use std::cell::Cell;

/// The refusal of a request by its session while rmcp works on it. rmcp has no answers of its own for these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionRefusal {
    TooManySessions,
    TooManyStreams,
    NothingToResume,
    /// The session does not exist for the sender.
    NoSuchSession,
}

impl SessionRefusal {
    pub(crate) fn response(self) -> Response {
        match self {
            SessionRefusal::TooManySessions => {
                refusal(StatusCode::SERVICE_UNAVAILABLE, "there are too many sessions: try again later")
            }
            SessionRefusal::TooManyStreams => {
                refusal(StatusCode::SERVICE_UNAVAILABLE, "too many streams of this session are open: close one of them")
            }
            SessionRefusal::NothingToResume => {
                let text = "nothing is kept after this `Last-Event-ID`: open a stream without it, and ask again for what \
                            was not answered";
                refusal(StatusCode::BAD_REQUEST, text)
            }
            SessionRefusal::NoSuchSession => refusal(StatusCode::NOT_FOUND, "Not Found: Session not found"),
        }
    }
}

/// The sender and the refusal of the request that rmcp works on.
pub(crate) struct RequestScope {
    pub(crate) refused: Cell<Option<SessionRefusal>>,
    pub(crate) client: Option<Requester>,
}

tokio::task_local! {
    pub(crate) static REQUEST_SCOPE: RequestScope;
}

impl RequestScope {
    pub(crate) fn new(client: Requester) -> Self {
        Self { refused: Cell::new(None), client: Some(client) }
    }

    /// Refuses the request at hand.
    pub(crate) fn refuse(refusal: SessionRefusal) {
        let _ = REQUEST_SCOPE.try_with(|scope| scope.refused.set(Some(refusal)));
    }

    /// Returns the sender of the request at hand; `None` if there is no request at hand.
    pub(crate) fn client() -> Option<Requester> {
        REQUEST_SCOPE.try_with(|scope| scope.client.clone()).ok().flatten()
    }

    /// Returns the principal of the request at hand; `None` if it has none, or if there is no request at hand.
    pub(crate) fn principal() -> Option<Principal> {
        Self::client().and_then(|client| client.principal)
    }

    /// Returns whether the request at hand may see a session of `owner`. Without a request at hand it is the server
    /// itself, which may see all sessions.
    pub(crate) fn admits(owner: Option<&Principal>) -> bool {
        let of = |scope: &Self| scope.client.as_ref().and_then(|client| client.principal.as_ref()) == owner;
        REQUEST_SCOPE.try_with(of).unwrap_or(true)
    }
}
