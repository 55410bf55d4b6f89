//! What a handler sees of the request it answers.

mod ask;
mod blocking;
mod log;

pub use blocking::BlockingContext;

pub use ask::{Elicitation, Sampling};

pub(crate) use ask::{Known, Questions};

use crate::auth::Access;
use crate::connection::Connection;
use crate::contents::ResourceContents;
use crate::error::Error;
use crate::http::{Principal, RequestStream, revocation};
use crate::server::Server;
use crate::tasks::TaskHandle;
use rmcp::RoleServer;
use rmcp::model::{Implementation, ProtocolVersion, RequestId};
use rmcp::service::RequestContext;
use serde_json::{Map, Value};
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The request that a handler answers: its client, its server, and ways to talk to both while it runs.
///
/// Cheap to clone, and made for one request: after its answer nothing sent through it arrives.
#[derive(Clone)]
pub struct Context {
    inner: Arc<Inner>,
}

struct Inner {
    server: Server,
    connection: Arc<Connection>,
    request: RequestContext<RoleServer>,
    modern: bool,
    progress: Mutex<f64>,
    questions: Questions,
    token: CancellationToken,
    task: BecomingTask,
}

/// The task that a call is, or may become.
#[derive(Default)]
struct BecomingTask {
    task: OnceLock<TaskHandle>,
    /// The handler may say when.
    possible: AtomicBool,
    wanted: Notify,
    decided: Notify,
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("request", &self.request_id()).finish_non_exhaustive()
    }
}

/// The client's name for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientInfo {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// State that lives as long as the server, as a parameter of a handler; see [`Server::state`] and
/// [`Server::lifespan`].
#[derive(Debug)]
pub struct State<T>(
    /// The state.
    pub Arc<T>,
);

impl<T> Deref for State<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Clone for State<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl Context {
    pub(crate) fn new(
        server: Server,
        connection: Arc<Connection>,
        request: RequestContext<RoleServer>,
        questions: Questions,
    ) -> Self {
        let modern = is_modern(&request);
        let progress = Mutex::new(f64::NEG_INFINITY);
        // A session that ends takes its requests with it at once, not when rmcp's drain is over; so does a token that is revoked.
        let session = request.extensions.get::<RequestStream>().map(RequestStream::ended);
        let session = session.or_else(|| revocation(&request).cloned());
        let token = session.map_or_else(CancellationToken::new, |session| session.child_token());
        let task = BecomingTask::default();
        Self { inner: Arc::new(Inner { server, connection, request, modern, progress, questions, token, task }) }
    }

    /// The task that the call has become.
    pub(crate) fn task(&self) -> Option<&TaskHandle> {
        self.inner.task.task.get()
    }

    /// From now on the call is a task, which ends when that does and not with its request.
    pub(crate) fn enter_task(&self, task: TaskHandle) {
        // There is one task for a call at most.
        let _ = self.inner.task.task.set(task);
        self.inner.task.decided.notify_waiters();
    }

    /// Whether [`Context::detach`] makes a task of the call.
    pub(crate) fn set_detachable(&self, possible: bool) {
        self.inner.task.possible.store(possible, Ordering::SeqCst);
        self.inner.task.decided.notify_waiters();
    }

    /// Waits until the handler wants the call to be a task.
    pub(crate) async fn detaching(&self) {
        self.inner.task.wanted.notified().await;
    }

    /// Whether the call is a task ([`Tool::tasks`](crate::Tool::tasks)): its questions are asked through it, its progress is
    /// seen there, and what it logs is heard by nobody.
    pub fn is_task(&self) -> bool {
        self.task().is_some()
    }

    /// Makes a task of the call, where the tool [says when](crate::Tool::detaches): the client is answered now, and what it is
    /// asked from here on it is asked through the task. Whether the call is a task now; it is none for clients that do not
    /// know tasks, nor when there are too many.
    pub async fn detach(&self) -> bool {
        let becoming = &self.inner.task;
        if becoming.possible.load(Ordering::SeqCst) {
            becoming.wanted.notify_one();
        }
        loop {
            let decided = becoming.decided.notified();
            if self.is_task() || !becoming.possible.load(Ordering::SeqCst) {
                return self.is_task();
            }
            decided.await;
        }
    }

    pub(crate) fn request(&self) -> &RequestContext<RoleServer> {
        &self.inner.request
    }

    pub(crate) fn questions(&self) -> &Questions {
        &self.inner.questions
    }

    pub(crate) fn is_modern(&self) -> bool {
        self.inner.modern
    }

    /// The request's JSON-RPC id, as text.
    pub fn request_id(&self) -> String {
        match &self.inner.request.id {
            RequestId::Number(id) => id.to_string(),
            RequestId::String(id) => id.to_string(),
        }
    }

    /// The protocol version spoken, such as `2026-07-28`.
    pub fn protocol_version(&self) -> String {
        self.inner.request.protocol_version().unwrap_or(ProtocolVersion::V_2025_03_26).to_string()
    }

    /// Who asks, if the client says.
    pub fn client(&self) -> Option<ClientInfo> {
        let Implementation { name, version, .. } = self.inner.request.client_info()?;
        Some(ClientInfo { name, version })
    }

    /// The request's `_meta`.
    pub fn meta(&self) -> &Map<String, Value> {
        &self.inner.request.meta.0.0
    }

    /// The head of the HTTP request, with what layers put into its extensions; nothing over stdio.
    pub fn http(&self) -> Option<&http::request::Parts> {
        self.inner.request.extensions.get()
    }

    /// Whose request it is, where bearer tokens say so ([`HttpOptions::bearer`](crate::HttpOptions::bearer)).
    pub fn principal(&self) -> Option<&Principal> {
        self.http()?.extensions.get()
    }

    /// Returns what the client's access token grants ([`HttpOptions::protect`](crate::HttpOptions::protect)); `None` where there are
    /// no such tokens. The token itself is not shown.
    pub fn access(&self) -> Option<&Access> {
        self.http()?.extensions.get::<Arc<Access>>().map(|access| &**access)
    }

    /// The server, to register or remove something, or to tell its clients of changes.
    pub fn server(&self) -> &Server {
        &self.inner.server
    }

    /// State of type `T`.
    ///
    /// # Errors
    ///
    /// There is none: neither [`Server::state`] nor a [`Server::lifespan`] gave one of this type.
    pub fn state<T: Send + Sync + 'static>(&self) -> Result<State<T>, Error> {
        self.inner.server.find_state().map(State).ok_or_else(|| {
            let wanted = std::any::type_name::<T>();
            Error::new(format!(
                "the server has no state of type {wanted}: give it with Server::state or Server::lifespan"
            ))
        })
    }

    /// Fires when the client cancels the request or goes away. An asynchronous handler is dropped then, at its next
    /// await; the token is for what it has started elsewhere.
    pub fn cancellation(&self) -> CancellationToken {
        self.inner.token.clone()
    }

    /// Waits until the request is cancelled, by the client or by the end of its session, and fires the token.
    pub(crate) async fn cancelled(&self) {
        let request = async {
            self.inner.request.ct.cancelled().await;
            if self.is_task() {
                // A task outlives its request.
                std::future::pending::<()>().await;
            }
        };
        let task = async {
            match self.task() {
                Some(task) => task.cancellation().cancelled().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = request => self.inner.token.cancel(),
            () = task => self.inner.token.cancel(),
            () = self.inner.token.cancelled() => {}
        }
    }

    /// Ends the connection over which the client waits for this answer, in a session before 2026-07-28: it comes back
    /// for it later. For calls that take longer than connections should. Elsewhere nothing happens.
    pub fn release_connection(&self) {
        if let Some(stream) = self.inner.request.extensions.get::<RequestStream>() {
            stream.release();
        }
    }

    /// Whether the request is cancelled, for blocking handlers to look at.
    pub fn is_cancelled(&self) -> bool {
        let ended = match self.task() {
            Some(task) => task.cancellation().is_cancelled(),
            None => self.inner.request.ct.is_cancelled(),
        };
        ended || self.inner.token.is_cancelled()
    }

    /// Waits in a blocking handler for something asynchronous; [`Context::blocking`] does so for this context's methods. If the
    /// request is cancelled meanwhile, the handler ends here, unwinding.
    ///
    /// # Panics
    ///
    /// In asynchronous handlers, which can await.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let done = tokio::runtime::Handle::current().block_on(async {
            tokio::select! {
                biased;
                output = future => Some(output),
                () = self.inner.questions.asked() => None,
                () = self.cancelled() => None,
            }
        });
        // Nobody waits for this thread any more; unwinding runs no panic hook.
        done.unwrap_or_else(|| std::panic::resume_unwind(Box::new(crate::run::Unwound)))
    }

    /// Reports progress: `done` of `total`, in any unit. Nothing happens if the client did not ask for it, or if there is
    /// no progress since the last report.
    pub async fn progress(&self, done: f64, total: Option<f64>) {
        self.report(done, total, None).await;
    }

    /// As [`Context::progress`], with a line about what is being done.
    pub async fn progress_message(&self, done: f64, total: Option<f64>, message: impl Into<String>) {
        self.report(done, total, Some(message.into())).await;
    }

    /// Reads a resource of this server, as a client would.
    ///
    /// # Errors
    ///
    /// There is no such resource, or its handler fails.
    pub async fn read_resource(&self, uri: &str) -> Result<Vec<ResourceContents>, Error> {
        // Boxed: a resource's handler may read another one.
        Box::pin(self.inner.server.read(uri, self.clone())).await.map(|(contents, _)| contents)
    }
}

/// Whether the client of a request takes a task for an answer.
pub(crate) fn knows_tasks(request: &RequestContext<RoleServer>) -> bool {
    is_modern(request) && request.client_capabilities().is_some_and(|capabilities| capabilities.supports_tasks())
}

/// Whether the request is of a protocol without sessions (2026-07-28 and later).
pub(crate) fn is_modern(request: &RequestContext<RoleServer>) -> bool {
    request.protocol_version().is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}
