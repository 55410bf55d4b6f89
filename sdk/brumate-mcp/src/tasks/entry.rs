//! One task of a server: its status, its open input requests, its outcome.

use super::TaskLimits;
use crate::principal::Principal;
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, DetailedTask, InputRequest, Task, TaskPayload};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The longest status message, in bytes.
const MAX_STATUS: usize = 64 * 1024;

/// A task.
#[derive(Debug)]
pub(super) struct TaskEntry {
    pub(super) owner: Option<Principal>,
    created: Instant,
    created_at: String,
    updated_at: String,
    message: Option<String>,
    /// The outcome, once it has ended.
    pub(super) ended: Option<StoredOutcome>,
    /// Input requests without an answer.
    pub(super) open: BTreeMap<String, PendingInput>,
    /// The keys of all input requests so far.
    pub(super) asked: HashSet<String>,
    pub(super) cancel: CancellationToken,
    /// Whether the client has cancelled it.
    pub(super) cancel_requested: bool,
    /// Whether the end of the server waits until its result is fetched.
    pub(super) awaited_by_drain: bool,
    /// Grows with each change that a client can see.
    pub(super) version: u64,
}

/// How the work of a task ended.
#[derive(Debug)]
pub(crate) enum TaskOutcome {
    /// With a result, which may be an error of the tool.
    Result(CallToolResult),
    /// With a JSON-RPC error.
    Error(ErrorData),
    /// By the client's cancellation, with a status message if there is something to say.
    Cancelled(Option<String>),
}

/// An input request that waits for its answer.
#[derive(Debug)]
pub(super) struct PendingInput {
    pub(super) request: InputRequest,
    pub(super) answer: oneshot::Sender<Value>,
}

/// The outcome of a task, as clients fetch it.
#[derive(Debug)]
pub(super) struct StoredOutcome {
    pub(super) payload: TaskPayload,
    pub(super) bytes: usize,
    pub(super) at: Instant,
    /// Whether a client has fetched it.
    pub(super) fetched: bool,
}

impl TaskEntry {
    pub(super) fn new(owner: Option<Principal>) -> Self {
        let now = timestamp();
        Self {
            owner,
            created: Instant::now(),
            created_at: now.clone(),
            updated_at: now,
            message: None,
            ended: None,
            open: BTreeMap::new(),
            asked: HashSet::new(),
            cancel: CancellationToken::new(),
            cancel_requested: false,
            awaited_by_drain: false,
            version: 0,
        }
    }

    /// Notes a change.
    pub(super) fn bump_version(&mut self) {
        self.updated_at = timestamp();
        self.version += 1;
    }

    /// Sets the status message.
    pub(super) fn set_status_message(&mut self, mut message: String) {
        message.truncate(message.floor_char_boundary(MAX_STATUS));
        self.message = Some(message);
        self.bump_version();
    }

    /// Ends the task. Later changes have no effect.
    pub(super) fn end(&mut self, payload: TaskPayload, bytes: usize, message: Option<String>) {
        self.open.clear();
        self.ended = Some(StoredOutcome { payload, bytes, at: Instant::now(), fetched: false });
        match message {
            Some(message) => self.set_status_message(message),
            None => {
                self.message = None;
                self.bump_version();
            }
        }
    }

    pub(super) fn is_running(&self) -> bool {
        self.ended.is_none()
    }

    /// Returns whether a client has fetched the outcome.
    pub(super) fn is_fetched(&self) -> bool {
        self.ended.as_ref().is_some_and(|ended| ended.fetched)
    }

    /// Returns whether the task has ended and its TTL is over.
    pub(super) fn is_over(&self, ttl: Duration) -> bool {
        self.ended.is_some() && self.created.elapsed() >= ttl
    }

    /// Returns the task without its outcome.
    pub(super) fn summary(&self, id: &str, limits: &TaskLimits) -> Task {
        let status = self.payload().status();
        let mut task = Task::new(id, status, self.created_at.clone(), self.updated_at.clone());
        task.status_message = self.message.clone();
        task.ttl_ms = Some(milliseconds(limits.max_run_time.saturating_add(limits.result_retention)));
        task.poll_interval_ms = Some(milliseconds(limits.poll_interval));
        task
    }

    pub(super) fn detailed(&self, id: &str, limits: &TaskLimits) -> DetailedTask {
        DetailedTask::new(self.summary(id, limits), self.payload())
    }

    fn payload(&self) -> TaskPayload {
        match &self.ended {
            Some(ended) => ended.payload.clone(),
            None if self.open.is_empty() => TaskPayload::Working,
            None => TaskPayload::InputRequired {
                input_requests: self.open.iter().map(|(key, open)| (key.clone(), open.request.clone())).collect(),
            },
        }
    }
}

/// Returns the current time (RFC 3339).
fn timestamp() -> String {
    rmcp::task_manager::current_timestamp()
}

/// Returns milliseconds, at least one: the protocol has no zero.
fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1)
}
