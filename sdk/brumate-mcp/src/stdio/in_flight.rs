//! Requests of one connection that wait for their answers.

use super::response_budget::ResponseRoom;
use crate::sync::lock;
use rmcp::model::RequestId;
use std::collections::HashMap;
use std::sync::Mutex;
use tokio::sync::Notify;

/// Most unanswered requests of one connection. Further requests are answered with an error.
pub(super) const MAX_IN_FLIGHT: usize = 1024;

/// The reason why a request is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RejectReason {
    /// Another unanswered request has this id.
    IdInUse,
    /// There are [`MAX_IN_FLIGHT`] unanswered requests.
    TooMany,
}

/// The unanswered requests of one connection, each with the memory that is reserved for its answer.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    ids: Mutex<HashMap<RequestId, ResponseRoom>>,
    changed: Notify,
}

impl InFlight {
    /// Adds a request.
    ///
    /// # Errors
    ///
    /// Returns the reason why the request is rejected.
    pub(super) fn begin(&self, id: RequestId, room: ResponseRoom) -> Result<(), RejectReason> {
        let mut ids = lock(&self.ids);
        if ids.contains_key(&id) {
            return Err(RejectReason::IdInUse);
        }
        if ids.len() >= MAX_IN_FLIGHT {
            return Err(RejectReason::TooMany);
        }
        ids.insert(id, room);
        Ok(())
    }

    /// Removes a request that is answered or cancelled.
    pub(super) fn end(&self, id: &RequestId) {
        lock(&self.ids).remove(id);
        self.changed.notify_waiters();
    }

    /// Waits until all requests are answered.
    pub(super) async fn idle(&self) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Registered before the check, so that no notification is missed in between.
            changed.as_mut().enable();
            if lock(&self.ids).is_empty() {
                return;
            }
            changed.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stdio::response_budget::ResponseBudget;
    use rmcp::model::Extensions;
    use std::sync::Arc;

    #[tokio::test]
    async fn idle_waits_for_the_last_answer() {
        let calls = Arc::new(InFlight::default());
        calls.idle().await;
        let (one, two) = (RequestId::Number(1), RequestId::String("two".into()));
        let room = || ResponseBudget::default().enter(&mut Extensions::new());
        calls.begin(one.clone(), room()).unwrap();
        calls.begin(two.clone(), room()).unwrap();
        assert_eq!(calls.begin(one.clone(), room()), Err(RejectReason::IdInUse));
        let waiting = tokio::spawn({
            let calls = Arc::clone(&calls);
            async move { calls.idle().await }
        });
        calls.end(&one);
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        assert_eq!(calls.begin(two.clone(), room()), Err(RejectReason::IdInUse));
        calls.end(&two);
        waiting.await.unwrap();
        for number in 0..MAX_IN_FLIGHT {
            calls.begin(RequestId::Number(number as i64), room()).unwrap();
        }
        assert_eq!(calls.begin(one, room()), Err(RejectReason::IdInUse));
        assert_eq!(calls.begin(RequestId::Number(-1), room()), Err(RejectReason::TooMany));
    }
}
