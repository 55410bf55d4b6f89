//! Notifications of the states of tasks (`notifications/tasks`).
//!
//! A client names the tasks in its `subscriptions/listen`. rmcp 3.11 drops their ids from that request. Over HTTP they
//! are read from the request's body ([`SubscribedTasks`]) and put into the acknowledgement. On other transports clients
//! poll (`tasks/get`).

use super::EXTENSION;
use super::store::Tasks;
use crate::principal::Principal;
use rmcp::model::{
    DetailedTask, NotificationMetaObject, ServerNotification, TaskStatusNotification, TaskStatusNotificationParams,
};
use rmcp::service::SubscriptionContext;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::sync::Arc;

/// The most tasks that one stream may subscribe to.
const MAX_SUBSCRIBED_TASKS: usize = 256;

/// The notification that acknowledges a subscription.
const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// The tasks that a request subscribes to, in the extensions of its head. Tasks of other principals are left out.
#[derive(Clone, Debug)]
pub(crate) struct SubscribedTasks(Arc<[String]>);

impl SubscribedTasks {
    /// Reads the tasks from the body of `subscriptions/listen`. `None` if it names no tasks, or if its client does not
    /// support them.
    pub(crate) fn read(body: &[u8], owner: Option<&Principal>, tasks: &Tasks) -> Option<Self> {
        #[derive(Deserialize)]
        struct Message {
            method: String,
            params: Params,
        }
        #[derive(Deserialize)]
        struct Params {
            #[serde(rename = "_meta", default)]
            meta: Map<String, Value>,
            notifications: Notifications,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Notifications {
            task_ids: Vec<String>,
        }
        let Message { method, params } = serde_json::from_slice(body).ok()?;
        let capabilities = params.meta.get("io.modelcontextprotocol/clientCapabilities");
        if method != "subscriptions/listen" || capabilities?.get("extensions")?.get(EXTENSION).is_none() {
            return None;
        }
        let named = params.notifications.task_ids.into_iter().take(MAX_SUBSCRIBED_TASKS);
        Some(Self(named.filter(|id| tasks.snapshot(owner, id).is_some()).collect()))
    }

    /// Puts the tasks into the acknowledgement, if the event is the acknowledgement.
    pub(crate) fn acknowledge(&self, event: &str) -> Option<String> {
        let acknowledged = |line: &str| {
            let mut message: Value = serde_json::from_str(line.strip_prefix("data:")?.trim_start()).ok()?;
            if message.get("method")? != ACKNOWLEDGED {
                return None;
            }
            message["params"]["notifications"]["taskIds"] = json!(self.0);
            Some(format!("data: {message}"))
        };
        let mut found = false;
        let lines: Vec<String> = event
            .split('\n')
            .map(|line| acknowledged(line).inspect(|_| found = true).unwrap_or_else(|| line.to_owned()))
            .collect();
        found.then(|| lines.join("\n"))
    }
}

/// Sends every state of the tasks of a subscription, until each of them has ended or is gone.
pub(crate) async fn follow(tasks: &Tasks, context: &SubscriptionContext) {
    let request = context.request_context();
    let Some(head) = request.extensions.get::<http::request::Parts>() else { return };
    let Some(SubscribedTasks(ids)) = head.extensions.get::<SubscribedTasks>() else { return };
    let owner = head.extensions.get::<Principal>();
    let mut changes = tasks.changes();
    let mut known: HashMap<&String, Option<u64>> = ids.iter().map(|id| (id, None)).collect();
    while !known.is_empty() {
        changes.mark_unchanged();
        let mut news: Vec<DetailedTask> = Vec::new();
        known.retain(|id, seen| {
            let Some((version, task)) = tasks.snapshot(owner, id) else { return false };
            let ended = task.status().is_terminal();
            if *seen != Some(version) {
                *seen = Some(version);
                news.push(task);
            }
            !ended
        });
        for task in news {
            let mut meta = NotificationMetaObject::new();
            meta.set_subscription_id(request.id.clone());
            let params = TaskStatusNotificationParams::new(task).with_meta(meta);
            let notification = ServerNotification::TaskStatusNotification(TaskStatusNotification::new(params));
            if request.peer.send_notification(notification).await.is_err() {
                return;
            }
        }
        if !known.is_empty() && changes.changed().await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acknowledgement_names_the_tasks_and_nothing_else_is_touched() {
        let followed = SubscribedTasks(["a".to_owned()].into());
        let event = format!("id: 1\ndata: {{\"method\":\"{ACKNOWLEDGED}\",\"params\":{{\"notifications\":{{}}}}}}\n\n");
        let said = followed.acknowledge(&event).expect("an acknowledgement");
        assert!(said.starts_with("id: 1\ndata: {") && said.ends_with("\"taskIds\":[\"a\"]}}}\n\n"), "{said}");
        assert_eq!(followed.acknowledge("data: {\"method\":\"notifications/message\"}\n\n"), None);
        assert_eq!(followed.acknowledge(":\n\n"), None);
    }
}
