//! Which requests still wait for their answer.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use rmcp::model::RequestId;
use tokio::sync::Notify;

/// The requests of one connection that are not answered yet.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    ids: Mutex<HashSet<RequestId>>,
    changed: Notify,
}

impl InFlight {
    pub(crate) fn begin(&self, id: RequestId) {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
    }

    /// The request is answered, or its answer will never be sent.
    pub(crate) fn end(&self, id: &RequestId) {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        self.changed.notify_waiters();
    }

    /// Waits until no request is under way.
    pub(crate) async fn idle(&self) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Registered before the look, so that no end is missed in between.
            changed.as_mut().enable();
            if self.ids.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
                return;
            }
            changed.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test]
    async fn idle_waits_for_the_last_answer() {
        let calls = Arc::new(InFlight::default());
        calls.idle().await;
        let (one, two) = (RequestId::Number(1), RequestId::String("two".into()));
        calls.begin(one.clone());
        calls.begin(two.clone());
        let waiting = tokio::spawn({
            let calls = Arc::clone(&calls);
            async move { calls.idle().await }
        });
        calls.end(&one);
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        calls.end(&two);
        waiting.await.unwrap();
    }
}
