//! Calls of tools: arguments, progress, tasks.

use super::call_result::CallToolResult;
use super::callbacks::{OnProgress, Progress};
use super::error::ClientError;
use super::request::{RequestOptions, RequestSender};
use super::task::Task;
use super::{Client, with_timeout};
use crate::exact_arguments::ExactArguments;
use futures::future::BoxFuture;
use rmcp::model as wire;
use rmcp::model::{ClientRequest, ServerResult};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A call of a tool (`tools/call`); `.await` sends it.
///
/// ```no_run
/// # async fn example(client: brumate_mcp::Client) -> Result<(), brumate_mcp::client::ClientError> {
/// let sum: i64 = client.call("add").arg("a", 1).arg("b", 2).await?.parse()?;
/// # Ok(())
/// # }
/// ```
#[must_use = "a call is sent when it is awaited"]
pub struct CallToolRequest {
    client: Client,
    name: String,
    arguments: Result<Vec<(String, Box<RawValue>)>, String>,
    options: RequestOptions,
    timeout: Option<Duration>,
    token: Option<CancellationToken>,
}

impl std::fmt::Debug for CallToolRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallToolRequest").field("tool", &self.name).finish_non_exhaustive()
    }
}

/// The answer to a call that may become a task.
#[derive(Debug)]
pub enum TaskOrResult<T> {
    /// The server continues the call as a task.
    Task(Task),
    /// The server has answered with the result.
    Result(T),
}

impl CallToolRequest {
    pub(super) fn new(client: Client, name: String) -> Self {
        let timeout = client.inner.timeout;
        Self { name, arguments: Ok(Vec::new()), options: client.options(), timeout, token: None, client }
    }

    /// Sets an argument. Integers of any size are sent exactly, as is a `serde_json::value::RawValue`.
    pub fn arg(mut self, name: impl Into<String>, value: impl Serialize) -> Self {
        let name = name.into();
        match (&mut self.arguments, to_raw_value(&value)) {
            (Ok(arguments), Ok(value)) => match arguments.iter_mut().find(|(known, _)| *known == name) {
                Some(argument) => argument.1 = value,
                None => arguments.push((name, value)),
            },
            (Ok(_), Err(error)) => self.arguments = Err(format!("argument `{name}`: {error}")),
            (Err(_), _) => {}
        }
        self
    }

    /// Sets all arguments. They must serialize to an object.
    pub fn args(mut self, arguments: impl Serialize) -> Self {
        self.arguments = match to_raw_value(&arguments) {
            Ok(arguments) => match brumate_json::members(arguments.get()) {
                Ok(members) => Ok(members.into_iter().map(|(name, value)| (name, value.to_owned())).collect()),
                Err(_) => Err(format!("arguments are an object, not {arguments}")),
            },
            Err(error) => Err(error.to_string()),
        };
        self
    }

    /// Sets an entry of the request's `_meta`.
    pub fn meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.options.meta.0.0.insert(key.into(), value.into());
        self
    }

    /// Sets a callback for reports of progress. They come in order and before the result. The callback must not block.
    pub fn on_progress(mut self, callback: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        let callback: OnProgress = Arc::new(callback);
        self.options.on_progress = Some(callback);
        self
    }

    /// Sets how long the whole call may take, its input requests included.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Cancels the call when `token` fires. Dropping the call's future does the same.
    pub fn cancel(mut self, token: CancellationToken) -> Self {
        self.token = Some(token);
        self
    }

    /// Lets the server make a task of the call, and returns the task instead of waiting for its end (SEP-2663).
    ///
    /// # Errors
    ///
    /// Returns the errors of the call.
    pub async fn as_task(mut self) -> Result<TaskOrResult<CallToolResult>, ClientError> {
        super::task::declare(&self.client.inner.requests, &mut self.options);
        let (timeout, token) = (self.timeout, self.token.take());
        within(timeout, token, pin!(self.run())).await
    }

    async fn run(self) -> Result<TaskOrResult<CallToolResult>, ClientError> {
        let CallToolRequest { client, name, arguments, options, .. } = self;
        let arguments = arguments.map_err(ClientError::InputRequest)?;
        let tool = client.cached_tool(&name).await;
        let done = send(&client.inner.requests, &name, &arguments, &options).await?;
        if let (TaskOrResult::Result(result), Some(tool)) = (&done, tool)
            && tool.check(result).is_err()
            && let Some(tool) = client.refreshed_tool(&name).await
        {
            tool.check(result)?;
        }
        Ok(done)
    }
}

/// Waits for `work`, but no longer than `timeout`, and not when `token` has fired. The caller pins `work`: such a
/// future is large, and each function that took it would copy it.
async fn within<T>(
    timeout: Option<Duration>,
    token: Option<CancellationToken>,
    work: Pin<&mut impl Future<Output = Result<T, ClientError>>>,
) -> Result<T, ClientError> {
    let cancelled = async {
        match &token {
            Some(token) => token.cancelled().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        done = with_timeout(timeout, work) => done,
        () = cancelled => Err(ClientError::Cancelled(None)),
    }
}

/// Sends the call, in as many rounds as the server needs.
async fn send(
    requests: &RequestSender,
    name: &str,
    arguments: &[(String, Box<RawValue>)],
    options: &RequestOptions,
) -> Result<TaskOrResult<CallToolResult>, ClientError> {
    let json = brumate_json::object(arguments.iter().map(|(name, value)| (name, value)));
    let mended = brumate_json::mend(&json);
    let arguments = serde_json::from_str(&mended.text).map_err(|error| ClientError::InputRequest(error.to_string()))?;
    let exact = mended.is_changed.then(|| ExactArguments::new(&json));
    let mut params = wire::CallToolRequestParams::new(name.to_owned());
    params.arguments = Some(arguments);
    let make = |answers, state| {
        let mut params = params.clone();
        (params.input_responses, params.request_state) = (answers, state);
        let mut call = wire::CallToolRequest::new(params);
        if let Some(exact) = &exact {
            call.extensions.insert(exact.clone());
        }
        ClientRequest::CallToolRequest(call)
    };
    let answer = match requests.send_in_rounds(options, make).await {
        Err(error) if super::task::is_wanted(options, &error) => {
            // The tool requires tasks: declare the extension, and wait for the end of the task.
            let mut declared = options.clone();
            super::task::declare(requests, &mut declared);
            Box::pin(requests.send_in_rounds(&declared, make)).await?
        }
        answer => answer?,
    };
    match answer {
        ServerResult::CallToolResult(result) => Ok(TaskOrResult::Result(CallToolResult::from_wire(result))),
        ServerResult::CreateTaskResult(result) => Ok(TaskOrResult::Task(Task::new(requests, result.task))),
        other => Err(super::unexpected("tools/call", &other)),
    }
}

impl IntoFuture for CallToolRequest {
    type Output = Result<CallToolResult, ClientError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    /// Sends the call, and waits for its result. A task is waited for as well.
    fn into_future(mut self) -> Self::IntoFuture {
        let (timeout, token) = (self.timeout, self.token.take());
        Box::pin(async move {
            let mut started = None;
            let work = async {
                match self.run().await? {
                    TaskOrResult::Result(result) => Ok(result),
                    TaskOrResult::Task(task) => Box::pin(started.insert(task).result()).await,
                }
            };
            let done = within(timeout, token, pin!(work)).await;
            if let (Some(task), Err(ClientError::Timeout(_) | ClientError::Cancelled(None))) = (started, &done) {
                let _ = task.cancel().await;
            }
            done
        })
    }
}
