//! Calls of tools: arguments, results, tasks.

use super::callbacks::{OnProgress, Progress};
use super::error::ClientError;
use super::request::{Options, Requests};
use super::task::Task;
use super::{Client, with_timeout};
use crate::content::Content;
use futures::future::BoxFuture;
use rmcp::model as wire;
use rmcp::model::{ClientRequest, ServerResult};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The result of a tool.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CallResult {
    /// The content blocks.
    pub content: Vec<Content>,
    /// The structured content, of tools with an output schema.
    pub structured: Option<Value>,
    /// Whether the tool failed; the content says why.
    pub is_error: bool,
    /// Its `_meta`.
    pub meta: Map<String, Value>,
}

impl CallResult {
    pub(super) fn from_wire(result: wire::CallToolResult) -> Self {
        Self {
            content: result.content.into_iter().map(Content::from_wire).collect(),
            structured: result.structured_content,
            is_error: result.is_error.unwrap_or(false),
            meta: result.meta.map(|meta| meta.0).unwrap_or_default(),
        }
    }

    /// Returns the text of all blocks of text, a line each.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.content.iter().filter_map(Content::as_text).collect();
        texts.join("\n")
    }

    /// Returns the result as the protocol writes it (`CallToolResult`).
    pub fn to_json(&self) -> Value {
        let content: Vec<wire::ContentBlock> = self.content.iter().cloned().map(Content::into_wire).collect();
        let mut result = json!({"content": content, "isError": self.is_error});
        if let Some(structured) = &self.structured {
            result["structuredContent"] = structured.clone();
        }
        if !self.meta.is_empty() {
            result["_meta"] = self.meta.clone().into();
        }
        result
    }

    /// Returns the result unless the tool failed.
    ///
    /// # Errors
    ///
    /// [`ClientError::Tool`] when it did.
    pub fn ok(self) -> Result<Self, ClientError> {
        if self.is_error { Err(ClientError::Tool(Box::new(self))) } else { Ok(self) }
    }

    /// Reads the result as a `T`: its structured content, else its text as JSON, else its text. Structured content with the one field
    /// `result` is what tools return that have no object to return; its value is read where a `T` is no such object.
    ///
    /// # Errors
    ///
    /// [`ClientError::Tool`] when the tool failed; [`ClientError::InvalidResult`] when it is no `T`.
    pub fn parse<T: DeserializeOwned>(self) -> Result<T, ClientError> {
        let result = self.ok()?;
        let invalid = |error: serde_json::Error| ClientError::InvalidResult(error.to_string());
        if let Some(structured) = result.structured {
            let wrapped = match &structured {
                Value::Object(object) if object.len() == 1 => object.get("result").cloned(),
                _ => None,
            };
            return match (serde_json::from_value(structured), wrapped) {
                (Err(_), Some(value)) => serde_json::from_value(value).map_err(invalid),
                (parsed, _) => parsed.map_err(invalid),
            };
        }
        let text = result.text();
        serde_json::from_str(&text).or_else(|error| serde_json::from_value(text.into()).map_err(|_| invalid(error)))
    }
}

/// A call of a tool; `.await` sends it.
///
/// ```no_run
/// # async fn example(client: brumate_mcp::Client) -> Result<(), brumate_mcp::client::ClientError> {
/// let sum: i64 = client.call("add").arg("a", 1).arg("b", 2).await?.parse()?;
/// # Ok(())
/// # }
/// ```
#[must_use = "a call is sent when it is awaited"]
pub struct Call {
    client: Client,
    name: String,
    arguments: Result<Map<String, Value>, String>,
    options: Options,
    timeout: Option<Duration>,
    token: Option<CancellationToken>,
}

impl std::fmt::Debug for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call").field("tool", &self.name).finish_non_exhaustive()
    }
}

/// The outcome of a call that may become a task.
#[derive(Debug)]
pub enum TaskOr<T> {
    /// The server goes on with the call as a task.
    Task(Task),
    /// The call is done.
    Done(T),
}

impl Call {
    pub(super) fn new(client: Client, name: String) -> Self {
        let timeout = client.inner.timeout;
        Self { name, arguments: Ok(Map::new()), options: client.options(), timeout, token: None, client }
    }

    /// Sets an argument.
    pub fn arg(mut self, name: impl Into<String>, value: impl Serialize) -> Self {
        let name = name.into();
        match (&mut self.arguments, serde_json::to_value(value)) {
            (Ok(arguments), Ok(value)) => drop(arguments.insert(name, value)),
            (Ok(_), Err(error)) => self.arguments = Err(format!("argument `{name}`: {error}")),
            (Err(_), _) => {}
        }
        self
    }

    /// Sets all arguments: an object.
    pub fn args(mut self, arguments: impl Serialize) -> Self {
        self.arguments = match serde_json::to_value(arguments) {
            Ok(Value::Object(arguments)) => Ok(arguments),
            Ok(other) => Err(format!("arguments are an object, not {other}")),
            Err(error) => Err(error.to_string()),
        };
        self
    }

    /// Sets an entry of the request's `_meta`.
    pub fn meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.options.meta.0.0.insert(key.into(), value.into());
        self
    }

    /// Has reports of progress shown, in their order and before the result. The callback must not block.
    pub fn on_progress(mut self, callback: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        let callback: OnProgress = Arc::new(callback);
        self.options.on_progress = Some(callback);
        self
    }

    /// Sets how long the whole call may take, what the server asks meanwhile included.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Cancels the call when `token` fires. Dropping the call's future does the same.
    pub fn cancel(mut self, token: CancellationToken) -> Self {
        self.token = Some(token);
        self
    }

    /// Lets the server make a task of the call, and returns that instead of waiting for its end (SEP-2663).
    ///
    /// # Errors
    ///
    /// Those of the call.
    pub async fn as_task(mut self) -> Result<TaskOr<CallResult>, ClientError> {
        super::task::declare(&self.client.inner.requests, &mut self.options);
        let (timeout, token) = (self.timeout, self.token.take());
        within(timeout, token, pin!(self.run())).await
    }

    async fn run(self) -> Result<TaskOr<CallResult>, ClientError> {
        let Call { client, name, arguments, options, .. } = self;
        let arguments = arguments.map_err(ClientError::Question)?;
        let tool = client.known_tool(&name).await;
        let done = send(&client.inner.requests, &name, arguments, &options).await?;
        if let (TaskOr::Done(result), Some(tool)) = (&done, tool)
            && tool.check(result).is_err()
            && let Some(tool) = client.known_tool_again(&name).await
        {
            tool.check(result)?;
        }
        Ok(done)
    }
}

/// Waits for `work`, but no longer than `timeout`, and not when `token` has fired. It is pinned by the caller: such a future is large, and
/// each function that took it would copy it.
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

/// Sends the call, in as many rounds as the server asks for.
async fn send(
    requests: &Requests,
    name: &str,
    arguments: Map<String, Value>,
    options: &Options,
) -> Result<TaskOr<CallResult>, ClientError> {
    let mut params = wire::CallToolRequestParams::new(name.to_owned());
    params.arguments = Some(arguments);
    let make = |answers, state| {
        let mut params = params.clone();
        (params.input_responses, params.request_state) = (answers, state);
        ClientRequest::CallToolRequest(wire::CallToolRequest::new(params))
    };
    let answer = match requests.send_in_rounds(options, make).await {
        Err(error) if super::task::is_wanted(options, &error) => {
            // The tool is a task always: say that this client knows tasks, and wait for its end.
            let mut declared = options.clone();
            super::task::declare(requests, &mut declared);
            Box::pin(requests.send_in_rounds(&declared, make)).await?
        }
        answer => answer?,
    };
    match answer {
        ServerResult::CallToolResult(result) => Ok(TaskOr::Done(CallResult::from_wire(result))),
        ServerResult::CreateTaskResult(result) => Ok(TaskOr::Task(Task::new(requests, result.task))),
        other => Err(super::unexpected("tools/call", &other)),
    }
}

impl IntoFuture for Call {
    type Output = Result<CallResult, ClientError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    /// Sends the call; a task is waited for.
    fn into_future(mut self) -> Self::IntoFuture {
        let (timeout, token) = (self.timeout, self.token.take());
        Box::pin(async move {
            let mut started = None;
            let work = async {
                match self.run().await? {
                    TaskOr::Done(result) => Ok(result),
                    TaskOr::Task(task) => Box::pin(started.insert(task).result()).await,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn result(structured: Option<Value>, text: &str) -> CallResult {
        CallResult { content: vec![Content::text(text)], structured, ..CallResult::default() }
    }

    #[test]
    fn a_result_is_read_as_what_it_is() {
        assert_eq!(result(Some(json!({"result": 3})), "3").parse::<i64>().unwrap(), 3);
        assert_eq!(result(None, "[1, 2]").parse::<Vec<i64>>().unwrap(), [1, 2]);
        assert_eq!(result(None, "not JSON").parse::<String>().unwrap(), "not JSON");
        assert_eq!(result(Some(json!({"result": 3})), "").parse::<Value>().unwrap(), json!({"result": 3}));
        let error = result(Some(json!({"a": 1})), "").parse::<i64>().unwrap_err();
        assert!(matches!(error, ClientError::InvalidResult(_)), "{error}");
        let failed = CallResult { is_error: true, ..result(None, "no such city") };
        assert_eq!(failed.parse::<String>().unwrap_err().to_string(), "the tool failed: no such city");
    }
}
