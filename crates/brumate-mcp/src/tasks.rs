//! Tasks (`io.modelcontextprotocol/tasks`, SEP-2663): calls of tools that go on after their request was answered.
//!
//! The client is given a name for the work. With it it asks how the work goes (`tasks/get`), answers its questions
//! (`tasks/update`) and stops it (`tasks/cancel`). What is kept is bounded by [`TaskLimits`]; all else is as if it were not
//! there: a task of another principal, one that never was, one whose time is over.

mod entry;
mod following;
mod handle;
mod store;

pub(crate) use following::{Followed, follow};
pub use handle::{TaskEnd, TaskHandle};
pub use store::{NewTask, NoRoom, Tasks};

use std::time::Duration;

/// The extension's identifier.
pub(crate) const EXTENSION: &str = rmcp::model::TASKS_EXTENSION_ID;

/// Whether the calls of a tool become tasks. Only clients that have declared the extension with their request are given
/// tasks, and only in protocols since 2026-07-28.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskSupport {
    /// Never: the answer is the result.
    #[default]
    Never,
    /// Where the client knows tasks; for others the answer is the result.
    Optional,
    /// Always: clients that do not know tasks are told that they must.
    Required,
}

/// Bounds of the tasks of a server, which are kept in memory.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TaskLimits {
    /// Tasks that are known at a time, those that have ended included; 1024.
    pub tasks: usize,
    /// Of one principal; 128. Clients nobody knows share all there are.
    pub tasks_each: usize,
    /// The longest a task may run; 6 hours. Then it is stopped and has failed.
    pub run: Duration,
    /// How long the result of the longest task is kept; 1 hour. A task's TTL is both together.
    pub keep: Duration,
    /// The largest result, in bytes of JSON; 32 MiB. A task with a larger one has failed.
    pub result_bytes: usize,
    /// All results together; 256 MiB. Those that were fetched make room for others first.
    pub bytes: usize,
    /// The results of one principal; 64 MiB. Those that were fetched make room for others first. Clients nobody knows share all
    /// there is.
    pub bytes_each: usize,
    /// How often clients should ask; every second.
    pub poll: Duration,
}

impl Default for TaskLimits {
    fn default() -> Self {
        Self {
            tasks: 1024,
            tasks_each: 128,
            run: Duration::from_secs(6 * 60 * 60),
            keep: Duration::from_secs(60 * 60),
            result_bytes: 32 << 20,
            bytes: 256 << 20,
            bytes_each: 64 << 20,
            poll: Duration::from_secs(1),
        }
    }
}
