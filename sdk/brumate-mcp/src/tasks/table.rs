//! The tasks of one server by id, and the room for them and their results.

use super::TaskLimits;
use super::entry::TaskEntry;
use crate::principal::Principal;
use rmcp::ErrorData;
use std::collections::HashMap;

/// The error when there are too many tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there are too many tasks: wait for one to end, or cancel one, and try again")]
pub(crate) struct TooManyTasks;

/// Tasks by id.
pub(super) struct TaskTable {
    pub(super) limits: TaskLimits,
    pub(super) by_id: HashMap<String, TaskEntry>,
    /// The bytes of all results.
    pub(super) bytes: usize,
    /// Whether the server drains. It waits for tasks that begin now as well.
    pub(super) draining: bool,
}

impl TaskTable {
    pub(super) fn new(limits: TaskLimits) -> Self {
        Self { limits, by_id: HashMap::new(), bytes: 0, draining: false }
    }

    /// Finds a task of `owner`.
    ///
    /// # Errors
    ///
    /// Returns "invalid params" if there is none, or if it belongs to another principal.
    pub(super) fn find(&mut self, owner: Option<&Principal>, id: &str) -> Result<&mut TaskEntry, ErrorData> {
        let found = self.by_id.get_mut(id).filter(|entry| entry.owner.as_ref() == owner);
        found.ok_or_else(|| ErrorData::invalid_params("there is no such task: it never was, or its time is over", None))
    }

    /// Removes the tasks whose TTL is over.
    pub(super) fn sweep(&mut self) {
        let ttl = self.limits.max_run_time.saturating_add(self.limits.result_retention);
        self.by_id.retain(|_, entry| {
            let over = entry.is_over(ttl);
            if let Some(ended) = entry.ended.as_ref().filter(|_| over) {
                self.bytes -= ended.bytes;
            }
            !over
        });
    }

    /// Returns the bytes of the results of `owner`.
    pub(super) fn bytes_of(&self, owner: Option<&Principal>) -> usize {
        let own = self.by_id.values().filter(|entry| entry.owner.as_ref() == owner);
        own.filter_map(|entry| entry.ended.as_ref()).map(|ended| ended.bytes).sum()
    }

    /// Makes room for one more task of `owner`.
    pub(super) fn admit(&mut self, owner: Option<&Principal>) -> Result<(), TooManyTasks> {
        let of_owner = |entries: &Self| entries.by_id.values().filter(|entry| entry.owner.as_ref() == owner).count();
        let room = self.make_room(None, |entries| entries.by_id.len() >= entries.limits.max_tasks)
            && (owner.is_none()
                || self.make_room(owner, |entries| of_owner(entries) >= entries.limits.max_tasks_per_principal));
        room.then_some(()).ok_or(TooManyTasks)
    }

    /// Removes fetched tasks (of `owner`, if given), the oldest first, until `too_much` is false. Returns false if that
    /// is not enough.
    pub(super) fn make_room(&mut self, owner: Option<&Principal>, too_much: impl Fn(&Self) -> bool) -> bool {
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
