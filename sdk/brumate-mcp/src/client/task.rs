//! Calls that have become tasks (`io.modelcontextprotocol/tasks`, SEP-2663).

use super::call_result::CallToolResult;
use super::error::ClientError;
use super::request::{RequestOptions, RequestSender};
use rmcp::model as wire;
use rmcp::model::{ClientRequest, ServerResult, TASKS_EXTENSION_ID, TaskPayload};
use std::collections::BTreeSet;
use std::time::Duration;

/// The shortest time between two requests for the status, whatever the server wants.
const SHORTEST_POLL: Duration = Duration::from_millis(50);
/// The longest time between two requests for the status, whatever the server wants.
const LONGEST_POLL: Duration = Duration::from_secs(60);
/// The time between two requests for the status if the server sets none.
const USUAL_POLL: Duration = Duration::from_secs(1);

/// A call that the server continues as a task.
///
/// ```no_run
/// use brumate_mcp::Client;
/// use brumate_mcp::client::{ClientError, TaskOrResult};
///
/// # async fn run(client: Client) -> Result<(), ClientError> {
/// let result = match client.call("train").as_task().await? {
///     TaskOrResult::Task(task) => task.result().await?,
///     TaskOrResult::Result(result) => result,
/// };
/// println!("{}", result.text());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Task {
    requests: RequestSender,
    id: String,
    poll: Duration,
}

impl std::fmt::Debug for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Task").field("id", &self.id).finish_non_exhaustive()
    }
}

/// The status of a task.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TaskStatus {
    /// The server works; with its status message.
    Working(Option<String>),
    /// The task waits for input, which [`Task::result`] gives; with its status message.
    InputRequired(Option<String>),
    /// The task has completed.
    Completed(CallToolResult),
    /// The task failed with a JSON-RPC error.
    Failed {
        /// The error's code.
        code: i32,
        /// The error's message.
        message: String,
    },
    /// The task was cancelled.
    Cancelled,
}

impl Task {
    pub(super) fn new(requests: &RequestSender, task: wire::Task) -> Self {
        let poll = task.poll_interval_ms.map_or(USUAL_POLL, Duration::from_millis);
        Self { requests: requests.clone(), id: task.task_id, poll: poll.clamp(SHORTEST_POLL, LONGEST_POLL) }
    }

    /// Returns the task's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Asks the server for the status.
    ///
    /// # Errors
    ///
    /// Returns an error if the server does not know the task any more, or if the request fails.
    pub async fn status(&self) -> Result<TaskStatus, ClientError> {
        let task = self.get().await?;
        let message = task.task.status_message.clone();
        match task.payload {
            TaskPayload::Working => Ok(TaskStatus::Working(message)),
            TaskPayload::InputRequired { .. } => Ok(TaskStatus::InputRequired(message)),
            TaskPayload::Completed { result } => Ok(TaskStatus::Completed(result_of(result)?)),
            TaskPayload::Failed { error } => {
                let (code, message) = error_of(error);
                Ok(TaskStatus::Failed { code, message })
            }
            TaskPayload::Cancelled => Ok(TaskStatus::Cancelled),
            other => Err(ClientError::InvalidResult(format!("a task in an unknown state: {other:?}"))),
        }
    }

    /// Waits for the end of the task, and answers its input requests meanwhile.
    ///
    /// # Errors
    ///
    /// Returns an error if the task fails or is cancelled, or if a request fails.
    pub async fn result(&self) -> Result<CallToolResult, ClientError> {
        let mut answered = BTreeSet::new();
        loop {
            match self.get().await?.payload {
                TaskPayload::Completed { result } => return result_of(result),
                TaskPayload::Failed { error } => {
                    let (code, message) = error_of(error);
                    return Err(ClientError::Protocol { code, message, data: None });
                }
                TaskPayload::Cancelled => return Err(ClientError::Cancelled(Some("by the server".to_owned()))),
                TaskPayload::InputRequired { input_requests } => {
                    // An input request stays open until the server has seen its answer.
                    let new: Vec<_> =
                        input_requests.into_iter().filter(|(key, _)| answered.insert(key.clone())).collect();
                    if !new.is_empty() {
                        self.update(self.requests.answer(new).await?).await?;
                    }
                }
                _ => {}
            }
            tokio::time::sleep(self.poll).await;
        }
    }

    /// Cancels the task. The server may finish it all the same.
    ///
    /// # Errors
    ///
    /// Returns an error if the server does not know the task any more, or if the request fails.
    pub async fn cancel(&self) -> Result<(), ClientError> {
        let request = wire::CancelTaskRequest::new(wire::CancelTaskParams::new(self.id.clone()));
        self.acknowledged("tasks/cancel", ClientRequest::CancelTaskRequest(request)).await
    }

    async fn get(&self) -> Result<wire::DetailedTask, ClientError> {
        let request = wire::GetTaskRequest::new(wire::GetTaskParams::new(self.id.clone()));
        match self.send(ClientRequest::GetTaskRequest(request)).await? {
            ServerResult::GetTaskResult(result) => Ok(result.task),
            other => Err(super::unexpected("tasks/get", &other)),
        }
    }

    async fn update(&self, answers: wire::InputResponses) -> Result<(), ClientError> {
        let request = wire::UpdateTaskRequest::new(wire::UpdateTaskParams::new(self.id.clone(), answers));
        self.acknowledged("tasks/update", ClientRequest::UpdateTaskRequest(request)).await
    }

    async fn acknowledged(&self, method: &str, request: ClientRequest) -> Result<(), ClientError> {
        super::acknowledgement(method, &self.send(request).await?)
    }

    async fn send(&self, request: ClientRequest) -> Result<ServerResult, ClientError> {
        let mut options = RequestOptions::default();
        declare(&self.requests, &mut options);
        self.requests.send(request, &options).await
    }
}

fn result_of(result: wire::JsonObject) -> Result<CallToolResult, ClientError> {
    let result: Result<wire::CallToolResult, _> = serde_json::from_value(result.into());
    result.map(CallToolResult::from_wire).map_err(|error| ClientError::InvalidResult(error.to_string()))
}

fn error_of(error: wire::JsonObject) -> (i32, String) {
    let code = error.get("code").and_then(serde_json::Value::as_i64).and_then(|code| i32::try_from(code).ok());
    let message = error.get("message").and_then(|message| message.as_str()).unwrap_or("the task failed");
    (code.unwrap_or(wire::ErrorCode::INTERNAL_ERROR.0), message.to_owned())
}

/// Declares in a request that the client supports tasks.
pub(super) fn declare(requests: &RequestSender, options: &mut RequestOptions) {
    let mut capabilities = requests.callbacks.config().capabilities.clone();
    let mut extensions = capabilities.extensions.take().unwrap_or_default();
    extensions.entry(TASKS_EXTENSION_ID.to_owned()).or_default();
    capabilities.extensions = Some(extensions);
    options.meta.set_client_capabilities(capabilities);
}

/// Returns whether a request failed only because it did not declare that the client supports tasks.
pub(super) fn is_wanted(options: &RequestOptions, error: &ClientError) -> bool {
    let ClientError::Protocol { code, data: Some(data), .. } = error else { return false };
    let asks = data["requiredCapabilities"]["extensions"].get(TASKS_EXTENSION_ID).is_some();
    let said = options.meta.client_capabilities().is_some_and(|capabilities| capabilities.supports_tasks());
    *code == wire::ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY.0 && asks && !said
}
