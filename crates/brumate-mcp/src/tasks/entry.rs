//! One task, as it is kept.

use super::TaskLimits;
use crate::http::Principal;
use rmcp::model::{DetailedTask, InputRequest, Task, TaskPayload};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The longest line about how a task goes, in bytes.
const MAX_STATUS: usize = 64 * 1024;

/// A task.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) owner: Option<Principal>,
    created: Instant,
    created_at: String,
    updated_at: String,
    message: Option<String>,
    /// What it became, when it has ended.
    pub(super) ended: Option<Ended>,
    /// Questions without an answer.
    pub(super) open: BTreeMap<String, Open>,
    /// The names of all questions there ever were.
    pub(super) asked: HashSet<String>,
    pub(super) cancel: CancellationToken,
    /// The client wants it to end.
    pub(super) unwanted: bool,
    /// It ran when the server began to stop, which waits for its result to be fetched.
    pub(super) awaited: bool,
    /// Grows with each change that a client can see.
    pub(super) version: u64,
}

/// A question that waits for its answer.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) request: InputRequest,
    pub(super) answer: oneshot::Sender<Value>,
}

/// How a task ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) payload: TaskPayload,
    pub(super) bytes: usize,
    pub(super) at: Instant,
    /// A client has seen it.
    pub(super) fetched: bool,
}

impl Entry {
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
            unwanted: false,
            awaited: false,
            version: 0,
        }
    }

    /// Notes that something has changed.
    pub(super) fn touch(&mut self) {
        self.updated_at = timestamp();
        self.version += 1;
    }

    /// Says how it goes.
    pub(super) fn say(&mut self, mut message: String) {
        message.truncate(message.floor_char_boundary(MAX_STATUS));
        self.message = Some(message);
        self.touch();
    }

    /// Ends it; nothing that comes later changes it.
    pub(super) fn end(&mut self, payload: TaskPayload, bytes: usize, message: Option<String>) {
        self.open.clear();
        self.ended = Some(Ended { payload, bytes, at: Instant::now(), fetched: false });
        match message {
            Some(message) => self.say(message),
            None => {
                self.message = None;
                self.touch();
            }
        }
    }

    pub(super) fn is_running(&self) -> bool {
        self.ended.is_none()
    }

    /// Nobody misses it when it is gone.
    pub(super) fn is_fetched(&self) -> bool {
        self.ended.as_ref().is_some_and(|ended| ended.fetched)
    }

    /// It has ended, and its time is over.
    pub(super) fn is_over(&self, ttl: Duration) -> bool {
        self.ended.is_some() && self.created.elapsed() >= ttl
    }

    /// What there is to know without what it became.
    pub(super) fn brief(&self, id: &str, limits: &TaskLimits) -> Task {
        let status = self.payload().status();
        let mut task = Task::new(id, status, self.created_at.clone(), self.updated_at.clone());
        task.status_message = self.message.clone();
        task.ttl_ms = Some(milliseconds(limits.run.saturating_add(limits.keep)));
        task.poll_interval_ms = Some(milliseconds(limits.poll));
        task
    }

    pub(super) fn detailed(&self, id: &str, limits: &TaskLimits) -> DetailedTask {
        DetailedTask::new(self.brief(id, limits), self.payload())
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

/// Now, as RFC 3339 has it.
fn timestamp() -> String {
    rmcp::task_manager::current_timestamp()
}

/// At least one: the protocol has no zero.
fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1)
}
