//! The door to rmcp, for what this crate has no word for.
//!
//! Everything else in the crate has types of its own and stays as it is when rmcp changes; what is here changes with it.

pub use crate::http::unanswerable::{id_in_use, too_many_requests};
pub use crate::tasks::{NewTask, NoRoom, TaskEnd, TaskHandle, Tasks};
pub use rmcp;

use crate::context::Context;
use crate::handler::Handler;
use crate::http::{
    Account, Budget, Clients, Draining, HttpOptions, HttpService, Principal, RequestStream, Reservation, revocation,
};
use crate::server::Server;
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use std::time::Duration;

/// How long a large answer waits until its client has read enough of others.
const RESERVE_TIMEOUT: Duration = Duration::from_secs(10);

impl Server {
    /// The server as a handler of rmcp's, for one connection: to wrap it, or to serve it over a transport of rmcp's. Call
    /// [`Server::start`] before and [`Server::stop`] after serving it.
    pub fn into_handler(self) -> impl ServerHandler + Clone {
        Handler::new(self)
    }
}

impl HttpService {
    /// Serves handlers of rmcp's over HTTP, one for each session (each request, where there are none), made for its
    /// principal, with this crate's sessions, checks and limits. [`App::mount_handlers`](crate::App::mount_handlers) mounts them.
    pub fn from_handlers<H: ServerHandler>(
        make: impl Fn(Option<&Principal>) -> H + Send + Sync + 'static,
        options: &HttpOptions,
    ) -> Self {
        Self::new(make, options, Clients::new(options))
    }
}

impl HttpOptions {
    /// The tasks of handlers of rmcp's that are served: the server's end waits for those that run, and lets their clients
    /// ask for them meanwhile.
    #[must_use]
    pub fn tasks(mut self, tasks: &Tasks) -> Self {
        self.tasks = Some(tasks.clone());
        self
    }
}

impl Context {
    /// The request as rmcp knows it, with the peer to talk to.
    pub fn rmcp(&self) -> &RequestContext<RoleServer> {
        self.request()
    }
}

/// Whether a request is of a protocol without sessions (2026-07-28 and later).
pub fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    crate::context::is_modern(context)
}

/// Whether the client of a request takes a task for an answer: it has declared the extension, in a protocol that has it.
pub fn knows_tasks(context: &RequestContext<RoleServer>) -> bool {
    crate::context::knows_tasks(context)
}

/// Whose request it is, where bearer tokens say so.
pub fn principal(context: &RequestContext<RoleServer>) -> Option<&Principal> {
    crate::http::principal(context)
}

/// Refuses `logging/setLevel` over HTTP without sessions: the level would be forgotten with the request.
///
/// # Errors
///
/// Invalid request, where there is no session.
pub fn check_log_level_is_kept(context: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
    if !crate::http::is_stateless(context) {
        return Ok(());
    }
    let text = "This server keeps no sessions, so a log level would be forgotten with this request. Use protocol 2026-07-28, \
                where each request names its level, or a server with sessions.";
    Err(ErrorData::invalid_request(text, None))
}

/// Waits until a request should end though nobody cancelled it: its session over HTTP has ended, and with it everybody who
/// could hear its answer, or the token that was shown for it is not valid any more. Otherwise for ever.
pub async fn session_ended(context: &RequestContext<RoleServer>) {
    let ended = async {
        match context.extensions.get::<RequestStream>() {
            Some(stream) => stream.ended().cancelled().await,
            None => std::future::pending().await,
        }
    };
    let revoked = async {
        match revocation(context) {
            Some(token) => token.cancelled().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = ended => {}
        () = revoked => {}
    }
}

/// Waits up to ten seconds for room for an answer of about `bytes`, before the work for it is done: what clients have not read
/// is bounded. Requests on transports that bound nothing always have room.
///
/// # Errors
///
/// A text for the client when there is none.
pub async fn reserve_answer(context: &RequestContext<RoleServer>, bytes: usize) -> Result<(), String> {
    match Reservation::of(context) {
        Some(reservation) => reservation.reserve(bytes, RESERVE_TIMEOUT).await.map_err(|refused| refused.to_string()),
        None => Ok(()),
    }
}

/// Bounds the answers of one connection that its client has not read, for transports of one's own: 64 MiB. Over HTTP the crate
/// does that itself.
#[derive(Clone, Debug)]
pub struct AnswerBudget(Account);

/// The room that the answer to a request takes, until it is dropped: when the answer was written.
#[derive(Clone, Debug)]
pub struct AnswerRoom {
    _reservation: Reservation,
}

impl Default for AnswerBudget {
    fn default() -> Self {
        Self(Budget::default().account(None))
    }
}

impl AnswerBudget {
    /// Notes in a request's extensions that [`reserve_answer`] has to wait for room.
    pub fn enter(&self, extensions: &mut rmcp::model::Extensions) -> AnswerRoom {
        let reservation = Reservation::new(self.0.clone());
        extensions.insert(reservation.clone());
        AnswerRoom { _reservation: reservation }
    }
}

/// Tells a subscription over HTTP of the tasks that it named, as they go; returns when they have all ended.
pub async fn follow_tasks(tasks: &Tasks, context: &SubscriptionContext) {
    crate::tasks::follow(tasks, context).await;
}

/// Waits until the server that serves this request over HTTP begins to stop, for requests that would not end by themselves.
pub async fn draining(context: &RequestContext<RoleServer>) {
    Draining::of(context).await;
}
