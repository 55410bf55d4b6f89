//! Access to rmcp, for what this crate has no type for.
//!
//! The rest of the crate has types of its own and does not change when rmcp changes. This module changes with rmcp.

pub use crate::exact_arguments::ExactArguments;
pub use crate::stdio::{StreamOptions, serve_streams};
pub use crate::suspended_calls::{CallDigest, ResumeResult, SuspendedCalls};
pub use crate::tasks::{TaskHandle, TaskOutcome, TaskReservation, Tasks, TooManyTasks};
pub use rmcp;

use crate::contents::ResourceContents;
use crate::context::Context;
use crate::error::Error;
use crate::handler::LayeredHandler;
use crate::http::{Account, Budget, Clients, DrainSignal, HttpOptions, HttpService, ResponseReservation};
use crate::principal::Principal;
use crate::resource::Resource;
use crate::result::ToolResult;
use crate::server::Server;
use crate::tool::Tool;
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler, model};

impl Server {
    /// Makes a handler of rmcp for one connection, to wrap it or to serve it over a transport of rmcp. Call
    /// [`Server::start`] before and [`Server::stop`] after serving it.
    pub fn into_handler(self) -> impl ServerHandler + Clone {
        LayeredHandler::new(self)
    }
}

impl HttpService {
    /// Serves handlers of rmcp over HTTP, with this crate's sessions, checks and limits. `make` makes one for each
    /// session, or for each request where there are no sessions, and gets its principal.
    /// [`App::mount_handlers`](crate::App::mount_handlers) mounts them.
    pub fn from_handlers<H: ServerHandler>(
        make: impl Fn(Option<&Principal>) -> H + Send + Sync + 'static,
        options: &HttpOptions,
    ) -> Self {
        Self::new(make, options, Clients::new(options))
    }
}

impl HttpOptions {
    /// Sets the tasks of the handlers of rmcp that are served. The end of the server waits for running tasks, and lets
    /// their clients fetch the results.
    #[must_use]
    pub fn tasks(mut self, tasks: &Tasks) -> Self {
        self.tasks = Some(tasks.clone());
        self
    }
}

impl Context {
    /// Returns the request as rmcp has it, with the peer.
    pub fn rmcp(&self) -> &RequestContext<RoleServer> {
        self.request()
    }
}

impl Tool {
    /// Returns the tool as `tools/list` has it, without its handler.
    ///
    /// # Errors
    ///
    /// Returns an error if rmcp has no form for a part of it.
    pub fn to_rmcp(&self) -> Result<model::Tool, Error> {
        Ok(serde_json::from_value(self.descriptor())?)
    }
}

impl ToolResult {
    /// Returns the result as rmcp has it.
    pub fn into_rmcp(self) -> model::CallToolResult {
        self.into_wire()
    }

    /// Makes the result of a call that failed with `error`: its text for the model.
    ///
    /// # Errors
    ///
    /// Returns the error as rmcp has it, if it is a JSON-RPC error even from a tool ([`Error::protocol`]).
    pub fn from_error(error: &Error) -> Result<Self, ErrorData> {
        error.as_protocol().map_or_else(|| Ok(Self::error(error.message())), Err)
    }
}

impl Resource {
    /// Returns the resource as `resources/list` has it, without its handler.
    ///
    /// # Errors
    ///
    /// Returns an error if it is a template, or rmcp has no form for a part of it.
    pub fn to_rmcp(&self) -> Result<model::Resource, Error> {
        Ok(serde_json::from_value(self.descriptor())?)
    }

    /// Returns the template as `resources/templates/list` has it, without its handler.
    ///
    /// # Errors
    ///
    /// Returns an error if it is no template, or rmcp has no form for a part of it.
    pub fn to_rmcp_template(&self) -> Result<model::ResourceTemplate, Error> {
        Ok(serde_json::from_value(self.descriptor())?)
    }
}

impl ResourceContents {
    /// Returns the contents as rmcp has them.
    pub fn into_rmcp(self) -> model::ResourceContents {
        self.into_wire()
    }
}

impl Error {
    /// Returns the error as rmcp has it: a JSON-RPC error.
    pub fn into_rmcp(self) -> ErrorData {
        self.into_wire()
    }
}

/// Returns whether a request is of a protocol without sessions (2026-07-28 and later).
pub fn is_stateless_protocol(context: &RequestContext<RoleServer>) -> bool {
    crate::context::is_stateless_protocol(context)
}

/// Returns whether the client of a request accepts a task as an answer: it has declared the extension, in a protocol
/// that has it.
pub fn supports_tasks(context: &RequestContext<RoleServer>) -> bool {
    crate::context::supports_tasks(context)
}

/// Returns the principal that sends a request; `None` if requests need no token.
pub fn principal(context: &RequestContext<RoleServer>) -> Option<&Principal> {
    crate::http::request_extensions::principal(context)
}

/// Returns the exact arguments of a call; `None` if rmcp's arguments are exact. rmcp rounds integers of more than 64 bits.
pub fn exact_arguments(context: &RequestContext<RoleServer>) -> Option<&ExactArguments> {
    crate::http::request_extensions::exact_arguments(context)
}

/// Refuses `logging/setLevel` over HTTP without sessions: the level would be forgotten with the request.
///
/// # Errors
///
/// Returns "invalid request" where there is no session.
pub fn require_session_for_log_level(context: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
    crate::http::request_extensions::require_session_for_log_level(context)
}

/// Waits until a request should end although nobody cancelled it: its session over HTTP has ended, or its token is not
/// valid any more. On other transports it never returns.
pub async fn wait_for_session_end(context: &RequestContext<RoleServer>) {
    crate::http::request_extensions::session_end(context).await;
}

/// Does what [`Context::reserve_response`] does, for handlers of rmcp.
///
/// # Errors
///
/// Returns a text for the client if there is no room.
pub async fn reserve_response(context: &RequestContext<RoleServer>, bytes: usize) -> Result<(), String> {
    ResponseReservation::reserve_for(context, bytes).await.map_err(|refused| refused.to_string())
}

/// Bounds the answers of one connection that its client has not read, for transports of your own: 64 MiB. Over HTTP the
/// crate does it itself.
#[derive(Clone, Debug)]
pub struct ResponseBudget(Account);

/// The room of the answer to a request. Drop it when the answer was written.
#[derive(Clone, Debug)]
pub struct ResponseRoom {
    _reservation: ResponseReservation,
}

impl Default for ResponseBudget {
    fn default() -> Self {
        Self(Budget::default().account(None))
    }
}

impl ResponseBudget {
    /// Notes in a request's extensions that [`reserve_response`] has to wait for room.
    pub fn enter(&self, extensions: &mut rmcp::model::Extensions) -> ResponseRoom {
        let reservation = ResponseReservation::new(self.0.clone());
        extensions.insert(reservation.clone());
        ResponseRoom { _reservation: reservation }
    }
}

/// Sends the states of the tasks that a subscription over HTTP has named. Returns when all of them have ended.
pub async fn follow_tasks(tasks: &Tasks, context: &SubscriptionContext) {
    crate::tasks::follow(tasks, context).await;
}

/// Waits until the HTTP server of a request begins to stop. Requests that would not end by themselves use it.
pub async fn wait_for_drain(context: &RequestContext<RoleServer>) {
    DrainSignal::of(context).await;
}
