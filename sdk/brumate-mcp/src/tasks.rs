//! Tasks (`io.modelcontextprotocol/tasks`, SEP-2663): tool calls that go on after their request was answered.
//!
//! The client gets the task's id. With the id it asks for the status (`tasks/get`), answers input requests
//! (`tasks/update`) and cancels the task (`tasks/cancel`). [`TaskLimits`] bounds the tasks of a server. A client gets
//! the same error for a task of another principal, a task that never was, and a task that was forgotten.

mod entry;
mod handle;
mod reservation;
mod store;
mod subscription;
mod table;

pub(crate) use entry::TaskOutcome;
pub(crate) use handle::TaskHandle;
pub(crate) use reservation::TaskReservation;
pub(crate) use store::Tasks;
pub(crate) use subscription::{SubscribedTasks, follow};
pub(crate) use table::TooManyTasks;

use std::time::Duration;

/// The extension's identifier.
pub(crate) const EXTENSION: &str = rmcp::model::TASKS_EXTENSION_ID;

/// Whether calls of a tool become tasks.
///
/// Only a request that declares the extension in its capabilities gets a task, and only since protocol 2026-07-28.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskSupport {
    /// Never. The answer is the result. This is the default.
    #[default]
    Never,
    /// For clients that support tasks. The answer to others is the result.
    Optional,
    /// Always. Clients that do not support tasks get the error -32021 (missing required client capability).
    Required,
}

/// Limits of the tasks of a server, which are kept in memory; see [`Server::task_limits`](crate::Server::task_limits).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TaskLimits {
    /// The most tasks at a time, ended ones included; 1024 by default.
    pub max_tasks: usize,
    /// The most tasks of one principal; 128 by default. Clients without a principal share [`TaskLimits::max_tasks`].
    pub max_tasks_per_principal: usize,
    /// The longest time that a task may run; 6 hours by default. Then it is stopped and has failed.
    pub max_run_time: Duration,
    /// How long the result of a task that ran for the whole of [`TaskLimits::max_run_time`] is kept; 1 hour by default.
    /// A task's `ttl` is the sum of both.
    pub result_retention: Duration,
    /// The largest result, in bytes of JSON; 32 MiB by default. A task with a larger result has failed.
    pub max_result_bytes: usize,
    /// The most bytes of all results together; 256 MiB by default. Fetched results make room first.
    pub max_total_bytes: usize,
    /// The most bytes of the results of one principal; 64 MiB by default. Fetched results make room first. Clients
    /// without a principal share [`TaskLimits::max_total_bytes`].
    pub max_bytes_per_principal: usize,
    /// The time after which a client should ask for the status again (`pollInterval`); 1 second by default.
    pub poll_interval: Duration,
}

impl Default for TaskLimits {
    fn default() -> Self {
        Self {
            max_tasks: 1024,
            max_tasks_per_principal: 128,
            max_run_time: Duration::from_secs(6 * 60 * 60),
            result_retention: Duration::from_secs(60 * 60),
            max_result_bytes: 32 << 20,
            max_total_bytes: 256 << 20,
            max_bytes_per_principal: 64 << 20,
            poll_interval: Duration::from_secs(1),
        }
    }
}
