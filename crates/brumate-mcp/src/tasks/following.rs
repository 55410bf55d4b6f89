//! Telling who listens how tasks go (`notifications/tasks`).

use super::store::Tasks;
use crate::http::Principal;
use rmcp::model::DetailedTask;
use std::collections::HashMap;

/// The most tasks that one stream may follow.
pub(crate) const MAX_FOLLOWED: usize = 256;

/// Tells of every state of the tasks `ids` of `owner` that is seen, until each of them has ended or is gone, or `tell` is
/// false.
pub(crate) async fn follow<F>(
    tasks: &Tasks,
    owner: Option<&Principal>,
    ids: &[String],
    mut tell: impl FnMut(DetailedTask) -> F,
) where
    F: Future<Output = bool>,
{
    let mut changes = tasks.changes();
    let mut known: HashMap<&String, Option<u64>> = ids.iter().take(MAX_FOLLOWED).map(|id| (id, None)).collect();
    while !known.is_empty() {
        changes.mark_unchanged();
        let mut news = Vec::new();
        known.retain(|id, seen| {
            let Some((version, task)) = tasks.look(owner, id) else { return false };
            let ended = task.status().is_terminal();
            if *seen != Some(version) {
                *seen = Some(version);
                news.push(task);
            }
            !ended
        });
        for task in news {
            if !tell(task).await {
                return;
            }
        }
        if changes.changed().await.is_err() {
            return;
        }
    }
}
