//! Progress of compiling, for whoever wants to show it.

use std::sync::Arc;

/// How far compiling has come.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Modules done.
    pub done: usize,
    /// Modules in all.
    pub total: usize,
    /// What is being compiled.
    pub name: String,
}

/// Receives progress of long work.
pub type ProgressFn = Arc<dyn Fn(Progress) + Send + Sync>;

/// Reports progress, if somebody listens.
pub(super) fn report_to(progress: Option<&ProgressFn>, done: usize, total: usize, name: &str) {
    if let Some(progress) = progress {
        progress(Progress { done, total, name: name.to_owned() });
    }
}
