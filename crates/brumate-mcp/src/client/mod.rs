//! Clients of MCP servers.
//!
//! ```no_run
//! use brumate_mcp::Client;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::stdio("python", ["server.py"]).connect().await?;
//! for tool in client.tools().await? {
//!     println!("{}: {}", tool.display_name(), tool.description.as_deref().unwrap_or_default());
//! }
//! let sum: i64 = client.call("add").arg("a", 1).arg("b", 2).await?.parse()?;
//! # Ok(())
//! # }
//! ```
//!
//! A [`Client`] is made by what it connects to ([`Client::stdio`], [`Client::http`], [`Client::sse`], [`Client::streams`],
//! [`Client::in_process`]), set up with callbacks for what servers ask and say, and [connected](ClientBuilder::connect). It finds out which
//! protocol the server speaks, from 2024-11-05 to 2026-07-28; what a program does with it is the same in all.
//!
//! Servers may be hostile: a message is 16 MiB at most, a list [`MAX_ITEMS`] items on [`MAX_PAGES`] pages, and
//! [`MAX_OPEN_QUESTIONS`] questions are answered at a time. A client gives a child process no variables of its own but
//! [`INHERITED`].

#[cfg(feature = "auth")]
mod auth;
mod builder;
mod call;
mod callbacks;
mod child;
mod config;
mod error;
mod group;
#[cfg(feature = "client-http")]
mod http;
mod incoming;
mod info;
mod lists;
mod questions;
mod request;
#[cfg(feature = "client-http")]
mod sse;
mod subscription;
mod task;
mod tools;

#[cfg(feature = "auth")]
pub use auth::{
    AuthError, Authorization, Bearer, ClientCredentials, FileTokens, MemoryTokens, OAuth, Registered, Secret,
    SigningAlgorithm, StoredTokens, TokenStore, TokenStoreError,
};
#[cfg(feature = "client-http")]
pub use builder::HttpTarget;
#[cfg(feature = "server")]
pub use builder::ServerTarget;
#[cfg(feature = "client-http")]
pub use builder::SseTarget;
pub use builder::{ClientBuilder, Protocol, StdioTarget, StreamTarget, Target};
pub use call::{Call, CallResult, TaskOr};
pub use callbacks::{Change, LogMessage, MAX_LOG_MESSAGES, MAX_OPEN_QUESTIONS, Progress};
pub use child::INHERITED;
pub use config::{ConfigError, ServerConfig, read_config};
pub use error::ClientError;
pub use group::{ClientGroup, GroupTool, Member};
pub use info::{PromptArgumentInfo, PromptInfo, ResourceInfo, ServerInfo, TemplateInfo, ToolInfo};
pub use lists::{MAX_ITEMS, MAX_PAGES};
pub use questions::{FormRequest, SamplingRequest, UrlRequest};
pub use request::MAX_ROUNDS;
pub use subscription::Changes;
pub use task::{Task, TaskStatus};

use crate::contents::ResourceContents;
use crate::level::Level;
use crate::message::Message;
use callbacks::lock;
use futures::future::BoxFuture;
use request::{Options, Requests, Rounds};
use rmcp::model as wire;
use rmcp::model::{ClientRequest, ServerResult};
use rmcp::service::RunningServiceCancellationToken;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A connection to an MCP server. Clones are the same connection, which ends with the last of them.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    requests: Requests,
    server: ServerInfo,
    protocol_version: String,
    instructions: Option<String>,
    capabilities: Map<String, Value>,
    is_modern: bool,
    timeout: Option<Duration>,
    log_level: Option<Level>,
    tools: tools::KnownTools,
    stop: Mutex<Option<RunningServiceCancellationToken>>,
    closed: CancellationToken,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("server", &self.inner.server.name).finish_non_exhaustive()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(stop) = lock(&self.stop).take() {
            stop.cancel();
        }
    }
}

/// The messages of a prompt.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PromptMessages {
    /// A description.
    pub description: Option<String>,
    /// The messages.
    pub messages: Vec<Message>,
}

impl PromptMessages {
    /// Returns what the protocol has for it.
    pub fn to_json(&self) -> Value {
        let messages: Vec<wire::PromptMessage> = self.messages.iter().cloned().map(Message::into_wire).collect();
        let mut result = serde_json::json!({"messages": messages});
        if let Some(description) = &self.description {
            result["description"] = description.as_str().into();
        }
        result
    }
}

/// Suggestions for an argument.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Suggestions {
    /// The suggestions, best first; a hundred at most.
    pub values: Vec<String>,
    /// How many there are in all, if the server says so.
    pub total: Option<u32>,
    /// Whether there are more.
    pub has_more: bool,
}

/// What an argument belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ref {
    /// The prompt with this name.
    Prompt(String),
    /// The template of resources with this address.
    Template(String),
}

impl Ref {
    /// The prompt with this name.
    pub fn prompt(name: impl Into<String>) -> Self {
        Self::Prompt(name.into())
    }

    /// The template of resources with this address.
    pub fn template(uri: impl Into<String>) -> Self {
        Self::Template(uri.into())
    }
}

impl Client {
    /// Returns the server's name for itself.
    pub fn server_info(&self) -> &ServerInfo {
        &self.inner.server
    }

    /// Returns the version of the protocol that is spoken, such as `2026-07-28`.
    pub fn protocol_version(&self) -> &str {
        &self.inner.protocol_version
    }

    /// Returns how to use the server, for the model.
    pub fn instructions(&self) -> Option<&str> {
        self.inner.instructions.as_deref()
    }

    /// Returns what the server can do, as the protocol has it: `tools`, `resources`, `prompts`, `completions`, `logging`, `extensions`.
    pub fn capabilities(&self) -> &Map<String, Value> {
        &self.inner.capabilities
    }

    /// Calls a tool.
    pub fn call(&self, tool: impl Into<String>) -> Call {
        Call::new(self.clone(), tool.into())
    }

    /// Reads a resource.
    ///
    /// # Errors
    ///
    /// There is none at this address, or the request fails.
    pub async fn read(&self, uri: impl Into<String>) -> Result<Vec<ResourceContents>, ClientError> {
        let requests = &self.inner.requests;
        let mut params = wire::ReadResourceRequestParams::new(uri.into());
        let work = async {
            let mut rounds = Rounds::new(requests.max_rounds);
            loop {
                let request = wire::ReadResourceRequest::new(params.clone());
                match requests.send(ClientRequest::ReadResourceRequest(request), &self.options()).await? {
                    ServerResult::ReadResourceResult(result) => {
                        let read = result.contents.into_iter().map(ResourceContents::from_wire);
                        return read.collect::<Result<_, _>>().map_err(ClientError::InvalidResult);
                    }
                    ServerResult::InputRequiredResult(result) => {
                        (params.input_responses, params.request_state) = rounds.next(requests, result.into()).await?;
                    }
                    other => return Err(unexpected("resources/read", &other)),
                }
            }
        };
        with_timeout(self.inner.timeout, work).await
    }

    /// Asks for a prompt; `.await` sends the request.
    pub fn prompt(&self, name: impl Into<String>) -> PromptCall {
        PromptCall { client: self.clone(), name: name.into(), arguments: Map::new() }
    }

    /// Asks for suggestions for the argument `name` of `of`, of which `typed` has been typed.
    ///
    /// # Errors
    ///
    /// The request fails.
    pub async fn complete(
        &self,
        of: Ref,
        name: impl Into<String>,
        typed: impl Into<String>,
    ) -> Result<Suggestions, ClientError> {
        self.complete_with(of, name, typed, BTreeMap::new()).await
    }

    /// As [`Client::complete`], with the values of other arguments that are known.
    ///
    /// # Errors
    ///
    /// Those of [`Client::complete`].
    pub async fn complete_with(
        &self,
        of: Ref,
        name: impl Into<String>,
        typed: impl Into<String>,
        known: BTreeMap<String, String>,
    ) -> Result<Suggestions, ClientError> {
        let of = match of {
            Ref::Prompt(name) => wire::Reference::for_prompt(name),
            Ref::Template(uri) => wire::Reference::for_resource(uri),
        };
        let mut params = wire::CompleteRequestParams::new(of, wire::ArgumentInfo::new(name, typed));
        if !known.is_empty() {
            params.context = Some(wire::CompletionContext::with_arguments(known.into_iter().collect()));
        }
        let request = ClientRequest::CompleteRequest(wire::CompleteRequest::new(params));
        match self.send("completion/complete", request).await? {
            ServerResult::CompleteResult(result) => {
                let wire::CompletionInfo { values, total, has_more, .. } = result.completion;
                Ok(Suggestions { values, total, has_more: has_more.unwrap_or(false) })
            }
            other => Err(unexpected("completion/complete", &other)),
        }
    }

    /// Sets how much log messages have to matter to be sent. Before 2026-07-28 that holds for the session, since then for the requests
    /// of clients made with [`ClientBuilder::log_level`].
    ///
    /// # Errors
    ///
    /// The server has no log, or the request fails.
    #[expect(deprecated, reason = "logging, which the protocol keeps until July 2027 at least")]
    pub async fn set_log_level(&self, level: Level) -> Result<(), ClientError> {
        let request = wire::SetLevelRequest::new(wire::SetLevelRequestParams::new(level.into_wire()));
        self.acknowledged("logging/setLevel", ClientRequest::SetLevelRequest(request)).await
    }

    /// Waits for a sign of life of the server.
    ///
    /// # Errors
    ///
    /// There is none.
    pub async fn ping(&self) -> Result<(), ClientError> {
        if self.inner.is_modern {
            // That protocol has no ping; every server answers this.
            let request = wire::DiscoverRequest::new(wire::DiscoverRequestParams {});
            return self.send("server/discover", ClientRequest::DiscoverRequest(request)).await.map(drop);
        }
        self.acknowledged("ping", ClientRequest::PingRequest(wire::PingRequest::default())).await
    }

    /// Tells the server that the client's roots have changed.
    ///
    /// # Errors
    ///
    /// The connection is closed.
    pub async fn notify_roots_changed(&self) -> Result<(), ClientError> {
        self.inner.requests.peer.notify_roots_list_changed().await.map_err(ClientError::of_service)
    }

    /// Ends the connection, and waits until it has ended. A child process is given two seconds to end by itself and two more after
    /// SIGTERM.
    pub async fn close(&self) {
        if let Some(stop) = lock(&self.inner.stop).take() {
            stop.cancel();
        }
        self.inner.closed.cancelled().await;
    }

    /// Waits until the connection has ended, from whichever side.
    pub async fn closed(&self) {
        self.inner.closed.cancelled().await;
    }

    /// Returns whether the connection has ended.
    pub fn is_closed(&self) -> bool {
        self.inner.closed.is_cancelled()
    }

    /// Returns how often the list of tools has changed.
    fn tools_changed(&self) -> u64 {
        self.inner.requests.callbacks.tools_changed()
    }

    /// Fires when the connection has ended; does not keep it.
    fn closed_token(&self) -> CancellationToken {
        self.inner.closed.clone()
    }

    /// What requests are sent with, unless they say otherwise.
    fn options(&self) -> Options {
        let mut options = Options::default();
        if let Some(level) = self.inner.log_level.filter(|_| self.inner.is_modern) {
            options.meta.set_log_level(level.into_wire());
        }
        options
    }

    /// Sends a request whose answer has no rounds.
    async fn send(&self, _method: &str, request: ClientRequest) -> Result<ServerResult, ClientError> {
        with_timeout(self.inner.timeout, self.inner.requests.send(request, &self.options())).await
    }

    /// Sends a request whose answer says nothing.
    async fn acknowledged(&self, method: &str, request: ClientRequest) -> Result<(), ClientError> {
        match self.send(method, request).await? {
            ServerResult::EmptyResult(_) | ServerResult::TaskAckResult(_) => Ok(()),
            other => Err(unexpected(method, &other)),
        }
    }
}

/// A request for a prompt; `.await` sends it.
#[derive(Debug)]
#[must_use = "a request is sent when it is awaited"]
pub struct PromptCall {
    client: Client,
    name: String,
    arguments: Map<String, Value>,
}

impl PromptCall {
    /// Sets an argument.
    pub fn arg(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.arguments.insert(name.into(), Value::String(value.into()));
        self
    }

    async fn run(self) -> Result<PromptMessages, ClientError> {
        let client = &self.client;
        let requests = &client.inner.requests;
        let mut params = wire::GetPromptRequestParams::new(self.name);
        params.arguments = (!self.arguments.is_empty()).then_some(self.arguments);
        let mut rounds = Rounds::new(requests.max_rounds);
        loop {
            let request = wire::GetPromptRequest::new(params.clone());
            match requests.send(ClientRequest::GetPromptRequest(request), &client.options()).await? {
                ServerResult::GetPromptResult(result) => {
                    let messages = result.messages.into_iter().map(Message::from_wire).collect();
                    return Ok(PromptMessages { description: result.description, messages });
                }
                ServerResult::InputRequiredResult(result) => {
                    (params.input_responses, params.request_state) = rounds.next(requests, result.into()).await?;
                }
                other => return Err(unexpected("prompts/get", &other)),
            }
        }
    }
}

impl IntoFuture for PromptCall {
    type Output = Result<PromptMessages, ClientError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let timeout = self.client.inner.timeout;
        Box::pin(async move { with_timeout(timeout, self.run()).await })
    }
}

/// Waits for `work`, but no longer than `timeout`.
async fn with_timeout<T>(
    timeout: Option<Duration>,
    work: impl Future<Output = Result<T, ClientError>>,
) -> Result<T, ClientError> {
    match timeout {
        Some(timeout) => {
            tokio::time::timeout(timeout, work).await.unwrap_or_else(|_| Err(ClientError::Timeout(timeout)))
        }
        None => work.await,
    }
}

/// The error of an answer of another kind than the request's.
fn unexpected(method: &str, result: &ServerResult) -> ClientError {
    let text = serde_json::to_string(result).unwrap_or_default();
    let shown: String = text.chars().take(200).collect();
    ClientError::InvalidResult(format!("`{method}` is not answered so: {shown}"))
}
