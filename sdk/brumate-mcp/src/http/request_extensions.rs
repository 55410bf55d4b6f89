//! Notes of the HTTP transports in the extensions of a request, which handlers read.

use crate::auth::Access;
use crate::exact_arguments::ExactArguments;
use crate::principal::Principal;
use http::request::Parts;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Marks a request without a session: its settings are forgotten with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StatelessRequest;

/// Returns whether a request came over HTTP without a session, in a protocol that has sessions.
pub(crate) fn is_stateless(request: &RequestContext<RoleServer>) -> bool {
    request.extensions.get::<Parts>().is_some_and(|head| head.extensions.get::<StatelessRequest>().is_some())
}

/// Returns the principal that sends a request; `None` if it has none.
pub(crate) fn principal(request: &RequestContext<RoleServer>) -> Option<&Principal> {
    request.extensions.get::<Parts>()?.extensions.get()
}

/// Returns the exact arguments of a call, where `serde_json::Value` cannot hold them as they are.
pub(crate) fn exact_arguments(request: &RequestContext<RoleServer>) -> Option<&ExactArguments> {
    let in_head = || request.extensions.get::<Parts>()?.extensions.get();
    request.extensions.get().or_else(in_head)
}

/// Refuses `logging/setLevel` where there is no session.
pub(crate) fn require_session_for_log_level(context: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
    if !is_stateless(context) {
        return Ok(());
    }
    let text = "This server keeps no sessions, so a log level would be forgotten with this request. Use protocol 2026-07-28, \
                where each request names its level, or a server with sessions.";
    Err(ErrorData::invalid_request(text, None))
}

/// Marks a request whose sender sees only the tools that it may call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HideUnscopedTools;

/// Returns whether tools that the sender of a request may not call are left out of its list.
pub(crate) fn hides_unscoped(request: &RequestContext<RoleServer>) -> bool {
    request.extensions.get::<Parts>().is_some_and(|head| head.extensions.get::<HideUnscopedTools>().is_some())
}

/// Returns whether the sender of a request has these scopes. Transports other than HTTP have no scopes, and need none.
pub(crate) fn may_call(request: &RequestContext<RoleServer>, scopes: &[String]) -> bool {
    let Some(head) = request.extensions.get::<Parts>() else { return true };
    scopes.is_empty() || head.extensions.get::<Arc<Access>>().is_some_and(|access| access.has_scopes(scopes))
}

/// Fires when the token of a request is not valid any more. It is in the extensions of requests that needed a token
/// ([`App::mount_router`](crate::App::mount_router)). The token is checked as long as this value exists.
#[derive(Clone, Debug)]
pub struct TokenRevocation {
    pub(crate) revoked: CancellationToken,
    /// The credential: it is checked as long as somebody holds it.
    #[expect(dead_code, reason = "held, not read")]
    pub(crate) checked: Arc<dyn Any + Send + Sync>,
}

impl TokenRevocation {
    /// Waits until the token of the request is not valid any more.
    pub async fn revoked(&self) {
        self.revoked.cancelled().await;
    }
}

/// Returns the token that fires when the access token of a request is revoked. `None` where requests need no access
/// token.
pub(crate) fn revocation(context: &RequestContext<RoleServer>) -> Option<&CancellationToken> {
    let head = context.extensions.get::<Parts>()?;
    head.extensions.get::<TokenRevocation>().map(|revocation| &revocation.revoked)
}

/// Waits until a request should end although nobody cancelled it: its session over HTTP has ended, or its token is not valid any more. On
/// other transports it never returns.
pub(crate) fn session_end(context: &RequestContext<RoleServer>) -> impl Future<Output = ()> + Send + use<> {
    let fired = async |token: Option<CancellationToken>| match token {
        Some(token) => token.cancelled().await,
        None => std::future::pending().await,
    };
    let ended = context.extensions.get::<RequestStream>().map(RequestStream::ended);
    let revoked = revocation(context).cloned();
    async move {
        tokio::select! {
            () = fired(ended) => {}
            () = fired(revoked) => {}
        }
    }
}

/// The stream of a session that a request came by.
#[derive(Clone)]
pub(crate) struct RequestStream {
    ended: CancellationToken,
    release: Arc<dyn Fn() + Send + Sync>,
}

impl fmt::Debug for RequestStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestStream").finish_non_exhaustive()
    }
}

impl RequestStream {
    /// Makes the stream of a session. `ended` fires at the end of the session. `release` ends the connection that reads
    /// the stream.
    pub(crate) fn new(ended: CancellationToken, release: impl Fn() + Send + Sync + 'static) -> Self {
        Self { ended, release: Arc::new(release) }
    }

    /// Ends the connection that reads the stream; the client may resume it.
    pub(crate) fn release(&self) {
        (self.release)();
    }

    /// Returns the token that fires when the session ends.
    pub(crate) fn ended(&self) -> CancellationToken {
        self.ended.clone()
    }
}
