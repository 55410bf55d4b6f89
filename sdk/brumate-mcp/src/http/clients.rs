//! The clients of a server, for both HTTP transports: their tokens, their accounts, the responses on their way.

use super::authenticate::{Authenticator, ToolScopes};
use super::budget::{Account, Budget, Charge, RequestCharge};
use super::credentials::{Credential, Credentials};
use super::options::HttpOptions;
use super::request_body::BodyLimits;
use super::request_extensions::TokenRevocation;
use super::response::{Response, refusal};
use super::response_body::{ResponseBodies, ResponseContext, ResponseReservation};
use super::running_requests::RunningRequest;
use super::write_timeout::WRITE_TIMEOUT;
use crate::auth::Access;
use crate::principal::Principal;
use axum::body::Body;
use bytes::Bytes;
use http::StatusCode;
use http::request::Parts;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The interval of the search for unread answers, revoked tokens and expired streams.
pub(crate) const SWEEP_EVERY: Duration = Duration::from_secs(5);

/// The clients of one server.
#[derive(Debug)]
pub(crate) struct Clients {
    budget: Budget,
    bodies: Arc<ResponseBodies>,
    verifier: Authenticator,
    tool_scopes: Option<ToolScopes>,
    credentials: Credentials,
    body: BodyLimits,
    /// A response that was not read for this time is given up.
    unread: Duration,
    sweeping: AtomicBool,
}

/// The sender of a request, and its token.
#[derive(Clone, Debug)]
pub(crate) struct Requester {
    pub(crate) principal: Option<Principal>,
    pub(crate) access: Option<Arc<Access>>,
    pub(crate) credential: Option<Arc<Credential>>,
    pub(crate) account: Account,
}

/// The charge of a request until its handler has ended and its response is read. It is in the request's extensions.
#[derive(Clone, Debug)]
#[expect(dead_code, reason = "it is held, not read")]
struct RequestInFlight(Arc<(RequestCharge, Charge)>);

/// Returns a request for work that may go on after its answer: it does not count as a request under way.
pub(crate) fn without_charge(request: &RequestContext<RoleServer>) -> RequestContext<RoleServer> {
    let mut request = request.clone();
    if let Some(head) = request.extensions.get_mut::<Parts>() {
        head.extensions.remove::<RequestInFlight>();
    }
    request
}

impl Clients {
    pub(crate) fn new(options: &HttpOptions) -> Arc<Self> {
        Arc::new(Self {
            budget: options.budget.clone(),
            bodies: Arc::default(),
            verifier: options.verifier.clone(),
            tool_scopes: options.server.clone().map(ToolScopes::new),
            credentials: Credentials::default(),
            body: options.body.clone(),
            // A connection asks a silent stream for more at each keep-alive.
            unread: WRITE_TIMEOUT + options.keep_alive * 2,
            sweeping: AtomicBool::new(false),
        })
    }

    /// Finds the sender of a request.
    ///
    /// # Errors
    ///
    /// Returns the refusal of a sender without a valid token.
    pub(crate) async fn authenticate(self: &Arc<Self>, head: &mut Parts) -> Result<Requester, Box<Response>> {
        self.sweep();
        head.extensions.remove::<TokenRevocation>();
        head.extensions.remove::<ResponseReservation>();
        head.extensions.remove::<RequestInFlight>();
        let shown = self.verifier.authenticate(head).await?;
        let (principal, access, credential) = match shown {
            Some((holder, token)) => {
                let credential = self.credentials.of(&token, &holder);
                let revoked = credential.revoked().clone();
                head.extensions.insert(TokenRevocation { revoked, checked: credential.clone() });
                (Some(holder.principal), holder.access, Some(credential))
            }
            None => (None, None, None),
        };
        let account = self.budget.account(principal.as_ref());
        Ok(Requester { principal, access, credential, account })
    }

    /// Refuses a message that calls a tool whose scopes its sender lacks.
    pub(crate) fn refuse_tool(&self, client: &Requester, body: &[u8]) -> Option<Response> {
        let scopes = self.tool_scopes.as_ref().filter(|scopes| scopes.exist())?;
        self.verifier.check_tool(client.access.as_deref(), scopes, body).map(|refusal| *refusal)
    }

    /// Reads the body of a request, which is under way from now on.
    ///
    /// # Errors
    ///
    /// Returns the refusal if the client has too many requests under way, or if the body cannot be read.
    pub(crate) async fn receive(
        &self,
        client: &Requester,
        head: &mut Parts,
        body: Body,
    ) -> Result<Bytes, Box<Response>> {
        let Some(request) = client.account.begin_request() else {
            let text = "too many of your requests are not answered yet: wait for some of them, then try again";
            return Err(Box::new(refusal(StatusCode::SERVICE_UNAVAILABLE, text)));
        };
        let (bytes, charge) = self.body.read(body, &client.account).await?;
        head.extensions.insert(RequestInFlight(Arc::new((request, charge))));
        head.extensions.insert(ResponseReservation::new(client.account.clone()));
        Ok(bytes)
    }

    /// Sends a response on the account of the sender.
    pub(crate) fn send(
        &self,
        client: &Requester,
        reservation: Option<ResponseReservation>,
        running: Option<RunningRequest>,
        response: Response,
    ) -> Response {
        let revoked = client.credential.as_ref().map(|credential| credential.revoked().clone()).unwrap_or_default();
        let account = client.account.clone();
        self.bodies.send(response, ResponseContext { account, reservation, running, revoked })
    }

    /// Starts the search for unread answers and revoked tokens, once.
    fn sweep(self: &Arc<Self>) {
        if self.sweeping.swap(true, Ordering::Relaxed) {
            return;
        }
        self.repeat(|this| async move {
            let unread = this.bodies.give_up(this.unread);
            if unread > 0 {
                tracing::debug!(unread, "answers that nobody read were given up");
            }
        });
        if self.verifier.is_needed() {
            // In a task of its own: an authorization server that does not answer must not delay the other.
            self.repeat(|this| async move { _ = this.credentials.check(&this.verifier).await });
        }
    }

    /// Does `work` every [`SWEEP_EVERY`], as long as the server exists.
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
