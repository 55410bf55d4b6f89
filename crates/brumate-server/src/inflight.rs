//! Which requests still wait for their answer.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use brumate_mcp::lowlevel::ResponseRoom;
use rmcp::model::RequestId;
use tokio::sync::Notify;

/// Requests of one connection that are not answered yet. More are answered with an error.
pub(crate) const MAX_IN_FLIGHT: usize = 1024;

/// The reason why a request is not begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotBegun {
    /// Another one with its id is not answered yet.
    IdInUse,
    /// There are [`MAX_IN_FLIGHT`].
    TooMany,
}

/// The requests of one connection that are not answered yet, with the room that their answers take.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    ids: Mutex<HashMap<RequestId, ResponseRoom>>,
    changed: Notify,
}

impl InFlight {
    /// Begins a request.
    ///
    /// # Errors
    ///
    /// Its id is in use, or there are too many.
    pub(crate) fn begin(&self, id: RequestId, room: ResponseRoom) -> Result<(), NotBegun> {
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        if ids.contains_key(&id) {
            return Err(NotBegun::IdInUse);
        }
        if ids.len() >= MAX_IN_FLIGHT {
            return Err(NotBegun::TooMany);
        }
        ids.insert(id, room);
        Ok(())
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

    use brumate_mcp::lowlevel::ResponseBudget;
    use rmcp::model::Extensions;

    use super::*;

    #[tokio::test]
    async fn idle_waits_for_the_last_answer() {
        let calls = Arc::new(InFlight::default());
        calls.idle().await;
        let (one, two) = (RequestId::Number(1), RequestId::String("two".into()));
        let room = || ResponseBudget::default().enter(&mut Extensions::new());
        calls.begin(one.clone(), room()).unwrap();
        calls.begin(two.clone(), room()).unwrap();
        assert_eq!(calls.begin(one.clone(), room()), Err(NotBegun::IdInUse));
        let waiting = tokio::spawn({
            let calls = Arc::clone(&calls);
            async move { calls.idle().await }
        });
        calls.end(&one);
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        assert_eq!(calls.begin(two.clone(), room()), Err(NotBegun::IdInUse));
        calls.end(&two);
        waiting.await.unwrap();
        for number in 0..MAX_IN_FLIGHT {
            calls.begin(RequestId::Number(number as i64), room()).unwrap();
        }
        assert_eq!(calls.begin(one, room()), Err(NotBegun::IdInUse));
        assert_eq!(calls.begin(RequestId::Number(-1), room()), Err(NotBegun::TooMany));
    }
}
