//! The handle with which the work of a task reaches its client.

use super::store::Tasks;
use rmcp::model::InputRequest;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// A task, for the work that runs in it.
#[derive(Clone, Debug)]
pub(crate) struct TaskHandle {
    pub(super) tasks: Tasks,
    pub(super) id: String,
    pub(super) cancel: CancellationToken,
}

impl TaskHandle {
    /// Returns the token that fires when the work should end. Then the client has cancelled the task, the task has run
    /// for too long, or the server stops.
    pub(crate) fn cancellation(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Returns whether the client has cancelled the task.
    pub(crate) fn is_cancelled_by_client(&self) -> bool {
        self.tasks.with(&self.id, |entry| entry.cancel_requested).unwrap_or(true)
    }

    /// Sets the status message, a text for people that the client sees when it asks for the status.
    pub(crate) fn set_status_message(&self, message: impl Into<String>) {
        self.tasks.with(&self.id, |entry| {
            if entry.is_running() {
                entry.set_status_message(message.into());
            }
        });
        self.tasks.notify_watchers();
    }

    /// Requests input from the client and returns its answer. Keys are used once: if there was a request with this key
    /// before, this one gets another key. Dropping the future withdraws the request.
    ///
    /// # Errors
    ///
    /// Returns a text if there are too many input requests, or if the task ends before the answer comes.
    pub(crate) async fn request_input(&self, key: &str, request: InputRequest) -> Result<Value, String> {
        let (answer, receiver) = oneshot::channel();
        let key = self.tasks.open_input_request(&self.id, key, request, answer)?;
        let _withdrawn = WithdrawOnDrop { handle: self, key };
        if let Ok(answer) = receiver.await {
            return Ok(answer);
        }
        // Gives work that watches its cancellation the time to end by that instead of by this error.
        tokio::task::yield_now().await;
        Err("nobody answers: the task is to end".to_owned())
    }
}

/// Withdraws an input request that nobody waits for any more.
struct WithdrawOnDrop<'a> {
    handle: &'a TaskHandle,
    key: String,
}

impl Drop for WithdrawOnDrop<'_> {
    fn drop(&mut self) {
        let withdrawn = self.handle.tasks.with(&self.handle.id, |entry| {
            let open = entry.open.remove(&self.key).is_some();
            if open {
                entry.bump_version();
            }
            open
        });
        if withdrawn == Some(true) {
            self.handle.tasks.notify_watchers();
        }
    }
}
