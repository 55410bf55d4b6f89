//! The context of a request, which handlers see.

mod ask;
mod blocking;
mod client;
mod client_features;
mod current_request;
mod elicitation;
mod extension;
mod input_requests;
mod log;
mod reserve;
mod sampling;

pub use blocking::BlockingContext;
pub use elicitation::Elicitation;
pub use sampling::Sampling;

pub(crate) use input_requests::{InputRequests, RequestState};

use crate::auth::Access;
use crate::client_state::ClientState;
use crate::connection::Connection;
use crate::contents::ResourceContents;
use crate::error::Error;
use crate::http::request_extensions::{RequestStream, revocation};
use crate::principal::Principal;
use crate::sync::lock;
use crate::tasks::TaskHandle;
use current_request::CurrentRequest;
use futures::future::BoxFuture;
use rmcp::RoleServer;
use rmcp::model::{Implementation, ProtocolVersion};
use rmcp::service::RequestContext;
use serde_json::{Map, Value};
use std::any::{Any, TypeId};
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The request that a handler answers: its client, its server, and ways to reach both while the handler runs.
///
/// A parameter of this type is no argument:
///
/// ```
/// use brumate_mcp::{Context, Error, Server, tool};
///
/// /// Copies files.
/// #[tool]
/// async fn copy(files: Vec<String>, context: Context) -> Result<String, Error> {
///     let total = files.len();
///     for (done, file) in files.iter().enumerate() {
///         context.info(format!("copying {file}")).await;
///         context.progress(done as f64 + 1.0, Some(total as f64)).await;
///     }
///     Ok(format!("{total} files were copied"))
/// }
///
/// let server = Server::new("Files").tool(copy);
/// ```
///
/// A context is cheap to clone. It belongs to one request: after the answer, nothing that is sent through it arrives. A call that
/// [suspends](crate::Tool::suspends) has several requests: messages go to the client of the current one.
/// [`Context::meta`], [`Context::http`] and [`Context::request_id`] are of the first one.
#[derive(Clone)]
pub struct Context {
    inner: Arc<Inner>,
}

struct Inner {
    host: Arc<dyn ContextHost>,
    connection: Arc<Connection>,
    client: OnceLock<Arc<ClientState>>,
    /// The request that began the call.
    request: RequestContext<RoleServer>,
    current: CurrentRequest,
    /// Whether the handler runs on between the requests of the call.
    suspends: AtomicBool,
    /// Whether the protocol has no sessions (2026-07-28 and later).
    stateless: bool,
    progress: Mutex<f64>,
    input_requests: InputRequests,
    token: CancellationToken,
    task: BecomingTask,
}

/// The server of a context. [`Server`](crate::Server) implements it. This module does not know servers, because their
/// handlers know this module.
pub(crate) trait ContextHost: Any + Send + Sync {
    /// Returns the state of a type.
    fn state(&self, type_id: TypeId) -> Option<Arc<dyn Any + Send + Sync>>;

    /// Reads a resource.
    fn read<'a>(&'a self, uri: &'a str, context: Context) -> BoxFuture<'a, Result<Vec<ResourceContents>, Error>>;
}

/// The payload that a blocking handler unwinds with when its request has ended or waits for answers.
pub(crate) struct AbortPayload;

/// The task that a call is, or may become.
#[derive(Default)]
struct BecomingTask {
    task: OnceLock<TaskHandle>,
    /// Whether [`Context::detach`] makes a task of the call.
    possible: AtomicBool,
    wanted: Notify,
    decided: Notify,
    /// The status message, until there is a task that shows it.
    status: Mutex<Option<String>>,
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("request", &self.request_id()).finish_non_exhaustive()
    }
}

/// The name and version that the client says it has (`clientInfo`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientInfo {
    /// The name.
    pub name: String,
    /// The version.
    pub version: String,
}

/// A parameter with state of the server; see [`Server::state`](crate::Server::state) and
/// [`Server::lifespan`](crate::Server::lifespan).
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
        host: Arc<dyn ContextHost>,
        connection: Arc<Connection>,
        request: RequestContext<RoleServer>,
        input_requests: InputRequests,
    ) -> Self {
        let stateless = is_stateless_protocol(&request);
        let progress = Mutex::new(f64::NEG_INFINITY);
        // The end of a session cancels its requests at once, before the drain of rmcp is over. So does the revocation of a token.
        let session = request.extensions.get::<RequestStream>().map(RequestStream::ended);
        let session = session.or_else(|| revocation(&request).cloned());
        let token = session.map_or_else(CancellationToken::new, |session| session.child_token());
        let inner = Inner {
            host,
            connection,
            client: OnceLock::new(),
            request,
            current: CurrentRequest::default(),
            suspends: AtomicBool::new(false),
            stateless,
            progress,
            input_requests,
            token,
            task: BecomingTask::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Returns the task that the call has become.
    pub(crate) fn task(&self) -> Option<&TaskHandle> {
        self.inner.task.task.get()
    }

    /// Makes the call a task. It then ends with the task, not with its request.
    pub(crate) fn enter_task(&self, task: TaskHandle) {
        let status = self.show_status(&task);
        // A call has one task at most.
        let _ = self.inner.task.task.set(task);
        drop(status);
        self.inner.task.decided.notify_waiters();
        self.notify_current_changed();
    }

    /// Sets the status message of a task that the call is about to enter. The message cannot change while the guard
    /// lives.
    pub(crate) fn show_status(&self, task: &TaskHandle) -> MutexGuard<'_, Option<String>> {
        let mut status = lock(&self.inner.task.status);
        if let Some(status) = status.take() {
            task.set_status_message(status);
        }
        status
    }

    /// Sets the status message of the call's task, a text for people. If the call becomes a task later, its status begins with the
    /// last text.
    pub fn set_status_message(&self, message: impl Into<String>) {
        let mut status = lock(&self.inner.task.status);
        match self.task() {
            Some(task) => task.set_status_message(message),
            None if self.inner.task.possible.load(Ordering::SeqCst) => *status = Some(message.into()),
            None => {}
        }
    }

    /// Lets the handler run on between the requests of the call.
    pub(crate) fn set_suspends(&self) {
        self.inner.suspends.store(true, Ordering::SeqCst);
    }

    /// Returns whether the handler runs on between the requests of the call.
    pub(crate) fn suspends(&self) -> bool {
        self.inner.suspends.load(Ordering::SeqCst)
    }

    /// Sets whether [`Context::detach`] makes a task of the call.
    pub(crate) fn set_detachable(&self, possible: bool) {
        self.inner.task.possible.store(possible, Ordering::SeqCst);
        self.inner.task.decided.notify_waiters();
    }

    /// Waits until the handler calls [`Context::detach`].
    pub(crate) async fn detach_requested(&self) {
        self.inner.task.wanted.notified().await;
    }

    /// Returns whether the call is a task ([`Tool::tasks`](crate::Tool::tasks)). The client then sees input requests
    /// and progress in the task, and no log messages.
    pub fn is_task(&self) -> bool {
        self.task().is_some()
    }

    /// Makes a task of the call, if the tool [allows it](crate::Tool::detaches). The client is answered now, and input
    /// is requested through the task from now on. Returns whether the call is a task. It becomes no task if the client
    /// does not support tasks, or if there are too many. A handler that [runs on](crate::Tool::suspends) may call it as
    /// well.
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

    pub(crate) fn input_requests(&self) -> &InputRequests {
        &self.inner.input_requests
    }

    /// Returns whether the protocol of the request has no sessions (2026-07-28 and later).
    pub fn is_stateless_protocol(&self) -> bool {
        self.inner.stateless
    }

    /// Returns the request's JSON-RPC id, as text.
    pub fn request_id(&self) -> String {
        self.inner.request.id.to_string()
    }

    /// Returns the protocol version of the request, such as `2026-07-28`.
    pub fn protocol_version(&self) -> String {
        self.inner.request.protocol_version().unwrap_or(ProtocolVersion::V_2025_03_26).to_string()
    }

    /// Returns the client's name and version, if the client sends them.
    pub fn client(&self) -> Option<ClientInfo> {
        let Implementation { name, version, .. } = self.inner.request.client_info()?;
        Some(ClientInfo { name, version })
    }

    /// Returns the request's `_meta`.
    pub fn meta(&self) -> &Map<String, Value> {
        &self.inner.request.meta.0.0
    }

    /// Returns the head of the HTTP request. Its extensions have the values that tower layers put there. `None` on
    /// other transports.
    pub fn http(&self) -> Option<&http::request::Parts> {
        self.inner.request.extensions.get()
    }

    /// Returns the principal that sends the request: from its access token
    /// ([`HttpOptions::protect`](crate::HttpOptions::protect)) or bearer token
    /// ([`HttpOptions::bearer`](crate::HttpOptions::bearer)). `None` where no token is needed.
    pub fn principal(&self) -> Option<&Principal> {
        self.http()?.extensions.get()
    }

    /// Returns the access that the client's token grants ([`HttpOptions::protect`](crate::HttpOptions::protect));
    /// `None` where no access token is needed. The token itself is not shown.
    pub fn access(&self) -> Option<&Access> {
        self.http()?.extensions.get::<Arc<Access>>().map(|access| &**access)
    }

    /// Returns the server, as this module knows it.
    pub(crate) fn host(&self) -> &(dyn ContextHost + 'static) {
        &*self.inner.host
    }

    /// Returns the server's state of type `T`.
    ///
    /// # Errors
    ///
    /// Returns an error if neither [`Server::state`](crate::Server::state) nor a
    /// [`Server::lifespan`](crate::Server::lifespan) gave state of this type.
    pub fn state<T: Send + Sync + 'static>(&self) -> Result<State<T>, Error> {
        let found = self.inner.host.state(TypeId::of::<T>()).and_then(|state| state.downcast().ok());
        found.map(State).ok_or_else(|| {
            let wanted = std::any::type_name::<T>();
            Error::new(format!(
                "the server has no state of type {wanted}: give it with Server::state or Server::lifespan"
            ))
        })
    }

    /// Returns a token that fires when the client cancels the request or goes away. An asynchronous handler is dropped
    /// then, at its next await; the token is for work that it has started elsewhere. The handler of a call that
    /// [suspends](crate::Tool::suspends) is not dropped: it watches the token.
    pub fn cancellation(&self) -> CancellationToken {
        self.inner.token.clone()
    }

    /// Ends the connection on which the client waits for the answer, in a session before 2026-07-28. The client comes
    /// back for the answer. Use it for calls that take longer than connections should. Elsewhere it does nothing.
    pub fn release_connection(&self) {
        let stream = self.with_current(|request| request.extensions.get::<RequestStream>().cloned());
        if let Some(stream) = stream.flatten() {
            stream.release();
        }
    }

    /// Waits for a future in a blocking handler. [`Context::blocking`] does so for the methods of this context. If the
    /// request is cancelled meanwhile, the handler ends here by unwinding.
    ///
    /// # Panics
    ///
    /// Panics in asynchronous handlers, which can await.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let done = tokio::runtime::Handle::current().block_on(async {
            tokio::select! {
                biased;
                output = future => Some(output),
                // A handler that runs on waits for the answer here.
                () = self.inner.input_requests.asked(), if !self.suspends() => None,
                () = self.cancelled() => None,
            }
        });
        // Nobody waits for this thread. Unwinding runs no panic hook.
        done.unwrap_or_else(|| std::panic::resume_unwind(Box::new(AbortPayload)))
    }

    /// Reports progress: `done` of `total`, in any unit. Nothing is sent if the client did not ask for progress, or if
    /// `done` has not grown since the last report.
    pub async fn progress(&self, done: f64, total: Option<f64>) {
        self.report(done, total, None).await;
    }

    /// Reports progress like [`Context::progress`], with a text about the current step.
    pub async fn progress_message(&self, done: f64, total: Option<f64>, message: impl Into<String>) {
        self.report(done, total, Some(message.into())).await;
    }

    /// Reads a resource of this server, as a client would.
    ///
    /// # Errors
    ///
    /// Returns "not found" if there is no such resource, or the error of its handler.
    pub async fn read_resource(&self, uri: &str) -> Result<Vec<ResourceContents>, Error> {
        self.inner.host.read(uri, self.clone()).await
    }
}

/// Returns whether the client of a request accepts a task as an answer: it has declared the extension, and the protocol
/// has it.
pub(crate) fn supports_tasks(request: &RequestContext<RoleServer>) -> bool {
    is_stateless_protocol(request)
        && request.client_capabilities().is_some_and(|capabilities| capabilities.supports_tasks())
}

/// Returns whether a request is of a protocol without sessions (2026-07-28 and later).
pub(crate) fn is_stateless_protocol(request: &RequestContext<RoleServer>) -> bool {
    request.protocol_version().is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}
