//! Reserved tasks, and the work that runs in them.

use super::entry::{TaskEntry, TaskOutcome};
use super::handle::TaskHandle;
use super::store::Tasks;
use super::table::TooManyTasks;
use crate::principal::Principal;
use futures::FutureExt as _;
use rmcp::ErrorData;
use rmcp::model::Task;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

/// How long work that has run for too long may take to end.
const CANCEL_GRACE: Duration = Duration::from_secs(5);

/// A place for a task. Dropped without [`TaskReservation::run`], it is free again.
#[derive(Debug)]
pub(crate) struct TaskReservation {
    handle: TaskHandle,
    begun: bool,
}

impl TaskReservation {
    /// Returns the handle for the work.
    pub(crate) fn handle(&self) -> &TaskHandle {
        &self.handle
    }

    /// Starts the work in the background. Returns the task for the client.
    pub(crate) fn run(mut self, work: impl Future<Output = TaskOutcome> + Send + 'static) -> Task {
        self.begun = true;
        let TaskHandle { tasks, id, cancel } = self.handle.clone();
        let (task, longest) = {
            let entries = tasks.lock();
            let longest = entries.limits.max_run_time;
            // A reserved task is there: only ended tasks are removed.
            let task = entries.by_id.get(&id).map(|entry| entry.summary(&id, &entries.limits));
            (task.unwrap_or_default(), longest)
        };
        tokio::spawn(async move {
            let mut work = Box::pin(AssertUnwindSafe(work).catch_unwind());
            let ended = match tokio::time::timeout(longest, &mut work).await {
                Ok(ended) => ended,
                Err(_) => {
                    cancel.cancel();
                    // Its outcome is dropped: the task has failed.
                    let _ = tokio::time::timeout(CANCEL_GRACE, &mut work).await;
                    let text = format!("the task was stopped: it ran for more than {} seconds", longest.as_secs());
                    Ok(TaskOutcome::Error(ErrorData::internal_error(text, None)))
                }
            };
            let ended = ended.unwrap_or_else(|_| {
                tracing::error!("the work of a task panicked");
                TaskOutcome::Error(ErrorData::internal_error("the task failed unexpectedly", None))
            });
            tasks.end(&id, ended);
        });
        task
    }
}

impl Drop for TaskReservation {
    fn drop(&mut self) {
        if !self.begun {
            self.handle.tasks.lock().by_id.remove(&self.handle.id);
        }
    }
}

impl Tasks {
    /// Reserves a task for `owner`.
    ///
    /// # Errors
    ///
    /// Returns [`TooManyTasks`] if there is no room for another one.
    pub(crate) fn reserve(&self, owner: Option<&Principal>) -> Result<TaskReservation, TooManyTasks> {
        let id = crate::random_id();
        let mut entry = TaskEntry::new(owner.cloned());
        let cancel = entry.cancel.clone();
        let mut entries = self.lock();
        entries.sweep();
        entries.admit(owner)?;
        entry.awaited_by_drain = entries.draining;
        entries.by_id.insert(id.clone(), entry);
        Ok(TaskReservation { handle: TaskHandle { tasks: self.clone(), id, cancel }, begun: false })
    }
}
