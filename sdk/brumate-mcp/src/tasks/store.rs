//! The tasks of one server.

use super::TaskLimits;
use super::entry::{PendingInput, TaskEntry, TaskOutcome};
use super::table::TaskTable;
use crate::principal::Principal;
use rmcp::ErrorData;
use rmcp::model::{DetailedTask, InputRequest, TaskPayload};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{oneshot, watch};

/// The most input requests of a task that wait for answers at a time.
const MAX_OPEN_INPUT_REQUESTS: usize = 32;

/// The most input requests of a task in its life.
const MAX_INPUT_REQUESTS: usize = 10_000;

/// The tasks of one server, for all its clients. Clones are the same tasks.
#[derive(Clone)]
pub(crate) struct Tasks {
    shared: Arc<TasksInner>,
}

struct TasksInner {
    entries: Mutex<TaskTable>,
    changes: watch::Sender<u64>,
}

impl Default for Tasks {
    fn default() -> Self {
        Self::new(TaskLimits::default())
    }
}

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tasks").field("known", &self.lock().by_id.len()).finish_non_exhaustive()
    }
}

impl Tasks {
    /// Makes a store without tasks.
    pub(crate) fn new(limits: TaskLimits) -> Self {
        let entries = TaskTable::new(limits);
        Self { shared: Arc::new(TasksInner { entries: Mutex::new(entries), changes: watch::Sender::new(0) }) }
    }

    /// Sets the limits of tasks that begin from now on.
    pub(crate) fn set_limits(&self, limits: TaskLimits) {
        self.lock().limits = limits;
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, TaskTable> {
        self.shared.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps how a task ended.
    pub(super) fn end(&self, id: &str, end: TaskOutcome) {
        let (mut payload, mut bytes, mut message) = match end {
            TaskOutcome::Cancelled(message) => (TaskPayload::Cancelled, 0, message),
            TaskOutcome::Error(error) => failed(error.message.to_string(), &error),
            TaskOutcome::Result(result) => match serde_json::to_value(&result) {
                Ok(Value::Object(result)) => {
                    let bytes = serde_json::to_vec(&result).map_or(usize::MAX, |text| text.len());
                    (TaskPayload::Completed { result }, bytes, None)
                }
                _ => failed_because("the result cannot be written as JSON"),
            },
        };
        {
            let mut entries = self.lock();
            let (largest, room, own_room) = (
                entries.limits.max_result_bytes,
                entries.limits.max_total_bytes,
                entries.limits.max_bytes_per_principal,
            );
            let owner = entries.by_id.get(id).and_then(|entry| entry.owner.clone());
            let owner = owner.as_ref();
            if bytes > largest {
                (payload, bytes, message) = failed_because(&format!("the result is larger than {largest} bytes"));
            } else if owner.is_some() && !entries.make_room(owner, |entries| entries.bytes_of(owner) + bytes > own_room)
            {
                let text = "there is no room for the result: too many of yours wait to be fetched";
                (payload, bytes, message) = failed_because(text);
            } else if !entries.make_room(None, |entries| entries.bytes + bytes > room) {
                let text = "there is no room for the result: too many others wait to be fetched";
                (payload, bytes, message) = failed_because(text);
            }
            let Some(entry) = entries.by_id.get_mut(id) else { return };
            entry.end(payload, bytes, message);
            entries.bytes += bytes;
        }
        self.notify_watchers();
    }

    /// Returns a task of `owner` (`tasks/get`).
    ///
    /// # Errors
    ///
    /// Returns "invalid params" if `owner` has no such task.
    pub(crate) fn get(&self, owner: Option<&Principal>, id: &str) -> Result<DetailedTask, ErrorData> {
        let (task, first) = {
            let mut entries = self.lock();
            entries.sweep();
            let limits = entries.limits.clone();
            let entry = entries.find(owner, id)?;
            let first = entry.ended.as_mut().is_some_and(|ended| !std::mem::replace(&mut ended.fetched, true));
            (entry.detailed(id, &limits), first)
        };
        if first {
            self.notify_watchers();
        }
        Ok(task)
    }

    /// Passes on answers to input requests of a task of `owner` (`tasks/update`). Answers to other keys are dropped.
    ///
    /// # Errors
    ///
    /// Returns "invalid params" if `owner` has no such task.
    pub(crate) fn update(
        &self,
        owner: Option<&Principal>,
        id: &str,
        answers: BTreeMap<String, Value>,
    ) -> Result<(), ErrorData> {
        {
            let mut entries = self.lock();
            entries.sweep();
            let entry = entries.find(owner, id)?;
            for (key, answer) in answers {
                if let Some(open) = entry.open.remove(&key) {
                    entry.bump_version();
                    // The work may have stopped waiting.
                    let _ = open.answer.send(answer);
                }
            }
        }
        self.notify_watchers();
        Ok(())
    }

    /// Cancels a task of `owner` (`tasks/cancel`). A task that has ended stays as it is.
    ///
    /// # Errors
    ///
    /// Returns "invalid params" if `owner` has no such task.
    pub(crate) fn cancel(&self, owner: Option<&Principal>, id: &str) -> Result<(), ErrorData> {
        {
            let mut entries = self.lock();
            entries.sweep();
            let entry = entries.find(owner, id)?;
            if entry.is_running() {
                entry.cancel_requested = true;
                entry.open.clear();
                entry.bump_version();
                entry.cancel.cancel();
            }
        }
        self.notify_watchers();
        Ok(())
    }

    /// Cancels all tasks, because no client can ask for them any more.
    pub(crate) fn cancel_all(&self) {
        for entry in self.lock().by_id.values_mut() {
            entry.open.clear();
            entry.cancel.cancel();
        }
    }

    /// Begins the drain: [`Tasks::drained`] waits for the tasks that run now and for tasks that still begin.
    pub(crate) fn begin_drain(&self) {
        let mut entries = self.lock();
        entries.draining = true;
        for entry in entries.by_id.values_mut().filter(|entry| entry.is_running()) {
            entry.awaited_by_drain = true;
        }
    }

    /// Returns whether the drain still waits for a task.
    pub(crate) fn is_drain_waiting(&self) -> bool {
        self.lock().by_id.values().any(|entry| entry.awaited_by_drain && !entry.is_fetched())
    }

    /// Waits until all tasks of the drain have ended and were fetched.
    pub(crate) async fn drained(&self) {
        let mut changes = self.shared.changes.subscribe();
        while self.is_drain_waiting() {
            // This cannot fail: the sender is in `self`.
            let _ = changes.changed().await;
        }
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changes.subscribe()
    }

    /// Returns a task of `owner` with its version. Its result does not count as fetched.
    pub(super) fn snapshot(&self, owner: Option<&Principal>, id: &str) -> Option<(u64, DetailedTask)> {
        let mut entries = self.lock();
        let limits = entries.limits.clone();
        let entry = entries.find(owner, id).ok()?;
        Some((entry.version, entry.detailed(id, &limits)))
    }

    /// Wakes the watchers of tasks.
    pub(super) fn notify_watchers(&self) {
        self.shared.changes.send_modify(|change| *change = change.wrapping_add(1));
    }

    pub(super) fn with<T>(&self, id: &str, look: impl FnOnce(&mut TaskEntry) -> T) -> Option<T> {
        self.lock().by_id.get_mut(id).map(look)
    }

    /// Opens an input request. Returns its key.
    pub(super) fn open_input_request(
        &self,
        id: &str,
        key: &str,
        request: InputRequest,
        answer: oneshot::Sender<Value>,
    ) -> Result<String, String> {
        let key = self.with(id, |entry| {
            if !entry.is_running() || entry.cancel.is_cancelled() {
                return Err("nobody answers: the task is to end".to_owned());
            }
            if entry.open.len() >= MAX_OPEN_INPUT_REQUESTS {
                return Err(format!("more than {MAX_OPEN_INPUT_REQUESTS} input requests at once"));
            }
            if entry.asked.len() >= MAX_INPUT_REQUESTS {
                return Err(format!("more than {MAX_INPUT_REQUESTS} input requests"));
            }
            let mut name = key.to_owned();
            let mut number = entry.asked.len();
            while !entry.asked.insert(name.clone()) {
                number += 1;
                name = format!("{key}-{number}");
            }
            entry.open.insert(name.clone(), PendingInput { request, answer });
            entry.bump_version();
            Ok(name)
        });
        let key = key.unwrap_or_else(|| Err("the task is gone".to_owned()))?;
        self.notify_watchers();
        Ok(key)
    }
}

fn failed(message: String, error: &ErrorData) -> (TaskPayload, usize, Option<String>) {
    let error = match serde_json::to_value(error) {
        Ok(Value::Object(error)) => error,
        _ => Map::new(),
    };
    let bytes = serde_json::to_vec(&error).map_or(0, |text| text.len());
    (TaskPayload::Failed { error }, bytes, Some(message))
}

fn failed_because(text: &str) -> (TaskPayload, usize, Option<String>) {
    failed(text.to_owned(), &ErrorData::internal_error(text.to_owned(), None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::{CallToolResult, ContentBlock};

    #[tokio::test]
    async fn a_principal_has_room_of_its_own_for_results() {
        let limits = TaskLimits { max_bytes_per_principal: 1500, max_total_bytes: 10_000, ..TaskLimits::default() };
        let tasks = Tasks::new(limits);
        let mut completed = Vec::new();
        for owner in ["ada", "ada", "bob"].map(Principal::new) {
            let task = tasks.reserve(Some(&owner)).expect("room for a task");
            let id = task.handle().id.clone();
            let text = ContentBlock::text("x".repeat(1000));
            task.run(std::future::ready(TaskOutcome::Result(CallToolResult::success(vec![text]))));
            while tasks.lock().by_id[&id].ended.is_none() {
                tokio::task::yield_now().await;
            }
            let entries = tasks.lock();
            let payload = entries.by_id[&id].ended.as_ref().map(|ended| &ended.payload);
            completed.push(matches!(payload, Some(TaskPayload::Completed { .. })));
        }
        assert_eq!(completed, [true, false, true], "the second of ada's is one too many");
    }
}
