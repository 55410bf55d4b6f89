//! All tasks of a server.

use super::TaskLimits;
use super::entry::{Entry, Open};
use super::handle::{TaskEnd, TaskHandle};
use crate::http::Principal;
use futures::FutureExt as _;
use rmcp::ErrorData;
use rmcp::model::{DetailedTask, InputRequest, Task, TaskPayload};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{oneshot, watch};

/// Questions of a task that may wait for answers at a time.
const MAX_OPEN: usize = 32;

/// Questions that a task may ask in its life.
const MAX_ASKED: usize = 10_000;

/// How long work may take to end when it has run for too long.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// A task that does nothing yet; without [`NewTask::run`] there will have been none.
#[derive(Debug)]
pub struct NewTask {
    handle: TaskHandle,
    begun: bool,
}

impl NewTask {
    /// The task, for its work.
    pub fn handle(&self) -> &TaskHandle {
        &self.handle
    }

    /// Begins the work, in a task of the runtime; what the client is told.
    pub fn run(mut self, work: impl Future<Output = TaskEnd> + Send + 'static) -> Task {
        self.begun = true;
        let TaskHandle { tasks, id, cancel } = self.handle.clone();
        let (task, longest) = {
            let entries = tasks.lock();
            let longest = entries.limits.run;
            // It has been there since it was reserved: only what has ended is ever forgotten.
            let task = entries.by_id.get(&id).map(|entry| entry.brief(&id, &entries.limits));
            (task.unwrap_or_default(), longest)
        };
        tokio::spawn(async move {
            let mut work = Box::pin(AssertUnwindSafe(work).catch_unwind());
            let ended = match tokio::time::timeout(longest, &mut work).await {
                Ok(ended) => ended,
                Err(_) => {
                    cancel.cancel();
                    // What it has to say is not said: it has failed.
                    let _ = tokio::time::timeout(LAST_WORDS, &mut work).await;
                    let text = format!("the task was stopped: it ran for more than {} seconds", longest.as_secs());
                    Ok(TaskEnd::Error(ErrorData::internal_error(text, None)))
                }
            };
            let ended = ended.unwrap_or_else(|_| {
                tracing::error!("the work of a task panicked");
                TaskEnd::Error(ErrorData::internal_error("the task failed unexpectedly", None))
            });
            tasks.end(&id, ended);
        });
        task
    }
}

impl Drop for NewTask {
    fn drop(&mut self) {
        if !self.begun {
            self.handle.tasks.lock().by_id.remove(&self.handle.id);
        }
    }
}

/// There are too many tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there are too many tasks: wait for one to end, or cancel one, and try again")]
pub struct NoRoom;

/// Tasks of one server, for all its clients. Clones are the same.
#[derive(Clone)]
pub struct Tasks {
    shared: Arc<Shared>,
}

struct Shared {
    entries: Mutex<Entries>,
    changes: watch::Sender<u64>,
}

struct Entries {
    limits: TaskLimits,
    by_id: HashMap<String, Entry>,
    /// Of all results.
    bytes: usize,
    /// The server begins to stop: what begins now is waited for too.
    draining: bool,
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
    /// None yet.
    pub fn new(limits: TaskLimits) -> Self {
        let entries = Entries { limits, by_id: HashMap::new(), bytes: 0, draining: false };
        Self { shared: Arc::new(Shared { entries: Mutex::new(entries), changes: watch::Sender::new(0) }) }
    }

    /// Other bounds, for tasks that begin from now on.
    pub fn set_limits(&self, limits: TaskLimits) {
        self.lock().limits = limits;
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.shared.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a task of `owner`, which its client may know of from now on.
    ///
    /// # Errors
    ///
    /// There are too many.
    pub fn reserve(&self, owner: Option<&Principal>) -> Result<NewTask, NoRoom> {
        let id = crate::random_id();
        let mut entry = Entry::new(owner.cloned());
        let cancel = entry.cancel.clone();
        let mut entries = self.lock();
        entries.sweep();
        entries.admit(owner)?;
        entry.awaited = entries.draining;
        entries.by_id.insert(id.clone(), entry);
        Ok(NewTask { handle: TaskHandle { tasks: self.clone(), id, cancel }, begun: false })
    }

    fn end(&self, id: &str, end: TaskEnd) {
        let (mut payload, mut bytes, mut message) = match end {
            TaskEnd::Cancelled(message) => (TaskPayload::Cancelled, 0, message),
            TaskEnd::Error(error) => failed(error.message.to_string(), &error),
            TaskEnd::Result(result) => match serde_json::to_value(&result) {
                Ok(Value::Object(result)) => {
                    let bytes = serde_json::to_vec(&result).map_or(usize::MAX, |text| text.len());
                    (TaskPayload::Completed { result }, bytes, None)
                }
                _ => failed_because("the result cannot be written as JSON"),
            },
        };
        {
            let mut entries = self.lock();
            let (largest, room, own_room) =
                (entries.limits.result_bytes, entries.limits.bytes, entries.limits.bytes_each);
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
        self.tell();
    }

    /// How a task of `owner` goes (`tasks/get`).
    ///
    /// # Errors
    ///
    /// It has none of that name.
    pub fn get(&self, owner: Option<&Principal>, id: &str) -> Result<DetailedTask, ErrorData> {
        let (task, first) = {
            let mut entries = self.lock();
            entries.sweep();
            let limits = entries.limits.clone();
            let entry = entries.find(owner, id)?;
            let first = entry.ended.as_mut().is_some_and(|ended| !std::mem::replace(&mut ended.fetched, true));
            (entry.detailed(id, &limits), first)
        };
        if first {
            self.tell();
        }
        Ok(task)
    }

    /// Answers to questions of a task of `owner` (`tasks/update`). What nobody asks is passed over.
    ///
    /// # Errors
    ///
    /// It has none of that name.
    pub fn update(
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
                    entry.touch();
                    // Work that does not wait any more wants no answer.
                    let _ = open.answer.send(answer);
                }
            }
        }
        self.tell();
        Ok(())
    }

    /// Stops a task of `owner` (`tasks/cancel`); one that has ended stays as it is.
    ///
    /// # Errors
    ///
    /// It has none of that name.
    pub fn cancel(&self, owner: Option<&Principal>, id: &str) -> Result<(), ErrorData> {
        {
            let mut entries = self.lock();
            entries.sweep();
            let entry = entries.find(owner, id)?;
            if entry.is_running() {
                entry.unwanted = true;
                entry.open.clear();
                entry.touch();
                entry.cancel.cancel();
            }
        }
        self.tell();
        Ok(())
    }

    /// How many have not ended.
    pub fn running(&self) -> usize {
        self.lock().by_id.values().filter(|entry| entry.is_running()).count()
    }

    /// Stops all of them: nobody is left to ask for what becomes of them.
    pub fn end_all(&self) {
        for entry in self.lock().by_id.values_mut() {
            entry.open.clear();
            entry.cancel.cancel();
        }
    }

    /// Those that run now, and those that still begin, are waited for by [`Tasks::settled`].
    pub(crate) fn begin_drain(&self) {
        let mut entries = self.lock();
        entries.draining = true;
        for entry in entries.by_id.values_mut().filter(|entry| entry.is_running()) {
            entry.awaited = true;
        }
    }

    /// Whether a task is still waited for.
    pub(crate) fn is_awaited(&self) -> bool {
        self.lock().by_id.values().any(|entry| entry.awaited && !entry.is_fetched())
    }

    /// Waits until all that ran when the drain began have ended and were fetched.
    pub(crate) async fn settled(&self) {
        let mut changes = self.shared.changes.subscribe();
        while self.is_awaited() {
            // The sender is ours: this fails never.
            let _ = changes.changed().await;
        }
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changes.subscribe()
    }

    /// A task of `owner` and which of its states this is; its result stays unfetched.
    pub(super) fn look(&self, owner: Option<&Principal>, id: &str) -> Option<(u64, DetailedTask)> {
        let mut entries = self.lock();
        let limits = entries.limits.clone();
        let entry = entries.find(owner, id).ok()?;
        Some((entry.version, entry.detailed(id, &limits)))
    }

    /// Those who watch look again.
    pub(super) fn tell(&self) {
        self.shared.changes.send_modify(|change| *change = change.wrapping_add(1));
    }

    pub(super) fn with<T>(&self, id: &str, look: impl FnOnce(&mut Entry) -> T) -> Option<T> {
        self.lock().by_id.get_mut(id).map(look)
    }

    /// Notes a question; the name it got.
    pub(super) fn open(
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
            if entry.open.len() >= MAX_OPEN {
                return Err(format!("more than {MAX_OPEN} questions at once"));
            }
            if entry.asked.len() >= MAX_ASKED {
                return Err(format!("more than {MAX_ASKED} questions"));
            }
            let mut name = key.to_owned();
            let mut number = entry.asked.len();
            while !entry.asked.insert(name.clone()) {
                number += 1;
                name = format!("{key}-{number}");
            }
            entry.open.insert(name.clone(), Open { request, answer });
            entry.touch();
            Ok(name)
        });
        let key = key.unwrap_or_else(|| Err("the task is gone".to_owned()))?;
        self.tell();
        Ok(key)
    }
}

impl Entries {
    /// # Errors
    ///
    /// There is none, or it is not the owner's.
    fn find(&mut self, owner: Option<&Principal>, id: &str) -> Result<&mut Entry, ErrorData> {
        let found = self.by_id.get_mut(id).filter(|entry| entry.owner.as_ref() == owner);
        found.ok_or_else(|| ErrorData::invalid_params("there is no such task: it never was, or its time is over", None))
    }

    /// Forgets those whose time is over.
    fn sweep(&mut self) {
        let ttl = self.limits.run.saturating_add(self.limits.keep);
        self.by_id.retain(|_, entry| {
            let over = entry.is_over(ttl);
            if let Some(ended) = entry.ended.as_ref().filter(|_| over) {
                self.bytes -= ended.bytes;
            }
            !over
        });
    }

    /// Bytes of the results of `owner`.
    fn bytes_of(&self, owner: Option<&Principal>) -> usize {
        let own = self.by_id.values().filter(|entry| entry.owner.as_ref() == owner);
        own.filter_map(|entry| entry.ended.as_ref()).map(|ended| ended.bytes).sum()
    }

    /// Makes room for one more of `owner`.
    fn admit(&mut self, owner: Option<&Principal>) -> Result<(), NoRoom> {
        let of_owner = |entries: &Self| entries.by_id.values().filter(|entry| entry.owner.as_ref() == owner).count();
        let room = self.make_room(None, |entries| entries.by_id.len() >= entries.limits.tasks)
            && (owner.is_none() || self.make_room(owner, |entries| of_owner(entries) >= entries.limits.tasks_each));
        room.then_some(()).ok_or(NoRoom)
    }

    /// Forgets tasks (of `owner`, if that is given) that were fetched, the oldest first, as long as there is too much. False
    /// when that is not enough.
    fn make_room(&mut self, owner: Option<&Principal>, too_much: impl Fn(&Self) -> bool) -> bool {
        while too_much(self) {
            let fetched = self
                .by_id
                .iter()
                .filter(|(_, entry)| entry.is_fetched() && (owner.is_none() || entry.owner.as_ref() == owner));
            let oldest = fetched.min_by_key(|(_, entry)| entry.ended.as_ref().map(|ended| ended.at));
            let Some(id) = oldest.map(|(id, _)| id.clone()) else { return false };
            if let Some(ended) = self.by_id.remove(&id).and_then(|entry| entry.ended) {
                self.bytes -= ended.bytes;
            }
        }
        true
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
        let limits = TaskLimits { bytes_each: 1500, bytes: 10_000, ..TaskLimits::default() };
        let tasks = Tasks::new(limits);
        let mut completed = Vec::new();
        for owner in ["ada", "ada", "bob"].map(Principal::new) {
            let task = tasks.reserve(Some(&owner)).expect("room for a task");
            let id = task.handle().id.clone();
            let text = ContentBlock::text("x".repeat(1000));
            task.run(std::future::ready(TaskEnd::Result(CallToolResult::success(vec![text]))));
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
