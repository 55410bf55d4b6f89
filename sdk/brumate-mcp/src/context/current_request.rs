//! The request that the client of a call waits on: the first one, or a later one with the answers to input requests.
//! Between two requests the client waits on none.

use super::Context;
use crate::sync::lock;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;

/// The current request of a call. Notifications and input requests go to its client.
#[derive(Default)]
pub(super) struct CurrentRequest {
    position: Mutex<Position>,
    /// Notified when another request is the current one, and when the call becomes a task.
    changed: Notify,
}

/// Position of a call in the sequence of its requests.
#[derive(Clone, Default)]
enum Position {
    /// In the request that began the call.
    #[default]
    First,
    /// In a request that brought input.
    Later(Arc<RequestContext<RoleServer>>),
    /// Between two requests: the client fetches the input.
    Between,
}

impl Context {
    /// Looks at the current request. Returns `None` between two requests.
    pub(super) fn with_current<T>(&self, look: impl FnOnce(&RequestContext<RoleServer>) -> T) -> Option<T> {
        let position = lock(&self.inner.current.position).clone();
        match &position {
            Position::First => Some(look(&self.inner.request)),
            Position::Later(request) => Some(look(request)),
            Position::Between => None,
        }
    }

    /// Notes that the current request is answered with input requests.
    pub(crate) fn leave_request(&self) {
        *lock(&self.inner.current.position) = Position::Between;
        self.inner.current.changed.notify_waiters();
    }

    /// Notes that the client waits on `request` from now on. Its progress begins anew.
    pub(crate) fn enter_request(&self, request: RequestContext<RoleServer>) {
        *lock(&self.inner.progress) = f64::NEG_INFINITY;
        *lock(&self.inner.current.position) = Position::Later(Arc::new(request));
        self.inner.current.changed.notify_waiters();
    }

    /// Wakes [`Context::cancelled`] for another look at the request and the task.
    pub(super) fn notify_current_changed(&self) {
        self.inner.current.changed.notify_waiters();
    }

    /// Waits until the current request is cancelled, by the client or by the end of its session, and fires the token. A
    /// task outlives its request: it is cancelled itself.
    pub(crate) async fn cancelled(&self) {
        loop {
            let changed = self.inner.current.changed.notified();
            let token = match self.task() {
                Some(task) => Some(task.cancellation().clone()),
                None => self.with_current(|request| request.ct.clone()),
            };
            let ended = async {
                match token {
                    Some(token) => token.cancelled().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = self.inner.token.cancelled() => return,
                () = changed => {}
                () = ended => return self.inner.token.cancel(),
            }
        }
    }

    /// Returns whether the request is cancelled. Blocking handlers look at it.
    pub fn is_cancelled(&self) -> bool {
        let ended = match self.task() {
            Some(task) => task.cancellation().is_cancelled(),
            None => self.with_current(|request| request.ct.is_cancelled()).unwrap_or(false),
        };
        ended || self.inner.token.is_cancelled()
    }
}
