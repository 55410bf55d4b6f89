//! Progress of compiling, for callers that show it.

use std::sync::Arc;

/// Progress of compiling.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Modules done.
    pub done: usize,
    /// Modules in all.
    pub total: usize,
    /// Name of the module that is being compiled.
    pub name: String,
}

/// Receives progress of long work.
pub type ProgressFn = Arc<dyn Fn(Progress) + Send + Sync>;

/// Reports progress if a callback is set.
pub(super) fn report_to(progress: Option<&ProgressFn>, done: usize, total: usize, name: &str) {
    if let Some(progress) = progress {
        progress(Progress { done, total, name: name.to_owned() });
    }
}
