//! The sessions that a client has used, whose files `resources/list` names.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use brumate_mcp::Context;
use parking_lot::Mutex;

/// Most sessions whose files a client sees listed.
const MAX_REMEMBERED: usize = 256;

/// The state of a client that outlives its calls.
#[derive(Debug, Default)]
pub(crate) struct ClientSessions {
    /// Ids of the sessions that the client has used, newest last.
    used: Mutex<VecDeque<String>>,
    /// Whether the list of resources has changed since the last notification.
    changed: AtomicBool,
}

impl ClientSessions {
    /// Returns the sessions of the client that sends a request.
    pub(crate) fn of(context: &Context) -> Arc<Self> {
        context.client_state()
    }

    /// Lists the files of a session in `resources/list` from now on. Clients that do not know each other see none.
    pub(crate) fn add(context: &Context, id: &str) {
        if context.shares_client_state() {
            return;
        }
        let this = Self::of(context);
        let mut used = this.used.lock();
        used.retain(|known| known != id);
        if used.len() >= MAX_REMEMBERED {
            used.pop_front();
        }
        used.push_back(id.to_owned());
    }

    /// Stops listing the files of a session.
    pub(crate) fn remove(&self, id: &str) {
        self.used.lock().retain(|known| known != id);
        self.set_changed();
    }

    /// Returns the ids of the sessions, newest last.
    pub(crate) fn used(&self) -> Vec<String> {
        self.used.lock().iter().cloned().collect()
    }

    /// Notes that the list of resources has changed.
    pub(crate) fn set_changed(&self) {
        self.changed.store(true, Ordering::Relaxed);
    }

    /// Notifies the client if the list of resources has changed. Since protocol 2026-07-28 its subscriptions
    /// are notified, before that its connection.
    pub(crate) async fn notify(context: &Context) {
        if Self::of(context).changed.swap(false, Ordering::Relaxed) {
            context.notify_resources_changed().await;
        }
    }
}
