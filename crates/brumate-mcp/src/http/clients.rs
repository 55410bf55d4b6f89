//! Clients of a server, for both HTTP transports: their accounts, their answers on the way, their tokens.

use super::HttpOptions;
use super::authenticate::{ToolScopes, Verifier};
use super::budget::{Account, Budget, Charge, RequestCharge};
use super::credentials::{Credential, Credentials};
use super::output::{Outputs, Reservation, Sending};
use super::principal::Principal;
use super::service::{Response, refusal};
use super::write_timeout::WRITE_TIMEOUT;
use super::{activity::Running, body};
use crate::auth::Access;
use axum::body::Body;
use bytes::Bytes;
use http::StatusCode;
use http::request::Parts;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How often unread answers, revoked tokens and streams that nobody comes back for are looked for.
pub(crate) const SWEEP_EVERY: Duration = Duration::from_secs(5);

/// The clients of one server.
#[derive(Debug)]
pub(crate) struct Clients {
    budget: Budget,
    outputs: Arc<Outputs>,
    verifier: Verifier,
    tool_scopes: Option<ToolScopes>,
    credentials: Credentials,
    body: body::Bounds,
    /// After this time without being read, an answer is given up.
    unread: Duration,
    sweeping: AtomicBool,
}

/// The sender of a request, and the token that was shown.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) principal: Option<Principal>,
    pub(crate) access: Option<Arc<Access>>,
    pub(crate) credential: Option<Arc<Credential>>,
    pub(crate) account: Account,
}

/// In a request's extensions: it is under way until its handler has ended and its answer is read.
#[derive(Clone, Debug)]
#[expect(dead_code, reason = "it is held, not read")]
struct UnderWay(Arc<(RequestCharge, Charge)>);

/// In a request's extensions: fires when the token that was shown for it is not valid any more.
#[derive(Clone, Debug)]
struct Revoked(CancellationToken);

/// Fires when the token that was shown for a request is revoked. `None` where no token was asked for.
pub(crate) fn revocation(context: &RequestContext<RoleServer>) -> Option<&CancellationToken> {
    let head = context.extensions.get::<Parts>()?;
    head.extensions.get::<Revoked>().map(|Revoked(token)| token)
}

impl Clients {
    pub(crate) fn new(options: &HttpOptions) -> Arc<Self> {
        Arc::new(Self {
            budget: options.budget.clone(),
            outputs: Arc::default(),
            verifier: options.verifier.clone(),
            tool_scopes: options.tool_scopes.clone(),
            credentials: Credentials::default(),
            body: options.body.clone(),
            // A stream on which nothing happens is asked for more at each sign of life.
            unread: WRITE_TIMEOUT + options.keep_alive * 2,
            sweeping: AtomicBool::new(false),
        })
    }

    /// Finds out who sends a request.
    ///
    /// # Errors
    ///
    /// The refusal of whoever has no valid token.
    pub(crate) async fn authenticate(self: &Arc<Self>, head: &mut Parts) -> Result<Client, Box<Response>> {
        self.sweep();
        head.extensions.remove::<Revoked>();
        head.extensions.remove::<Reservation>();
        head.extensions.remove::<UnderWay>();
        let shown = self.verifier.authenticate(head).await?;
        let (principal, access, credential) = match shown {
            Some((holder, token)) => {
                let credential = self.credentials.of(&token, &holder);
                head.extensions.insert(Revoked(credential.revoked().clone()));
                (Some(holder.principal), holder.access, Some(credential))
            }
            None => (None, None, None),
        };
        let account = self.budget.account(principal.as_ref());
        Ok(Client { principal, access, credential, account })
    }

    /// Refuses a message that calls a tool whose scopes its sender does not have.
    pub(crate) fn refuse_tool(&self, client: &Client, body: &[u8]) -> Option<Response> {
        let scopes = self.tool_scopes.as_ref().filter(|scopes| scopes.exist())?;
        self.verifier.check_tool(client.access.as_deref(), scopes, body).map(|refusal| *refusal)
    }

    /// Reads the body of a request, which is under way from now on.
    ///
    /// # Errors
    ///
    /// The refusal where the client has too much under way, or the body is not read.
    pub(crate) async fn receive(&self, client: &Client, head: &mut Parts, body: Body) -> Result<Bytes, Box<Response>> {
        let Some(request) = client.account.begin_request() else {
            let text = "too many of your requests are not answered yet: wait for some of them, then try again";
            return Err(Box::new(refusal(StatusCode::SERVICE_UNAVAILABLE, text)));
        };
        let (bytes, charge) = self.body.read(body, &client.account).await?;
        head.extensions.insert(UnderWay(Arc::new((request, charge))));
        head.extensions.insert(Reservation::new(client.account.clone()));
        Ok(bytes)
    }

    /// Sends an answer, on the account of whoever asked.
    pub(crate) fn send(
        &self,
        client: &Client,
        reservation: Option<Reservation>,
        running: Option<Running>,
        response: Response,
    ) -> Response {
        let revoked = client.credential.as_ref().map(|credential| credential.revoked().clone()).unwrap_or_default();
        let account = client.account.clone();
        self.outputs.send(response, Sending { account, reservation, running, revoked })
    }

    /// Begins to look for unread answers and revoked tokens, once.
    fn sweep(self: &Arc<Self>) {
        if self.sweeping.swap(true, Ordering::Relaxed) {
            return;
        }
        self.repeat(|this| async move {
            let unread = this.outputs.give_up(this.unread);
            if unread > 0 {
                tracing::debug!(unread, "answers that nobody read were given up");
            }
        });
        if self.verifier.is_needed() {
            // Apart from the above: an authorization server that does not answer holds up nothing else.
            self.repeat(|this| async move { _ = this.credentials.check(&this.verifier).await });
        }
    }

    /// Does `work` every [`SWEEP_EVERY`], as long as the server is there.
    fn repeat<Fut>(self: &Arc<Self>, work: impl Fn(Arc<Self>) -> Fut + Send + 'static)
    where
        Fut: Future<Output = ()> + Send + 'static,
    {
        let this = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(SWEEP_EVERY).await;
                let Some(this) = this.upgrade() else { return };
                work(this).await;
            }
        });
    }
}
