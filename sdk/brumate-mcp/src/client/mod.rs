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
//! There is a constructor for each kind of server ([`Client::stdio`], [`Client::http`], [`Client::sse`],
//! [`Client::streams`], [`Client::in_process`]). A [`ClientBuilder`] sets callbacks for input requests and
//! notifications of the server, and [connects](ClientBuilder::connect). The client finds out which protocol the server
//! speaks, from 2024-11-05 to 2026-07-28. Its methods are the same in all of them.
//!
//! Servers may be hostile. A message has at most 16 MiB. A list has at most [`MAX_LIST_ITEMS`] items on
//! [`MAX_LIST_PAGES`] pages. At most [`MAX_OPEN_INPUT_REQUESTS`] input requests are answered at a time. A child process
//! gets only [`INHERITED_VARIABLES`] of the environment.

mod answers;
#[cfg(feature = "client-http")]
mod body;
mod builder;
mod call;
mod call_result;
mod callbacks;
mod child;
mod completion;
mod config;
mod connect;
#[cfg(feature = "client-http")]
mod endpoint;
mod error;
mod error_sources;
mod group;
#[cfg(feature = "client-http")]
mod http;
mod info;
mod input_requests;
mod lines;
mod lists;
mod observed_transport;
mod prompt;
mod request;
mod skills;
#[cfg(feature = "client-http")]
mod sse;
mod subscription;
mod target;
mod task;
mod tool_cache;

#[cfg(feature = "keyring")]
#[doc(inline)]
pub use brumate_mcp_oauth::KeyringTokenStore;
#[cfg(feature = "auth")]
#[doc(hidden)]
pub use brumate_mcp_oauth::internal::client_fuzzing as fuzzing;
#[cfg(feature = "auth")]
#[doc(inline)]
pub use brumate_mcp_oauth::{
    AuthError, Authorization, Bearer, ClientCredentials, ClientRegistration, FileTokenStore, MemoryTokenStore, OAuth,
    Secret, SigningAlgorithm, StoredTokens, TokenStore, TokenStoreError, open_in_browser,
};
pub use builder::{ClientBuilder, Protocol};
pub use call::{CallToolRequest, TaskOrResult};
pub use call_result::CallToolResult;
pub use callbacks::{LogMessage, MAX_LOG_MESSAGES, MAX_OPEN_INPUT_REQUESTS, Progress, ServerChange};
pub use child::INHERITED_VARIABLES;
pub use completion::{CompletionRef, CompletionValues};
pub use config::{ConfigError, ServerConfig, read_config};
#[cfg(feature = "client-http")]
pub use endpoint::{HttpTarget, SseTarget};
pub use error::ClientError;
pub use group::{ClientGroup, GroupTool, MemberId};
pub use info::{PromptArgumentInfo, PromptInfo, ResourceInfo, ServerInfo, TemplateInfo, ToolInfo};
pub use input_requests::{FormRequest, SamplingRequest, UrlRequest};
pub use lists::{MAX_LIST_ITEMS, MAX_LIST_PAGES};
pub use prompt::{GetPromptRequest, GetPromptResult};
pub use request::MAX_INPUT_ROUNDS;
pub use skills::{SkillFile, SkillFrontmatter, SkillInfo};
pub use subscription::ResourceSubscription;
#[cfg(feature = "server")]
pub use target::ServerTarget;
pub use target::{StdioTarget, StreamTarget, Target};
pub use task::{Task, TaskStatus};

use crate::contents::ResourceContents;
use crate::log_level::LogLevel;
use crate::sync::lock;
use request::{RequestOptions, RequestSender};
use rmcp::model as wire;
use rmcp::model::{ClientRequest, ServerResult};
use rmcp::service::RunningServiceCancellationToken;
use serde_json::{Map, Value};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A connection to an MCP server.
///
/// ```
/// use brumate_mcp::client::ClientError;
/// use brumate_mcp::{Client, Server, tool};
///
/// /// Adds two numbers.
/// #[tool]
/// async fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), ClientError> {
/// let client = Client::in_process(&Server::new("Demo").tool(add)).connect().await?;
/// let sum: i64 = client.call("add").arg("a", 1).arg("b", 2).await?.parse()?;
/// assert_eq!(sum, 3);
/// # Ok(())
/// # }
/// ```
///
/// Clones are the same connection, which ends with the last of them.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    requests: RequestSender,
    server: ServerInfo,
    protocol_version: String,
    instructions: Option<String>,
    capabilities: Map<String, Value>,
    is_stateless_protocol: bool,
    timeout: Option<Duration>,
    log_level: Option<LogLevel>,
    tools: tool_cache::ToolCache,
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

impl Client {
    /// Returns the server's name and version.
    pub fn server_info(&self) -> &ServerInfo {
        &self.inner.server
    }

    /// Returns the protocol version of the connection, such as `2026-07-28`.
    pub fn protocol_version(&self) -> &str {
        &self.inner.protocol_version
    }

    /// Returns the server's instructions for the model.
    pub fn instructions(&self) -> Option<&str> {
        self.inner.instructions.as_deref()
    }

    /// Returns the server's capabilities, as the protocol writes them: `tools`, `resources`, `prompts`, `completions`,
    /// `logging`, `extensions`.
    pub fn capabilities(&self) -> &Map<String, Value> {
        &self.inner.capabilities
    }

    /// Calls a tool; `.await` sends the call.
    pub fn call(&self, tool: impl Into<String>) -> CallToolRequest {
        CallToolRequest::new(self.clone(), tool.into())
    }

    /// Reads a resource.
    ///
    /// # Errors
    ///
    /// Returns [`ClientError::Protocol`] if there is no such resource, and other errors if the request fails.
    pub async fn read(&self, uri: impl Into<String>) -> Result<Vec<ResourceContents>, ClientError> {
        let params = wire::ReadResourceRequestParams::new(uri.into());
        let make = |answers, state| {
            let mut params = params.clone();
            (params.input_responses, params.request_state) = (answers, state);
            ClientRequest::ReadResourceRequest(wire::ReadResourceRequest::new(params))
        };
        let options = self.options();
        match with_timeout(self.inner.timeout, self.inner.requests.send_in_rounds(&options, make)).await? {
            ServerResult::ReadResourceResult(result) => {
                let read = result.contents.into_iter().map(ResourceContents::from_wire);
                read.collect::<Result<_, _>>().map_err(ClientError::InvalidResult)
            }
            other => Err(unexpected("resources/read", &other)),
        }
    }

    /// Sets the lowest level of log messages that the server sends in this session. Since 2026-07-28 there are no
    /// sessions: use [`ClientBuilder::log_level`].
    ///
    /// # Errors
    ///
    /// Returns an error if the server sends no log messages, or if the request fails.
    #[expect(deprecated, reason = "logging, which the protocol keeps until July 2027 at least")]
    pub async fn set_log_level(&self, level: LogLevel) -> Result<(), ClientError> {
        let request = wire::SetLevelRequest::new(wire::SetLevelRequestParams::new(level.into_wire()));
        self.acknowledged("logging/setLevel", ClientRequest::SetLevelRequest(request)).await
    }

    /// Waits until the server answers a ping.
    ///
    /// # Errors
    ///
    /// Returns an error if the server does not answer, or if the connection is closed.
    pub async fn ping(&self) -> Result<(), ClientError> {
        if self.inner.is_stateless_protocol {
            // This protocol has no ping. Every server answers `server/discover`.
            let request = wire::DiscoverRequest::new(wire::DiscoverRequestParams {});
            return self.send(ClientRequest::DiscoverRequest(request)).await.map(drop);
        }
        self.acknowledged("ping", ClientRequest::PingRequest(wire::PingRequest::default())).await
    }

    /// Notifies the server that the client's roots have changed.
    ///
    /// # Errors
    ///
    /// Returns [`ClientError::Closed`] if the connection is closed.
    pub async fn notify_roots_changed(&self) -> Result<(), ClientError> {
        self.inner.requests.peer.notify_roots_list_changed().await.map_err(ClientError::of_service)
    }

    /// Ends the connection, and waits until it has ended. A child process has two seconds to end by itself, and two
    /// more after SIGTERM.
    pub async fn close(&self) {
        if let Some(stop) = lock(&self.inner.stop).take() {
            stop.cancel();
        }
        self.inner.closed.cancelled().await;
    }

    /// Waits until the connection has ended, from either side.
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

    /// Returns a token that fires when the connection has ended. It does not keep the connection open.
    fn closed_token(&self) -> CancellationToken {
        self.inner.closed.clone()
    }

    /// Returns the default options of a request.
    fn options(&self) -> RequestOptions {
        let mut options = RequestOptions::default();
        if let Some(level) = self.inner.log_level.filter(|_| self.inner.is_stateless_protocol) {
            options.meta.set_log_level(level.into_wire());
        }
        options
    }

    /// Sends a request whose answer has no rounds.
    async fn send(&self, request: ClientRequest) -> Result<ServerResult, ClientError> {
        with_timeout(self.inner.timeout, self.inner.requests.send(request, &self.options())).await
    }

    /// Sends a request whose result is empty.
    async fn acknowledged(&self, method: &str, request: ClientRequest) -> Result<(), ClientError> {
        acknowledgement(method, &self.send(request).await?)
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

/// Checks an empty result.
fn acknowledgement(method: &str, result: &ServerResult) -> Result<(), ClientError> {
    match result {
        ServerResult::EmptyResult(_) | ServerResult::TaskAckResult(_) => Ok(()),
        other => Err(unexpected(method, other)),
    }
}

/// Returns the error for a result of another kind than the request's.
fn unexpected(method: &str, result: &ServerResult) -> ClientError {
    let text = serde_json::to_string(result).unwrap_or_default();
    let shown: String = text.chars().take(200).collect();
    ClientError::InvalidResult(format!("`{method}` is not answered so: {shown}"))
}
